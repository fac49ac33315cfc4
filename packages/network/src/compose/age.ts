/** Who was first. */
import type { Source } from '../source/source.ts';

/** By creation, which counts whole seconds, then kind and name, so that whoever writes several at once knows which wins; within an object as written. */
export function byAge(a: { readonly source: Source }, b: { readonly source: Source }): number {
  const [x = '', y = ''] = [a.source, b.source].map(({ since, ref }) => {
    const path = (ref.fieldPath ?? '').replaceAll(/\d+/g, (digits) => digits.padStart(4, '0'));
    return `${since} ${ref.kind} ${ref.name} ${ref.namespace} ${path}`;
  });
  return x < y ? -1 : x > y ? 1 : 0;
}
