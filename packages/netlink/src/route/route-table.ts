/** The route message: `struct rtmsg`, RTA_*, RTAX_* and next hops. */
import { message, type Message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, select, table } from '../codec/table.ts';
import { be16, bytes, choice, i32, ip, text, u16, u32, u8, type InOf, type OutOf, type Type } from '../codec/type.ts';
import { LITTLE } from '../codec/writer.ts';
import { encaps, encapType } from './encap.ts';

export const routeTypes = {
  unicast: 1,
  local: 2,
  broadcast: 3,
  anycast: 4,
  multicast: 5,
  blackhole: 6,
  unreachable: 7,
  prohibit: 8,
  throw: 9,
  nat: 10,
} as const;

export const routeHeader = struct({
  family: u8,
  dstLength: u8,
  srcLength: u8,
  tos: u8,
  tableByte: u8,
  protocol: u8,
  scope: u8,
  type: choice(u8, routeTypes),
  flags: u32,
});

const metrics = table('metrics', {
  lock: attr(1, u32),
  mtu: attr(2, u32),
  window: attr(3, u32),
  rtt: attr(4, u32),
  rttvar: attr(5, u32),
  ssthresh: attr(6, u32),
  cwnd: attr(7, u32),
  advmss: attr(8, u32),
  reordering: attr(9, u32),
  hoplimit: attr(10, u32),
  initcwnd: attr(11, u32),
  features: attr(12, u32),
  rtoMin: attr(13, u32),
  initrwnd: attr(14, u32),
  quickack: attr(15, u32),
  congctl: attr(16, text),
  fastopenNoCookie: attr(17, u32),
});
export type RouteMetrics = InOf<typeof metrics>;

/** `struct rtvia`: a gateway of another family than the route's. */
const via: Type<{ family: number; address: string }> & { members: object } = {
  members: { family: u16, address: ip },
  min: 6,
  max: 18,
  nested: false,
  write: (w, value, parent) => {
    w.u16(value.family);
    ip.write(w, value.address, parent);
  },
  read: (r, start, end, parent) => ({
    family: r.view.getUint16(start, LITTLE),
    address: ip.read(r, start + 2, end, parent),
  }),
};

const hop = {
  flow: attr(11, u32),
  via: attr(18, via),
  newDst: attr(19, bytes),
  encapType: attr(21, encapType),
  encap: attr(22, select<object>('encapType', encaps)),
};

/** `struct rtnexthop` begins with its own length, which `nexthops` fills in. */
const nexthopMessage = message(
  'nexthop',
  struct({ length: pad(2), flags: u8, hops: u8, index: i32 }),
  table('nexthop', { gateway: attr(5, ip), ...hop }),
);

/** Next hops one after the other, each with its attributes. */
function framed<Out, In>(one: Message<Out, In>): Type<Out[], readonly In[]> & { item: { message: Message<Out, In> } } {
  return {
    item: { message: one },
    min: 0,
    max: 0xffff,
    nested: false,
    write: (w, values) => {
      for (const value of values) {
        const at = w.position;
        one.write(w, value);
        w.align();
        w.view.setUint16(at, w.position - at, LITTLE);
      }
    },
    read: (r, start, end) => {
      const out: Out[] = [];
      let at = start;
      while (at + 8 <= end) {
        const length = r.view.getUint16(at, LITTLE);
        if (length < 8 || at + length > end) break;
        out.push(one.read(r, at, at + length));
        at += (length + 3) & ~3;
      }
      return out;
    },
  };
}

const cacheInfo = struct({
  references: u32,
  lastUse: u32,
  expires: i32,
  error: u32,
  used: u32,
  id: u32,
  timestamp: u32,
  timestampAge: u32,
});

export const routeAttributes = table('route', {
  dst: attr(1, ip),
  from: attr(2, ip),
  iif: attr(3, u32),
  oif: attr(4, u32),
  gateway: attr(5, ip),
  priority: attr(6, u32),
  prefsrc: attr(7, ip),
  metrics: attr(8, metrics),
  nexthops: attr(9, framed(nexthopMessage)),
  ...hop,
  cacheInfo: attr(12, cacheInfo),
  table: attr(15, u32),
  mark: attr(16, u32),
  pref: attr(20, u8),
  expires: attr(23, u32),
  uid: attr(25, u32),
  ttlPropagate: attr(26, u8),
  ipProto: attr(27, u8),
  sport: attr(28, be16),
  dport: attr(29, be16),
  nexthopId: attr(30, u32),
});

export const routeMessage = message('route', routeHeader, routeAttributes);
export type WireRoute = OutOf<typeof routeHeader> & OutOf<typeof routeAttributes>;
export type WireNexthop = NonNullable<WireRoute['nexthops']>[number];
