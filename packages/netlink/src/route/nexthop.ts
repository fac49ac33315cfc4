/** `ip nexthop`: where routes go, as objects that many routes share and that change for all of them at once. */
import { isIp6 } from '../codec/address.ts';
import { message } from '../codec/message.ts';
import { struct, pad } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import { bytes, choice, flag, ip, packed, u16, u32, u64, u8, type InOf, type OutOf } from '../codec/type.ts';
import { NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, request } from '../wire/request.ts';
import type { Channel, LinkRef } from './channel.ts';
import { AF_INET, AF_INET6, AF_UNSPEC, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_GETNEXTHOP } from './numbers.ts';

const header = struct({ family: u8, scope: u8, protocol: u8, pad1: pad(1), flags: u32 });
/** The kernel's weight is one less than ip's. */
const member = struct({ id: u32, weight: u8, weightHigh: u8, pad1: pad(2) });
const groupType = choice(u16, { mpath: 0, resilient: 1 });
const attributes = table('nexthop', {
  id: attr(1, u32),
  group: attr(2, packed(member)),
  groupType: attr(3, groupType),
  blackhole: attr(4, flag),
  link: attr(5, u32),
  via: attr(6, ip),
  encapType: attr(7, u16),
  encap: attr(8, bytes),
  groups: attr(9, flag),
  master: attr(10, u32),
  fdb: attr(11, flag),
  resilient: attr(
    12,
    table('resilient', {
      buckets: attr(1, u16),
      idleTimer: attr(2, u32),
      unbalancedTimer: attr(3, u32),
      unbalancedTime: attr(4, u64),
    }),
  ),
  bucket: attr(13, bytes),
  operationFlags: attr(14, u32),
  groupStats: attr(15, bytes),
  hardwareStats: attr(16, u32),
  hardwareStatsUsed: attr(17, u32),
});
export const nexthopMessage = message('nexthop', header, attributes);

export interface NexthopMember {
  readonly id: number;
  /** From 1 to 256; 1 unless said. */
  readonly weight?: number | undefined;
}
export interface NexthopSettings {
  readonly id: number;
  /** Of `blackhole` and of a link without an address; IPv4 without. */
  readonly family?: number | undefined;
  readonly link?: LinkRef | undefined;
  /** The gateway's address. */
  readonly via?: string | undefined;
  readonly blackhole?: boolean | undefined;
  /** Several others; then nothing else but `groupType` may be given. */
  readonly group?: readonly NexthopMember[] | undefined;
  readonly groupType?: InOf<typeof groupType> | undefined;
  /** For vxlan's forwarding entries, not for routes. */
  readonly fdb?: boolean | undefined;
  readonly protocol?: number | undefined;
  /** The gateway is reached over the link whatever its address. */
  readonly onlink?: boolean | undefined;
}
export interface NexthopObject {
  id: number;
  family: number;
  scope: number;
  protocol: number;
  flags: number;
  link?: number;
  via?: string;
  blackhole: boolean;
  fdb: boolean;
  group?: { id: number; weight: number }[];
  groupType?: OutOf<typeof groupType>;
}

const ONLINK = 4;

export function nexthopFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  const change = (verb: string, flags: number, settings: NexthopSettings): void => {
    const { link, via, group, family, onlink, ...rest } = settings;
    const byAddress = via !== undefined && isIp6(via) ? AF_INET6 : AF_INET;
    const body = {
      ...rest,
      family: family ?? (group === undefined ? byAddress : AF_UNSPEC),
      flags: onlink === true ? ONLINK : 0,
      link: link === undefined ? undefined : indexOf(link),
      via,
      group: group?.map(({ id, weight }) => memberOf(id, (weight ?? 1) - 1)),
    };
    channel.run(request(`nexthop.${verb}`, RTM_NEWNEXTHOP, flags, nexthopMessage, body));
  };
  return {
    add: (settings: NexthopSettings): void => change('add', NLM_F_CREATE | NLM_F_EXCL, settings),
    /** Makes it, or changes it under the routes that use it. */
    replace: (settings: NexthopSettings): void => change('replace', NLM_F_CREATE | NLM_F_REPLACE, settings),
    /** With the routes that use it. */
    delete: (id: number): void => channel.run(request('nexthop.delete', RTM_DELNEXTHOP, 0, nexthopMessage, { id })),
    get: (id: number): NexthopObject =>
      toNexthop(channel.get(request('nexthop.get', RTM_GETNEXTHOP, 0, nexthopMessage, { id }), nexthopMessage)),
    list(options: { readonly link?: LinkRef; readonly groups?: boolean } = {}): NexthopObject[] {
      const filter = {
        link: options.link === undefined ? undefined : indexOf(options.link),
        groups: options.groups,
      };
      return channel
        .dump(request('nexthop.list', RTM_GETNEXTHOP, 0, nexthopMessage, filter), nexthopMessage)
        .map(toNexthop);
    },
  };
}
/** More than 256 needs a kernel of 2024: the high byte was reserved before. */
const memberOf = (id: number, weight: number) => ({ id, weight: weight & 0xff, weightHigh: weight >>> 8 });

export function toNexthop(seen: OutOf<typeof header> & OutOf<typeof attributes>): NexthopObject {
  const { family, scope, protocol, flags, link, via, group } = seen;
  return {
    id: seen.id ?? 0,
    family,
    scope,
    protocol,
    flags,
    ...(link === undefined ? {} : { link }),
    ...(via === undefined ? {} : { via }),
    blackhole: seen.blackhole === true,
    fdb: seen.fdb === true,
    ...(group === undefined
      ? {}
      : { group: group.map(({ id, weight, weightHigh }) => ({ id, weight: weight + weightHigh * 256 + 1 })) }),
    ...(seen.groupType === undefined ? {} : { groupType: seen.groupType }),
  };
}
