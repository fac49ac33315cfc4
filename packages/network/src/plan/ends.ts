/** Finds the ends of a link of ours. The node end carries the owner; the pod end is whatever its peer index leads to, or all that there is. */
import type { PodInterface } from '@podloom/api';
import type { LinkType } from '../link/link-type.ts';
import type { LinkNames } from './desired.ts';
import { isOurs, podOfMark } from './mark.ts';
import type { Observed, ObservedLink } from './observed.ts';
import { linkMarked, linkNamed } from './world.ts';

export interface Ends {
  readonly node?: ObservedLink | undefined;
  readonly pod?: ObservedLink | undefined;
}

/** Both must name each other: an index alone repeats between namespaces. */
const arePeers = (a: ObservedLink, b: ObservedLink): boolean => a.peerIndex === b.index && b.peerIndex === a.index;

const peerOf = (link: ObservedLink | undefined, others: readonly ObservedLink[] = []): ObservedLink | undefined =>
  link && others.find((other) => arePeers(link, other));

const unowned = (link: ObservedLink): boolean => isOurs(link) && podOfMark(link.alias) === undefined;

/**
 * Without names only by the alias; with names also what a crash left between making a link and naming its owner, and a link without another end whose alias
 * is the tenant's.
 */
export function findEnds(mark: string, { node, pod }: Observed, names?: LinkNames): Ends {
  const marked = linkMarked(node, mark);
  const alone = marked || !pod ? undefined : linkMarked(pod, mark);
  if (alone && alone.peerIndex === undefined) return { pod: alone };
  if (marked || !names) return { node: marked, pod: peerOf(marked, pod?.links) };

  const onNode = linkNamed(node, names.node);
  if (onNode && unowned(onNode) && onNode.kind !== 'bridge') return { node: onNode, pod: peerOf(onNode, pod?.links) };
  const inPod = linkNamed(pod, names.pod);
  const podEnd = inPod && isOurs(inPod) ? inPod : undefined;
  return { node: podEnd && peerOf(podEnd, node.links.filter(unowned)), pod: podEnd };
}

/** Whether the link that is there is what is asked for, or can be made so without being removed. */
export function isOfType(
  { kind, isPair, data }: Omit<LinkType, 'plan'>,
  wanted: PodInterface,
  { node, pod }: Ends,
): boolean {
  if (pod?.kind !== kind || node?.kind !== (isPair ? kind : undefined)) return false;
  return Object.entries(data?.(wanted) ?? {}).every(([name, value]) => pod.data?.[name] === value);
}
