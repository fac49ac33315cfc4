/** Links that carry frames or packets inside others: vxlan, geneve, the gre family, ipip, sit, ip6tnl, xfrm. */
import { struct } from '../../codec/struct.ts';
import { attr, table } from '../../codec/table.ts';
import { be16, be32, bool8, bytes, choice, flag, flagOrByte, ip, ip4, ip6, u16, u32, u8 } from '../../codec/type.ts';

const portRange = struct({ low: be16, high: be16 });
const dontFragment = choice(u8, { unset: 0, set: 1, inherit: 2 });

export const vxlan = table('vxlan', {
  id: attr(1, u32),
  group: attr(2, ip4),
  link: attr(3, u32),
  local: attr(4, ip4),
  ttl: attr(5, u8),
  tos: attr(6, u8),
  learning: attr(7, bool8),
  ageing: attr(8, u32),
  limit: attr(9, u32),
  portRange: attr(10, portRange),
  proxy: attr(11, bool8),
  rsc: attr(12, bool8),
  l2miss: attr(13, bool8),
  l3miss: attr(14, bool8),
  port: attr(15, be16),
  group6: attr(16, ip6),
  local6: attr(17, ip6),
  udpCsum: attr(18, bool8),
  udp6ZeroCsumTx: attr(19, bool8),
  udp6ZeroCsumRx: attr(20, bool8),
  remcsumTx: attr(21, bool8),
  remcsumRx: attr(22, bool8),
  gbp: attr(23, flag),
  remcsumNopartial: attr(24, flag),
  /** Collect metadata: VNI and remote come with each packet or fdb entry. */
  external: attr(25, bool8),
  label: attr(26, be32),
  gpe: attr(27, flag),
  ttlInherit: attr(28, flagOrByte),
  df: attr(29, dontFragment),
  vnifilter: attr(30, bool8),
  localbypass: attr(31, bool8),
  labelPolicy: attr(32, u32),
  reservedBits: attr(33, bytes),
  mcRoute: attr(34, bool8),
});

export const geneve = table('geneve', {
  id: attr(1, u32),
  remote: attr(2, ip4),
  ttl: attr(3, u8),
  tos: attr(4, u8),
  port: attr(5, be16),
  external: attr(6, flag),
  remote6: attr(7, ip6),
  udpCsum: attr(8, bool8),
  udp6ZeroCsumTx: attr(9, bool8),
  udp6ZeroCsumRx: attr(10, bool8),
  label: attr(11, be32),
  ttlInherit: attr(12, bool8),
  df: attr(13, dontFragment),
  innerProtoInherit: attr(14, flag),
  portRange: attr(15, portRange),
});

const encapType = choice(u16, { none: 0, fou: 1, gue: 2, mpls: 3 });

/** gre, gretap, erspan, ip6gre, ip6gretap, ip6erspan. The flag 0x2000 in `iflags` or `oflags` says that there is a key. */
export const gre = table('gre', {
  link: attr(1, u32),
  iflags: attr(2, be16),
  oflags: attr(3, be16),
  ikey: attr(4, be32),
  okey: attr(5, be32),
  local: attr(6, ip),
  remote: attr(7, ip),
  ttl: attr(8, u8),
  tos: attr(9, u8),
  pmtudisc: attr(10, bool8),
  encapLimit: attr(11, u8),
  flowinfo: attr(12, be32),
  flags: attr(13, u32),
  encapType: attr(14, encapType),
  encapFlags: attr(15, u16),
  encapSport: attr(16, be16),
  encapDport: attr(17, be16),
  external: attr(18, flag),
  ignoreDf: attr(19, bool8),
  fwmark: attr(20, u32),
  erspanIndex: attr(21, u32),
  erspanVersion: attr(22, u8),
  erspanDirection: attr(23, choice(u8, { ingress: 0, egress: 1 })),
  erspanHardwareId: attr(24, u16),
});

const ipTunnel = {
  link: attr(1, u32),
  local: attr(2, ip),
  remote: attr(3, ip),
  ttl: attr(4, u8),
  tos: attr(5, u8),
  encapLimit: attr(6, u8),
  flowinfo: attr(7, be32),
  proto: attr(9, u8),
  pmtudisc: attr(10, bool8),
  encapType: attr(15, encapType),
  encapFlags: attr(16, u16),
  encapSport: attr(17, be16),
  encapDport: attr(18, be16),
  external: attr(19, flag),
  fwmark: attr(20, u32),
};

export const ipip = table('ipip', ipTunnel);
export const ip6tnl = table('ip6tnl', { ...ipTunnel, flags: attr(8, u32) });
export const sit = table('sit', {
  ...ipTunnel,
  flags: attr(8, be16),
  sixrdPrefix: attr(11, ip6),
  sixrdRelayPrefix: attr(12, ip4),
  sixrdPrefixLength: attr(13, u16),
  sixrdRelayPrefixLength: attr(14, u16),
});

export const vti = table('vti', {
  link: attr(1, u32),
  ikey: attr(2, be32),
  okey: attr(3, be32),
  local: attr(4, ip),
  remote: attr(5, ip),
  fwmark: attr(6, u32),
});

export const xfrm = table('xfrm', { link: attr(1, u32), ifId: attr(2, u32), external: attr(3, flag) });
