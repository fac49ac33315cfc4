/** The two headers by which a registry leads on: to where credentials are wanted, and to the next page. */

export interface Challenge {
  /** In small letters: `basic` or `bearer`. */
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads a WWW-Authenticate header of one challenge (RFC 9110, 11.6.1), as registries send it. */
export function parseChallenge(header: string): Challenge | undefined {
  const [, scheme = '', rest = ''] = /^\s*([A-Za-z]+)(?:\s+(.*))?$/s.exec(header) ?? [];
  if (scheme === '') return undefined;
  const pairs = [...rest.matchAll(/([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi)];
  const parameters = pairs.map(([, name = '', quoted, plain]) => [
    name.toLowerCase(),
    quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '',
  ]);
  return { scheme: scheme.toLowerCase(), parameters: Object.fromEntries(parameters) as Record<string, string> };
}

/** Where a Link header (RFC 8288) says that the next page is; may be relative. */
export function parseNextLink(header: string | undefined): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^>]*)>((?:\s*;\s*[^,;]+)*)/g)) {
    if (/;\s*rel\s*=\s*"?next"?\s*(?:;|$)/i.test(parameters)) return target;
  }
  return undefined;
}
