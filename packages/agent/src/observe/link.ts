/** A link of the kernel in the words of the plan. */
import type { Link } from '@podloom/netlink';
import type { AddrGenMode, ObservedLink } from '@podloom/network';

/** IN6_ADDR_GEN_MODE_*, by number. */
const addrGenModes: readonly AddrGenMode[] = ['eui64', 'none', 'stable-privacy', 'random'];

export const addrGenModeNumber = (mode: AddrGenMode): number => addrGenModes.indexOf(mode);

/** Of a link that was read with details: without them there is no addrGenMode. */
export function toObservedLink(link: Link): ObservedLink {
  const mode = link.afSpec?.inet6?.addrGenMode;
  return {
    index: link.index,
    name: link.name,
    kind: link.kind ?? ('otherKind' in link ? link.otherKind : undefined),
    group: link.group ?? 0,
    alias: link.alias,
    mac: link.address,
    mtuBytes: link.mtu ?? 0,
    txQueueLength: link.txqlen,
    up: link.up,
    master: link.master,
    peerIndex: link.kind === 'veth' ? link.link : undefined,
    addrGenMode: mode === undefined ? undefined : addrGenModes[mode],
    portFlags:
      link.portKind === 'bridge' ? { learning: link.port.learning ?? true, flood: link.port.flood ?? true } : undefined,
  };
}
