/** Small questions to an observed namespace, asked by every part of the plan. */
import { isOurs, podOfMark } from './mark.ts';
import type { ObservedLink, ObservedNamespace } from './observed.ts';

interface Index {
  readonly byName: ReadonlyMap<string, ObservedLink>;
  /** Ours only. */
  readonly byAlias: ReadonlyMap<string, ObservedLink>;
  /** Those of them that name the pod. */
  readonly byPod: ReadonlyMap<string, readonly ObservedLink[]>;
}

/** A node has a thousand links, and every part of a plan asks for some: the list is gone through once. */
const indexes = new WeakMap<readonly ObservedLink[], Index>();

function indexOf(links: readonly ObservedLink[]): Index {
  const known = indexes.get(links);
  if (known) return known;
  const byName = new Map<string, ObservedLink>();
  const byAlias = new Map<string, ObservedLink>();
  const byPod = new Map<string, ObservedLink[]>();
  for (const link of links) {
    const { name, alias } = link;
    byName.set(name, link);
    if (alias === undefined || !isOurs(link)) continue;
    if (!byAlias.has(alias)) byAlias.set(alias, link);
    const podUid = podOfMark(alias)?.podUid;
    if (podUid === undefined) continue;
    const known = byPod.get(podUid);
    if (known) known.push(link);
    else byPod.set(podUid, [link]);
  }
  const index = { byName, byAlias, byPod };
  indexes.set(links, index);
  return index;
}

export const linkNamed = (namespace: ObservedNamespace | undefined, name: string): ObservedLink | undefined =>
  namespace && indexOf(namespace.links).byName.get(name);

/** Of ours. */
export const linkMarked = ({ links }: ObservedNamespace, mark: string): ObservedLink | undefined =>
  indexOf(links).byAlias.get(mark);

export const linksOfPod = ({ links }: ObservedNamespace, podUid: string): readonly ObservedLink[] =>
  indexOf(links).byPod.get(podUid) ?? [];

export const addressesOf = (namespace: ObservedNamespace, link: number | undefined): string[] =>
  link === undefined ? [] : namespace.addresses.flatMap((entry) => (entry.link === link ? entry.address : []));
