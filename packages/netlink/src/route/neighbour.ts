/** `ip neighbour` and `bridge fdb`: the same message with different families. */
import { isIp6 } from '../codec/address.ts';
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { be16, flag, i32, ip, mac, u16, u32, u8, type InOf, type OutOf } from '../codec/type.ts';
import { NLM_F_APPEND, NLM_F_BULK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { AF_BRIDGE, AF_INET, AF_INET6, RTM_DELNEIGH, RTM_GETNEIGH, RTM_NEWNEIGH } from './numbers.ts';

const header = struct({ family: u8, pad1: pad(3), index: i32, state: u16, flags: u8, type: u8 });
const attributes = table('neighbour', {
  dst: attr(1, ip),
  lladdr: attr(2, mac),
  cacheInfo: attr(3, struct({ confirmed: u32, used: u32, updated: u32, references: u32 })),
  probes: attr(4, u32),
  vlan: attr(5, u16),
  port: attr(6, be16),
  vni: attr(7, u32),
  via: attr(8, u32),
  master: attr(9, u32),
  linkNetnsid: attr(10, i32),
  srcVni: attr(11, u32),
  protocol: attr(12, u8),
  nexthopId: attr(13, u32),
  fdbExtended: attr(14, table('fdbExtended', { activityNotify: attr(1, u8), dontRefresh: attr(2, flag) })),
  flagsExtended: attr(15, u32),
  stateMask: attr(16, u16),
  flagsMask: attr(17, u8),
});
export const neighbourMessage = message('neighbour', header, attributes);

/** A neighbour or fdb entry as the kernel shows it. */
export type Neighbour = OutOf<typeof header> & OutOf<typeof attributes>;

/** NUD_*: how sure the kernel is. */
export const neighbourStates = {
  incomplete: 0x01,
  reachable: 0x02,
  stale: 0x04,
  delay: 0x08,
  probe: 0x10,
  failed: 0x20,
  noarp: 0x40,
  permanent: 0x80,
} as const;

/** NTF_*. */
export const neighbourFlags = {
  use: 0x01,
  self: 0x02,
  master: 0x04,
  proxy: 0x08,
  externLearn: 0x10,
  offloaded: 0x20,
  sticky: 0x40,
  router: 0x80,
} as const;

export interface NeighbourSettings {
  readonly link: LinkRef;
  readonly address: string;
  readonly lladdr?: string | undefined;
  readonly state?: keyof typeof neighbourStates | undefined;
  /** `neighbourFlags`, added up. */
  readonly flags?: number | undefined;
  readonly protocol?: number | undefined;
}

export interface ListNeighbours {
  readonly family?: number;
  readonly link?: LinkRef;
  readonly master?: LinkRef;
  /** Addresses that this host answers for, instead of neighbours. */
  readonly proxy?: boolean;
}

const numbered = (value: LinkRef | undefined, indexOf: (ref: LinkRef) => number): number | undefined =>
  value === undefined ? undefined : indexOf(value);

export function neighbourFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  function body(settings: NeighbourSettings): InOf<typeof header> & InOf<typeof attributes> {
    const { link, address, lladdr, state, flags, protocol } = settings;
    return {
      family: isIp6(address) ? AF_INET6 : AF_INET,
      index: indexOf(link),
      state: neighbourStates[state ?? 'permanent'],
      flags,
      dst: address,
      lladdr,
      protocol,
    };
  }
  const change = (verb: string, type: number, flags: number, settings: NeighbourSettings): void =>
    channel.run(request(`neighbour.${verb}`, type, flags, neighbourMessage, body(settings)));
  return {
    add: (settings: NeighbourSettings): void => change('add', RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, settings),
    replace: (settings: NeighbourSettings): void =>
      change('replace', RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, settings),
    delete: (settings: Pick<NeighbourSettings, 'link' | 'address' | 'flags'>): void =>
      change('delete', RTM_DELNEIGH, 0, settings),
    list(options: ListNeighbours = {}): Neighbour[] {
      const filter = {
        family: options.family ?? 0,
        flags: options.proxy === true ? neighbourFlags.proxy : 0,
        via: numbered(options.link, indexOf),
        master: numbered(options.master, indexOf),
      };
      return channel.dump(request('neighbour.list', RTM_GETNEIGH, 0, neighbourMessage, filter), neighbourMessage);
    },
  };
}

export interface FdbSettings {
  readonly link: LinkRef;
  readonly lladdr: string;
  /** `permanent` is an address of the bridge itself, `static` never ages, `dynamic` does. */
  readonly state?: 'permanent' | 'static' | 'dynamic' | undefined;
  /** In the link's own table (vxlan), or in that of its bridge; the link's own if neither is said. */
  readonly self?: boolean | undefined;
  readonly master?: boolean | undefined;
  readonly sticky?: boolean | undefined;
  readonly externLearn?: boolean | undefined;
  readonly router?: boolean | undefined;
  readonly vlan?: number | undefined;
  /** Where a vxlan sends frames for this address. */
  readonly dst?: string | undefined;
  readonly port?: number | undefined;
  readonly vni?: number | undefined;
  readonly srcVni?: number | undefined;
  readonly via?: LinkRef | undefined;
  readonly nexthopId?: number | undefined;
}

const fdbStates = {
  permanent: neighbourStates.noarp | neighbourStates.permanent,
  static: neighbourStates.noarp | neighbourStates.reachable,
  dynamic: neighbourStates.reachable,
};

export function fdbFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  function body(settings: FdbSettings): InOf<typeof header> & InOf<typeof attributes> {
    const { link, state, self, master, sticky, externLearn, router, via, ...rest } = settings;
    const own = self ?? master !== true;
    return {
      ...rest,
      family: AF_BRIDGE,
      index: indexOf(link),
      state: fdbStates[state ?? 'permanent'],
      flags:
        (own ? neighbourFlags.self : 0) |
        (master === true ? neighbourFlags.master : 0) |
        (sticky === true ? neighbourFlags.sticky : 0) |
        (externLearn === true ? neighbourFlags.externLearn : 0) |
        (router === true ? neighbourFlags.router : 0),
      via: numbered(via, indexOf),
    };
  }
  const change = (verb: string, type: number, flags: number, settings: FdbSettings): void =>
    channel.run(request(`fdb.${verb}`, type, flags, neighbourMessage, body(settings)));
  return {
    add: (settings: FdbSettings): void => change('add', RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, settings),
    replace: (settings: FdbSettings): void => change('replace', RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, settings),
    /** One more destination for the same address, as a vxlan floods to several. */
    append: (settings: FdbSettings): void => change('append', RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_APPEND, settings),
    delete: (settings: FdbSettings): void => change('delete', RTM_DELNEIGH, 0, settings),
    /** All entries of a bridge or a vxlan that match; needs Linux 5.19, and 6.8 for vxlan. */
    flush(settings: Pick<FdbSettings, 'link' | 'self' | 'master' | 'vlan' | 'vni' | 'srcVni' | 'dst'>): void {
      const { state: _, ...rest } = body({ ...settings, lladdr: '' });
      const matching = { ...rest, lladdr: undefined };
      channel.run(request('fdb.flush', RTM_DELNEIGH, NLM_F_BULK, neighbourMessage, matching));
    },
    /** Entries of everything, of one port, or of one bridge with its ports. */
    list(options: { readonly link?: LinkRef; readonly bridge?: LinkRef } = {}): Neighbour[] {
      const filter = {
        family: AF_BRIDGE,
        index: numbered(options.link, indexOf),
        master: numbered(options.bridge, indexOf),
      };
      return channel.dump(request('fdb.list', RTM_GETNEIGH, 0, neighbourMessage, filter), neighbourMessage);
    },
  };
}
