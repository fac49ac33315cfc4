/** A link of the kernel in the words of the plan. */
import type { LinkOutline } from '@podloom/netlink';
import type { AddrGenMode, ObservedLink } from '@podloom/network';

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
