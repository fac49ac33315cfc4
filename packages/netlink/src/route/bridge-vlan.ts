/** `bridge vlan`: which VLANs a port of a filtering bridge takes part in. */
import { message } from '../codec/message.ts';
import { attr, many, table } from '../codec/table.ts';
import { text, u16, u32 } from '../codec/type.ts';
import { request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { bridgePort, vlanInfo } from './kinds/bridge.ts';
import { linkHeader } from './link-table.ts';
import { AF_BRIDGE, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK } from './numbers.ts';

const afSpec = table('bridge', { flags: attr(0, u16), mode: attr(1, u16), vlans: many(2, vlanInfo) });

/** The link message as the bridge family speaks it: IFLA_AF_SPEC has other contents there. */
export const bridgeLinkMessage = message(
  'bridgeLink',
  linkHeader,
  table('bridgeLink', {
    name: attr(3, text),
    mtu: attr(4, u32),
    link: attr(5, u32),
    master: attr(10, u32),
    protInfo: attr(12, bridgePort),
    afSpec: attr(26, afSpec),
    extMask: attr(29, u32),
  }),
);

const MASTER = 1;
const SELF = 2;
const PVID = 2;
const UNTAGGED = 4;
const RANGE_BEGIN = 8;
const RANGE_END = 16;
const WITH_VLANS = 2;

export interface VlanSettings {
  readonly link: LinkRef;
  readonly vid: number;
  /** Last of a range that begins with `vid`. */
  readonly vidEnd?: number | undefined;
  /** Untagged frames that come in belong to this VLAN. */
  readonly pvid?: boolean | undefined;
  /** Frames of this VLAN go out without a tag. */
  readonly untagged?: boolean | undefined;
  /** For the bridge itself instead of one of its ports. */
  readonly self?: boolean | undefined;
}

export interface PortVlan {
  readonly link: number;
  readonly vid: number;
  readonly pvid: boolean;
  readonly untagged: boolean;
}

export function vlanFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  function change(verb: string, type: number, settings: VlanSettings): void {
    const { link, vid, vidEnd, pvid, untagged, self } = settings;
    const flags = (pvid === true ? PVID : 0) | (untagged === true ? UNTAGGED : 0);
    const vlans =
      vidEnd === undefined
        ? [{ vid, flags }]
        : [
            { vid, flags: flags | RANGE_BEGIN },
            { vid: vidEnd, flags: flags | RANGE_END },
          ];
    const afSpec = { flags: self === true ? SELF : MASTER, vlans };
    const body = { family: AF_BRIDGE, index: indexOf(link), afSpec: self === true ? afSpec : { vlans } };
    channel.run(request(`vlan.${verb}`, type, 0, bridgeLinkMessage, body));
  }
  return {
    add: (settings: VlanSettings): void => change('add', RTM_SETLINK, settings),
    delete: (settings: Pick<VlanSettings, 'link' | 'vid' | 'vidEnd' | 'self'>): void =>
      change('delete', RTM_DELLINK, settings),
    list(options: { readonly link?: LinkRef } = {}): PortVlan[] {
      const asked = { family: AF_BRIDGE, extMask: WITH_VLANS };
      const only = options.link === undefined ? undefined : indexOf(options.link);
      const out: PortVlan[] = [];
      for (const port of channel.dump(
        request('vlan.list', RTM_GETLINK, 0, bridgeLinkMessage, asked),
        bridgeLinkMessage,
      )) {
        if (only !== undefined && port.index !== only) continue;
        for (const { vid, flags } of port.afSpec?.vlans ?? []) {
          out.push({ link: port.index, vid, pvid: (flags & PVID) !== 0, untagged: (flags & UNTAGGED) !== 0 });
        }
      }
      return out;
    },
  };
}
