/** Finds the two ends of a link of ours. The node end carries the owner; the pod end is whatever its peer index leads to. */
import type { LinkNames } from './desired.ts';
import { isOurs, podOfMark } from './mark.ts';
import type { Observed, ObservedLink } from './observed.ts';

export interface Ends {
  readonly node?: ObservedLink | undefined;
  readonly pod?: ObservedLink | undefined;
}

/** Both must name each other: an index alone repeats between namespaces. */
const arePeers = (a: ObservedLink, b: ObservedLink): boolean => a.peerIndex === b.index && b.peerIndex === a.index;

const peerOf = (link: ObservedLink | undefined, others: readonly ObservedLink[] = []): ObservedLink | undefined =>
  link && others.find((other) => arePeers(link, other));

const unowned = (link: ObservedLink): boolean => isOurs(link) && podOfMark(link.alias) === undefined;

/** Without names only by the alias; with names also what a crash left between making a link and naming its owner. */
export function findEnds(mark: string, { node, pod }: Observed, names?: LinkNames): Ends {
  const marked = node.links.find((link) => isOurs(link) && link.alias === mark);
  if (marked || !names) return { node: marked, pod: peerOf(marked, pod?.links) };

  const nodeEnd = node.links.find((link) => link.name === names.node && unowned(link) && link.kind !== 'bridge');
  const podEnd = pod?.links.find((link) => link.name === names.pod && isOurs(link));
  if (nodeEnd) return { node: nodeEnd, pod: peerOf(nodeEnd, pod?.links) };
  return { node: podEnd && peerOf(podEnd, node.links.filter(unowned)), pod: podEnd };
}
