/**
 * Names of network links. As dev_valid_name() in the kernel: at most 15 bytes (not characters), and never '.', '..', '/', ':' or
 * white space. Control characters the kernel would take; we do not, because a NUL ends the name early and a line feed forges output.
 */
import { InvalidInput } from '../errors.ts';

export type LinkName = string & { readonly __brand: 'LinkName' };

/** Read alike by RE2 and JavaScript, so that the CRD uses the very same. */
export const notInLinkNames = String.raw`[/: \p{Cc}]`;
const forbidden = new RegExp(notInLinkNames, 'u');

export function isLinkName(text: string): text is LinkName {
  const bytes = new TextEncoder().encode(text).length;
  return bytes >= 1 && bytes <= 15 && !forbidden.test(text) && text !== '.' && text !== '..';
}

export function parseLinkName(text: string): LinkName {
  if (isLinkName(text)) return text;
  throw new InvalidInput('LINK_NAME', `"${text}" cannot be a link name: 1 to 15 bytes, no "/", ":" or spaces`);
}
