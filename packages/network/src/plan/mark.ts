/**
 * How we know our own. Every link carries the group from the message that makes it; the alias with the owner comes second, because
 * the kernel ignores an alias in the creating message. So a link with the group and no alias is one that a crash left half made.
 *
 *   node end of a pod's link   podloom pod UID KEY          (KEY hashed where the alias would be over the kernel's 255 bytes)
 *   bridge                     podloom bridge NAMESPACE/NAME
 *   pod end                    the alias that the tenant asked for, else as the node end; its owner is that of its peer
 *
 * The UID is the pod's: a PodNetwork that is made anew for a pod that still runs finds its links, unless the node was tidied in between.
 */
import { hashText } from '../hash.ts';
import type { ObservedLink } from './observed.ts';

/** IFLA_GROUP of every link that we make ("podl"). */
export const linkGroup = 0x706f646c;
/** IFLA_GROUP of links that go, several at a time ("podx"). One that a crash left there is taken away by who finds it, or back. */
export const leavingGroup = 0x706f6478;
/** rtm_protocol and FRA_PROTOCOL of every route and rule that we make; no routing daemon in rt_protos has it. */
export const routeProtocol = 149;
/** Filters of ours at the ingress of a port have this priority and handle. */
export const filterPriority = 49001;
export const filterHandle = 1;
/** Rules of ours; before those for the main table (32766), after the local table (0). */
export const rulePriorities = { from: 4900, iif: 4901 } as const;

export const tableBase = 0x20000000;

export const isOurTable = (table: number): boolean => table >= tableBase && table < tableBase * 2;

export const isOurs = ({ group }: ObservedLink): boolean => group === linkGroup || group === leavingGroup;

export function podMark(podUid: string, key: string): string {
  const mark = `podloom pod ${podUid} ${key}`;
  return new TextEncoder().encode(mark).length <= 255 ? mark : `podloom pod ${podUid} #${hashText(key)}`;
}

export const isMarkOf = (alias: string | undefined, podUid: string): boolean => podOfMark(alias)?.podUid === podUid;

/** Without owner it may be anyone's, and so this pod's: a crash left it half made. */
export const isOfAnotherPod = (link: ObservedLink | undefined, podUid: string): boolean =>
  link !== undefined && isOurs(link) && (podOfMark(link.alias)?.podUid ?? podUid) !== podUid;

export const bridgeMark = (namespace: string, name: string): string => `podloom bridge ${namespace}/${name}`;

/** Pod and interface that a link belongs to by its alias; undefined for bridges and for links without alias of ours. */
export function podOfMark(alias: string | undefined): { readonly podUid: string; readonly key: string } | undefined {
  const [, podUid, key] = /^podloom pod (\S+) (\S+)$/.exec(alias ?? '') ?? [];
  return podUid === undefined || key === undefined ? undefined : { podUid, key };
}
