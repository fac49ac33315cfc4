/** A link of the kernel in the words of the plan. */
import type { LinkOutline, Netns } from '@podloom/netlink';
import { type AddrGenMode, type LinkData, type ObservedLink, isOurs } from '@podloom/network';

/** IN6_ADDR_GEN_MODE_*, by number. */
const addrGenModes: readonly AddrGenMode[] = ['eui64', 'none', 'stable-privacy', 'random'];

export const addrGenModeNumber = (mode: AddrGenMode): number => addrGenModes.indexOf(mode);

export const toObservedLink = (link: LinkOutline): ObservedLink => ({
  index: link.index,
  name: link.name,
  kind: link.kind,
  group: link.group,
  alias: link.alias,
  mac: link.address,
  mtuBytes: link.mtu,
  txQueueLength: link.txqlen,
  up: link.up,
  master: link.master,
  peerIndex: link.kind === 'veth' ? link.link : undefined,
  addrGenMode: link.addrGenMode === undefined ? undefined : addrGenModes[link.addrGenMode],
  portFlags: link.port,
});

/** These have none that a plan asks for, or much that changes by itself. */
const withoutData = new Set([undefined, 'veth', 'bridge']);

/** With the settings of its kind where the link is ours: one more question, for links that are few. */
export function observeLink(netns: Netns, outline: LinkOutline): ObservedLink {
  const link = toObservedLink(outline);
  if (!isOurs(link) || withoutData.has(link.kind)) return link;
  const { data = {} } = netns.link.get(link.index);
  return { ...link, data: Object.fromEntries(Object.entries(data).filter(isPlain)) };
}

const isPlain = (entry: [string, unknown]): entry is [string, LinkData[string]] =>
  ['string', 'number', 'boolean'].includes(typeof entry[1]);
