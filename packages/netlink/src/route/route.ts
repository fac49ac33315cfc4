/** `ip route`. */
import { isIp6, parsePrefix } from '../codec/address.ts';
import type { InOf } from '../codec/type.ts';
import { NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, request } from '../wire/request.ts';
import { unhurried, type Channel, type LinkRef } from './channel.ts';
import { seenEncap, wireEncap, type Encap, type SeenEncap } from './encap.ts';
import { AF_INET, AF_INET6, RTM_DELROUTE, RTM_GETROUTE, RTM_NEWROUTE } from './numbers.ts';
import {
  routeMessage,
  type routeAttributes,
  type routeHeader,
  type RouteMetrics,
  type routeTypes,
  type WireNexthop,
  type WireRoute,
} from './route-table.ts';

type RouteType = keyof typeof routeTypes;

/** One way out: a gateway, a link, or both. */
export interface Nexthop {
  /** The gateway. One of the other family than the destination is fine. */
  readonly via?: string | undefined;
  readonly link?: LinkRef | undefined;
  /** The gateway is reachable over the link whatever the addresses say. */
  readonly onlink?: boolean | undefined;
  readonly encap?: Encap | undefined;
}

export interface RouteSettings extends Nexthop {
  /** `10.0.0.0/8`, or `default` with `family`. */
  readonly dst: string;
  /** Only for `default` without a gateway to tell it: 2 for IPv4, 10 for IPv6. */
  readonly family?: number | undefined;
  readonly from?: string | undefined;
  /** Preferred source address. */
  readonly src?: string | undefined;
  /** Several ways, each with its share. */
  readonly nexthops?: readonly (Nexthop & { readonly weight?: number | undefined })[] | undefined;
  /** A nexthop object instead of all of these. */
  readonly nexthopId?: number | undefined;
  readonly table?: number | undefined;
  /** The smaller goes first. */
  readonly metric?: number | undefined;
  readonly metrics?: RouteMetrics | undefined;
  readonly type?: RouteType | undefined;
  readonly protocol?: number | undefined;
  readonly scope?: number | undefined;
  readonly tos?: number | undefined;
  readonly pref?: number | undefined;
  readonly expires?: number | undefined;
}

/** A route as the kernel shows it: link indexes, and everything that the message held. */
export interface Route extends Omit<
  WireRoute,
  'dst' | 'from' | 'type' | 'encap' | 'encapType' | 'nexthops' | 'table' | 'via'
> {
  /** With its length, or `default`. */
  dst: string;
  from?: string;
  type: RouteType | number;
  via?: string;
  src?: string;
  link?: number;
  metric?: number;
  table: number;
  encap?: SeenEncap;
  nexthops?: SeenNexthop[];
}
export interface SeenNexthop {
  via?: string;
  link?: number;
  weight: number;
  flags: number;
  encap?: SeenEncap;
}

export interface ListRoutes {
  readonly family?: number;
  readonly table?: number;
  readonly link?: LinkRef;
  readonly protocol?: number;
  readonly type?: RouteType;
}

const ONLINK = 4;
const FIB_MATCH = 0x2000;
const MAIN = 254;
const BOOT = 3;
const SCOPE_LINK = 253;
const SCOPE_HOST = 254;
const SCOPE_NOWHERE = 255;

export function routeFamily(channel: Channel, indexOf: (ref: LinkRef) => number) {
  function hop(settings: Nexthop, family: number) {
    const { via, link } = settings;
    const index = link === undefined ? undefined : indexOf(link);
    const foreign = via !== undefined && familyOf(via) !== family;
    return {
      index,
      attributes: {
        gateway: via === undefined || foreign ? undefined : via,
        via: foreign ? { family: familyOf(via), address: via } : undefined,
        ...wireEncap(settings.encap),
      },
      flags: settings.onlink === true ? ONLINK : 0,
    };
  }

  function body(settings: RouteSettings, removing: boolean): InOf<typeof routeHeader> & InOf<typeof routeAttributes> {
    const { dst, table = MAIN, nexthops } = settings;
    const isDefault = dst === 'default';
    const hint = settings.via ?? settings.src ?? nexthops?.[0]?.via;
    const family = settings.family ?? (isDefault ? familyOf(hint ?? '') : familyOf(dst));
    const to = isDefault ? undefined : parsePrefix(dst);
    const from = settings.from === undefined ? undefined : parsePrefix(settings.from);
    const first = hop(settings, family);
    return {
      family,
      dstLength: to?.length ?? 0,
      srcLength: from?.length ?? 0,
      tos: settings.tos,
      tableByte: table < 256 ? table : 0,
      table: table < 256 ? undefined : table,
      protocol: settings.protocol ?? (removing ? 0 : BOOT),
      scope: settings.scope ?? (removing ? SCOPE_NOWHERE : scopeOf(settings, family)),
      type: settings.type ?? (removing ? 0 : 'unicast'),
      flags: first.flags,
      dst: to === undefined || to.length === 0 ? undefined : to.address,
      from: from?.address,
      oif: first.index,
      ...first.attributes,
      priority: settings.metric,
      prefsrc: settings.src,
      metrics: settings.metrics,
      pref: settings.pref,
      expires: settings.expires,
      nexthopId: settings.nexthopId,
      nexthops: nexthops?.map((one) => {
        const { index, attributes, flags } = hop(one, family);
        return Object.assign(attributes, { index, flags, hops: (one.weight ?? 1) - 1 });
      }),
    };
  }

  const change = (verb: string, flags: number, settings: RouteSettings): void =>
    channel.run(request(`route.${verb}`, RTM_NEWROUTE, flags, routeMessage, body(settings, false)));

  const listRequest = (options: ListRoutes) =>
    request('route.list', RTM_GETROUTE, 0, routeMessage, {
      family: options.family ?? 0,
      table: options.table,
      oif: options.link === undefined ? undefined : indexOf(options.link),
      protocol: options.protocol,
      type: options.type,
    });

  return {
    add: (settings: RouteSettings): void => change('add', NLM_F_CREATE | NLM_F_EXCL, settings),
    replace: (settings: RouteSettings): void => change('replace', NLM_F_CREATE | NLM_F_REPLACE, settings),
    append: (settings: RouteSettings): void => change('append', NLM_F_CREATE | NLM_F_APPEND, settings),
    delete: (settings: RouteSettings): void =>
      channel.run(request('route.delete', RTM_DELROUTE, 0, routeMessage, body(settings, true))),
    /** All routes of all tables, or those of one table, link, protocol or type. */
    list(options: ListRoutes = {}): Route[] {
      return channel.dump(listRequest(options), routeMessage).map(toRoute);
    },
    /** The same in pieces, for full routing tables: other work may happen between two of them. */
    async *stream(options: ListRoutes = {}): AsyncGenerator<Route[], void, void> {
      for await (const chunk of unhurried(channel.dumpChunks(listRequest(options), routeMessage)))
        yield chunk.map(toRoute);
    },
    /** Which route a packet to `address` would take. `entry` asks for the table's entry instead, with its whole destination. */
    get(
      address: string,
      options: { readonly from?: string; readonly link?: LinkRef; readonly entry?: boolean } = {},
    ): Route {
      const bits = isIp6(address) ? 128 : 32;
      const asked = {
        family: familyOf(address),
        dst: address,
        dstLength: bits,
        from: options.from,
        srcLength: options.from === undefined ? 0 : bits,
        oif: options.link === undefined ? undefined : indexOf(options.link),
        flags: options.entry === true ? FIB_MATCH : 0,
      };
      return toRoute(channel.get(request('route.get', RTM_GETROUTE, 0, routeMessage, asked), routeMessage));
    },
  };
}

const familyOf = (address: string): number => (isIp6(address) ? AF_INET6 : AF_INET);

/** As ip(8) does: what is on the link itself, or on this host, cannot be a gateway for others. */
function scopeOf(settings: RouteSettings, family: number): number {
  if (family !== AF_INET) return 0;
  if (settings.type === 'local' || settings.type === 'nat') return SCOPE_HOST;
  const type = settings.type ?? 'unicast';
  const direct = settings.via === undefined && settings.nexthops === undefined && settings.nexthopId === undefined;
  return direct && (type === 'unicast' || type === 'broadcast' || type === 'multicast') ? SCOPE_LINK : 0;
}

export function toRoute(seen: WireRoute): Route {
  const { dst, from, encapType, encap, nexthops, gateway, via, oif, priority, prefsrc, ...rest } = seen;
  const out: Route = {
    ...rest,
    dst: prefixOf(dst, seen.dstLength) ?? 'default',
    table: seen.table ?? seen.tableByte,
  };
  const source = prefixOf(from, seen.srcLength);
  if (source !== undefined) out.from = source;
  if (oif !== undefined) out.link = oif;
  if (priority !== undefined) out.metric = priority;
  if (prefsrc !== undefined) out.src = prefsrc;
  const next = gateway ?? via?.address;
  if (next !== undefined) out.via = next;
  const inside = seenEncap(encapType, encap);
  if (inside !== undefined) out.encap = inside;
  if (nexthops !== undefined) out.nexthops = nexthops.map(toNexthop);
  return out;
}

const prefixOf = (address: string | undefined, length: number): string | undefined =>
  address === undefined ? undefined : `${address}/${length}`;

function toNexthop(seen: WireNexthop): SeenNexthop {
  const out: SeenNexthop = { weight: seen.hops + 1, flags: seen.flags };
  const next = seen.gateway ?? seen.via?.address;
  if (next !== undefined) out.via = next;
  if (seen.index !== 0) out.link = seen.index;
  const inside = seenEncap(seen.encapType, seen.encap);
  if (inside !== undefined) out.encap = inside;
  return out;
}
