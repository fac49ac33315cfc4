/** What the interfaces of a list are called where the pod does not say: `net` and their place in it, as the standard has it. */
import type { PodNetworkSpec } from '@podloom/api';
import type { Selection } from './element.ts';

/**
 * A living interface keeps its name, whatever stands before it now: `recorded` has the names by key. A new one gets the number of its place, or if that
 * is taken the next that nobody has.
 */
export function chooseInterfaces(
  selections: readonly Selection[],
  keyOf: (selection: Selection, nth: number) => string,
  recorded: ReadonlyMap<string, string>,
): { readonly selection: Selection; readonly key: string; readonly name: string }[] {
  const unnamed = new Map<string, number>();
  const keyed = selections.map((selection) => {
    const place = `${selection.namespace}/${selection.name}`;
    const nth = (unnamed.get(place) ?? 0) + 1;
    if (selection.interface === undefined) unnamed.set(place, nth);
    return { selection, key: keyOf(selection, nth) };
  });
  const known = keyed.map(({ selection, key }) => selection.interface ?? recorded.get(key));
  const taken = new Set(known);
  return keyed.map(({ selection, key }, i) => {
    const name = known[i] ?? nextFree(selection.index + 1, keyed.length + 1, taken);
    taken.add(name);
    return { selection, key, name };
  });
}

function nextFree(place: number, beyond: number, taken: ReadonlySet<string | undefined>): string {
  if (!taken.has(`net${place}`)) return `net${place}`;
  let number = beyond;
  while (taken.has(`net${number}`)) number += 1;
  return `net${number}`;
}

/** What the interfaces are called that a pod has, by key. */
export const linkNamesOf = ({ interfaces }: Pick<PodNetworkSpec, 'interfaces'>): ReadonlyMap<string, string> =>
  new Map(interfaces.flatMap(({ key, name }) => (name === undefined ? [] : [[key, name] as const])));
