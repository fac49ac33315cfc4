/** The link message: `struct ifinfomsg` and IFLA_*. Numbers as in linux/if_link.h. */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, many, select, table } from '../codec/table.ts';
import {
  bool8,
  bytes,
  choice,
  i32,
  ip6,
  mac,
  packed,
  text,
  u16,
  u32,
  u64,
  u64big,
  u8,
  type Type,
} from '../codec/type.ts';
import { linkKinds, portKinds } from './kinds/kinds.ts';

export const linkHeader = struct({
  family: u8,
  pad1: pad(1),
  type: u16,
  index: i32,
  flags: u32,
  change: u32,
});

/** `struct rtnl_link_stats64`. */
export const linkStats = struct(
  {
    rxPackets: u64,
    txPackets: u64,
    rxBytes: u64,
    txBytes: u64,
    rxErrors: u64,
    txErrors: u64,
    rxDropped: u64,
    txDropped: u64,
    multicast: u64,
    collisions: u64,
    rxLengthErrors: u64,
    rxOverErrors: u64,
    rxCrcErrors: u64,
    rxFrameErrors: u64,
    rxFifoErrors: u64,
    rxMissedErrors: u64,
    txAbortedErrors: u64,
    txCarrierErrors: u64,
    txFifoErrors: u64,
    txHeartbeatErrors: u64,
    txWindowErrors: u64,
    rxCompressed: u64,
    txCompressed: u64,
    rxNohandler: u64,
    rxOtherhostDropped: u64,
  },
  184,
);

/** Filled below: a veth holds a link message, which holds this. */
export const kinds: Record<string, Type<unknown, unknown>> = { ...linkKinds };

const linkinfoFields = {
  kind: attr(1, text),
  data: attr(2, select<object>('kind', kinds)),
  xstats: attr(3, bytes),
  portKind: attr(4, text),
  port: attr(5, select<object>('portKind', portKinds)),
};
const linkinfo = table('linkinfo', linkinfoFields);

const inet6 = table('inet6', {
  flags: attr(1, u32),
  conf: attr(2, packed(i32)),
  stats: attr(3, packed(u64big)),
  icmp6Stats: attr(6, packed(u64big)),
  token: attr(7, ip6),
  cacheInfo: attr(5, struct({ maxReassemblyLength: u32, updated: u32, reachableTime: u32, retransTime: u32 })),
  addrGenMode: attr(8, u8),
  raMtu: attr(9, u32),
});
const afSpecFields = { inet: attr(2, table('inet', { conf: attr(1, packed(u32)) })), inet6: attr(10, inet6) };
const afSpec = table('afSpec', afSpecFields);

const xdp = table('xdp', {
  fd: attr(1, i32),
  attached: attr(2, u8),
  flags: attr(3, u32),
  programId: attr(4, u32),
  driverProgramId: attr(5, u32),
  genericProgramId: attr(6, u32),
  hardwareProgramId: attr(7, u32),
  expectedFd: attr(8, i32),
});

/** `struct rtnl_link_ifmap`: where old hardware sits. */
const hardwareMap = struct({ start: u64big, end: u64big, base: u64big, irq: u16, dma: u8, port: u8, pad1: pad(4) });

export const linkAttributes = table('link', {
  address: attr(1, mac),
  broadcast: attr(2, mac),
  name: attr(3, text),
  mtu: attr(4, u32),
  link: attr(5, u32),
  qdisc: attr(6, text),
  stats32: attr(7, packed(u32)),
  master: attr(10, u32),
  protInfo: attr(12, bytes),
  txqlen: attr(13, u32),
  hardwareMap: attr(14, hardwareMap),
  weight: attr(15, u32),
  operstate: attr(16, u8),
  linkmode: attr(17, u8),
  linkinfo: attr(18, linkinfo),
  netnsPid: attr(19, u32),
  alias: attr(20, text),
  numVf: attr(21, u32),
  stats: attr(23, linkStats),
  afSpec: attr(26, afSpec),
  group: attr(27, u32),
  netnsFd: attr(28, u32),
  extMask: attr(29, u32),
  promiscuity: attr(30, u32),
  numTxQueues: attr(31, u32),
  numRxQueues: attr(32, u32),
  carrier: attr(33, bool8),
  physicalPortId: attr(34, bytes),
  carrierChanges: attr(35, u32),
  physicalSwitchId: attr(36, bytes),
  linkNetnsid: attr(37, i32),
  physicalPortName: attr(38, text),
  protoDown: attr(39, bool8),
  gsoMaxSegs: attr(40, u32),
  gsoMaxSize: attr(41, u32),
  xdp: attr(43, xdp),
  event: attr(44, u32),
  newNetnsid: attr(45, i32),
  targetNetnsid: attr(46, i32),
  carrierUpCount: attr(47, u32),
  carrierDownCount: attr(48, u32),
  newIfindex: attr(49, i32),
  minMtu: attr(50, u32),
  maxMtu: attr(51, u32),
  propList: attr(52, table('propList', { altNames: many(53, text) })),
  altName: attr(53, text),
  permanentAddress: attr(54, mac),
  protoDownReason: attr(55, table('protoDownReason', { mask: attr(1, u32), value: attr(2, u32) })),
  parentDeviceName: attr(56, text),
  parentBusName: attr(57, text),
  groMaxSize: attr(58, u32),
  tsoMaxSize: attr(59, u32),
  tsoMaxSegs: attr(60, u32),
  allmulti: attr(61, u32),
  devlinkPort: attr(62, bytes),
  gsoIpv4MaxSize: attr(63, u32),
  groIpv4MaxSize: attr(64, u32),
  dpllPin: attr(65, bytes),
  maxPacingOffloadHorizon: attr(66, u32),
  netnsImmutable: attr(67, bool8),
  headroom: attr(68, u16),
  tailroom: attr(69, u16),
});

export const linkMessage = message('link', linkHeader, linkAttributes);

/** Without what is large and seldom wanted: most of a dump's bytes, and most of the time to decode it. */
const briefPort = portKinds.bridge
  .without(
    'rootId',
    'bridgeId',
    'designatedPort',
    'designatedCost',
    'topologyChangeAck',
    'configPending',
    'messageAgeTimer',
    'forwardDelayTimer',
    'holdTimer',
  )
  .usually(
    'state',
    'priority',
    'cost',
    'hairpin',
    'guard',
    'rootBlock',
    'fastLeave',
    'learning',
    'flood',
    'proxyArp',
    'proxyArpWifi',
    'id',
    'number',
    'mcastFlood',
    'mcastToUnicast',
    'vlanTunnel',
    'bcastFlood',
    'groupFwdMask',
    'neighSuppress',
    'isolated',
    'locked',
  );
const briefLinkinfo = table('linkinfo', {
  ...linkinfoFields,
  port: attr(5, select<object>('portKind', { ...portKinds, bridge: briefPort })),
});
const usualAttributes =
  `name txqlen operstate linkmode mtu minMtu maxMtu group promiscuity allmulti numTxQueues numRxQueues gsoMaxSegs
  gsoMaxSize groMaxSize tsoMaxSize tsoMaxSegs carrier qdisc carrierChanges carrierUpCount carrierDownCount protoDown address broadcast
  up`.split(/\s+/);

export const briefLinkMessage = message(
  'link',
  linkHeader,
  table('link', { ...linkAttributes.fields, linkinfo: attr(18, briefLinkinfo) }).without(
    'stats',
    'stats32',
    'afSpec',
    'hardwareMap',
    'xdp',
    'devlinkPort',
    'dpllPin',
  ),
  usualAttributes,
);

/** What tells whose a link is, where it lies and how it is set; a fraction of the time, because most of a link are figures and what its kind is made of. */
export const outlineMessage = message(
  'link',
  linkHeader,
  table('link', {
    ...linkAttributes.fields,
    linkinfo: attr(
      18,
      table('linkinfo', {
        ...linkinfoFields,
        port: attr(5, select<object>('portKind', { bridge: portKinds.bridge.only('learning', 'flood') })),
      }).only('kind', 'portKind', 'port'),
    ),
    afSpec: attr(26, table('afSpec', { ...afSpecFields, inet6: attr(10, inet6.only('addrGenMode')) }).only('inet6')),
  }).only('address', 'name', 'mtu', 'link', 'master', 'txqlen', 'linkinfo', 'alias', 'afSpec', 'group'),
);

/** The other end: a link message as an attribute, header and all. */
const peer: Type<object> & { readonly message: typeof linkMessage } = {
  message: linkMessage,
  min: 16,
  max: 0xffff,
  nested: true,
  write: (w, value) => linkMessage.write(w, value),
  read: (r, start, end) => linkMessage.read(r, start, end),
  locate: (r, start, end, offset) => linkAttributes.locate(r, start + 16, end, offset),
  nameOf: (r, start, end, nest, id) => linkAttributes.nameOf(r, start + 16, end, nest, id),
};

const netkitPolicy = choice(u32, { forward: 0, blackhole: 2 });
const netkitScrub = choice(u32, { none: 0, default: 1 });

kinds['veth'] = table('veth', { peer: attr(1, peer) });
kinds['netkit'] = table('netkit', {
  peer: attr(1, peer),
  primary: attr(2, bool8),
  policy: attr(3, netkitPolicy),
  peerPolicy: attr(4, netkitPolicy),
  mode: attr(5, choice(u32, { l2: 0, l3: 1 })),
  scrub: attr(6, netkitScrub),
  peerScrub: attr(7, netkitScrub),
  headroom: attr(8, u16),
  tailroom: attr(9, u16),
});
