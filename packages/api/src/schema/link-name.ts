/**
 * Names of network links. As dev_valid_name() in the kernel: at most 15 bytes, and never '.', '..', '/', ':' or white space, which to the kernel is also
 * the byte 0xA0 inside many letters: printable ASCII only. Nor '%', which dev_alloc_name() takes for the place of a number.
 */
import { InvalidInput } from '../errors.ts';

export type LinkName = string & { readonly __brand: 'LinkName' };

/** Read alike by RE2 and JavaScript, so that the CRD uses the very same. */
export const notInLinkNames = '[^!-$&-.0-9;-~]';
const forbidden = new RegExp(notInLinkNames);

export function isLinkName(text: string): text is LinkName {
  return text.length >= 1 && text.length <= 15 && !forbidden.test(text) && text !== '.' && text !== '..';
}

export function parseLinkName(text: string): LinkName {
  if (isLinkName(text)) return text;
  throw new InvalidInput(
    'LINK_NAME',
    `"${text}" cannot be a link name: 1 to 15 bytes of printable ASCII, no "/", ":", "%" or spaces`,
  );
}
