/**
 * Whether two values are the same to the server: what is undefined is not there, the order of fields means nothing, and an empty list is as good as none,
 * because the server keeps or drops one that lost its last entry.
 */
export const isSameJson = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

/** The same text for values that are the same to the server. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => {
    if (Array.isArray(inner)) return inner.length === 0 ? undefined : inner;
    return typeof inner === 'object' && inner !== null
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner;
  }) ?? '';
