/** From datagrams to events: which groups a topic joins, and what each message type means. */
import type { Message } from '../codec/message.ts';
import type { OutOf } from '../codec/type.ts';
import { Reader } from '../codec/writer.ts';
import { addressMessage, toAddress, type Address } from '../route/address.ts';
import { bridgeLinkMessage } from '../route/bridge-vlan.ts';
import type { bridgePort } from '../route/kinds/bridge.ts';
import { toOutline, type LinkOutline } from '../route/link.ts';
import { outlineMessage } from '../route/link-table.ts';
import { neighbourMessage, type Neighbour } from '../route/neighbour.ts';
import * as numbers from '../route/numbers.ts';
import { nexthopMessage, toNexthop, type NexthopObject } from '../route/nexthop.ts';
import { routeMessage } from '../route/route-table.ts';
import { toRoute, type Route } from '../route/route.ts';
import { ruleMessage, toRule, type Rule } from '../route/rule.ts';
import { filterOutlineMessage, toFilterOutline, type FilterOutline } from '../tc/filter.ts';
import { classMessage, qdiscMessage, toClass, toQdisc, type Class, type Qdisc } from '../tc/qdisc.ts';
import { walk } from '../wire/socket.ts';

/** Multicast groups (RTNLGRP_*) by topic. */
export const topics = {
  link: [1],
  address: [5, 9],
  route: [7, 11],
  neighbour: [3],
  rule: [8, 19],
  nexthop: [32],
  /** Qdiscs, classes and filters. */
  tc: [4],
} as const;
export type Topic = keyof typeof topics;

/** A port of a bridge with its settings; `delete` means that it left the bridge, not that the link is gone. */
export interface BridgePort {
  index: number;
  name?: string;
  master?: number;
  port?: OutOf<typeof bridgePort>;
}

export type Change =
  | { readonly kind: 'link'; readonly change: 'new' | 'delete'; readonly link: LinkOutline }
  | { readonly kind: 'port'; readonly change: 'new' | 'delete'; readonly port: BridgePort }
  | { readonly kind: 'address'; readonly change: 'new' | 'delete'; readonly address: Address }
  | { readonly kind: 'route'; readonly change: 'new' | 'delete'; readonly route: Route }
  | { readonly kind: 'neighbour' | 'fdb'; readonly change: 'new' | 'delete'; readonly neighbour: Neighbour }
  | { readonly kind: 'rule'; readonly change: 'new' | 'delete'; readonly rule: Rule }
  | { readonly kind: 'nexthop'; readonly change: 'new' | 'delete'; readonly nexthop: NexthopObject }
  | { readonly kind: 'qdisc'; readonly change: 'new' | 'delete'; readonly qdisc: Qdisc }
  | { readonly kind: 'class'; readonly change: 'new' | 'delete'; readonly class: Class }
  | { readonly kind: 'filter'; readonly change: 'new' | 'delete'; readonly filter: FilterOutline };

type Decode = (r: Reader, start: number, end: number) => Change;

function both(types: readonly [number, number], decode: (change: 'new' | 'delete') => Decode): [number, Decode][] {
  return [
    [types[0], decode('new')],
    [types[1], decode('delete')],
  ];
}

const read = <T>(message: Message<T, never>, r: Reader, start: number, end: number): T => message.read(r, start, end);

const decoders = new Map<number, Decode>([
  ...both([numbers.RTM_NEWLINK, numbers.RTM_DELLINK], (change) => (r, start, end) => {
    if (r.bytes[start] === numbers.AF_BRIDGE) return toPort(change, read(bridgeLinkMessage, r, start, end));
    return { kind: 'link', change, link: toOutline(read(outlineMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWADDR, numbers.RTM_DELADDR], (change) => (r, start, end) => {
    return { kind: 'address', change, address: toAddress(read(addressMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWROUTE, numbers.RTM_DELROUTE], (change) => (r, start, end) => {
    return { kind: 'route', change, route: toRoute(read(routeMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWNEIGH, numbers.RTM_DELNEIGH], (change) => (r, start, end) => {
    const neighbour = read(neighbourMessage, r, start, end);
    return { kind: neighbour.family === numbers.AF_BRIDGE ? 'fdb' : 'neighbour', change, neighbour };
  }),
  ...both([numbers.RTM_NEWRULE, numbers.RTM_DELRULE], (change) => (r, start, end) => {
    return { kind: 'rule', change, rule: toRule(read(ruleMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWNEXTHOP, numbers.RTM_DELNEXTHOP], (change) => (r, start, end) => {
    return { kind: 'nexthop', change, nexthop: toNexthop(read(nexthopMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWQDISC, numbers.RTM_DELQDISC], (change) => (r, start, end) => {
    return { kind: 'qdisc', change, qdisc: toQdisc(read(qdiscMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWTCLASS, numbers.RTM_DELTCLASS], (change) => (r, start, end) => {
    return { kind: 'class', change, class: toClass(read(classMessage, r, start, end)) };
  }),
  ...both([numbers.RTM_NEWTFILTER, numbers.RTM_DELTFILTER], (change) => (r, start, end) => {
    return { kind: 'filter', change, filter: toFilterOutline(read(filterOutlineMessage, r, start, end)) };
  }),
]);

function toPort(change: 'new' | 'delete', seen: ReturnType<typeof bridgeLinkMessage.read>): Change {
  const { index, name, master, protInfo } = seen;
  const port: BridgePort = { index };
  if (name !== undefined) port.name = name;
  if (master !== undefined) port.master = master;
  if (protInfo !== undefined) port.port = protInfo;
  return { kind: 'port', change, port };
}

/** Every change in a datagram; messages of other kinds are not for us. */
export function changesIn(datagram: Uint8Array): Change[] {
  const r = new Reader(datagram);
  const out: Change[] = [];
  walk(r, datagram.length, (type, _flags, _sequence, start, end) => {
    const decode = decoders.get(type);
    // A message without room for its header is none; the shortest header here has eight bytes.
    if (decode !== undefined && end - start >= 8) out.push(decode(r, start, end));
  });
  return out;
}
