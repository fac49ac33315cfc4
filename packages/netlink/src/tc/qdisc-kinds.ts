/** Kinds of qdiscs and classes: their wire tables, and the settings in units that people use. */
import { message } from '../codec/message.ts';
import { struct } from '../codec/struct.ts';
import { attr, table, type Table } from '../codec/table.ts';
import { bytes, flag, i32, i64big, u16, u32, u64, u8, type InOf, type OutOf, type Type } from '../codec/type.ts';

const rateSpec = struct({ cellLog: u8, linkLayer: u8, overhead: u16, cellAlign: u16, minimum: u16, rate: u32 });

export const tbf = table('tbf', {
  parameters: attr(1, struct({ rate: rateSpec, peak: rateSpec, limit: u32, buffer: u32, mtu: u32 })),
  rate64: attr(4, u64),
  peak64: attr(5, u64),
  burst: attr(6, u32),
  peakBurst: attr(7, u32),
});

/** The kernel has one numbering for the qdisc (`init`) and its classes (`parameters`). */
export const htb = table('htb', {
  parameters: attr(
    1,
    struct({ rate: rateSpec, ceil: rateSpec, buffer: u32, ceilBuffer: u32, quantum: u32, level: u32, priority: u32 }),
  ),
  init: attr(2, struct({ version: u32, rateToQuantum: u32, defaultClass: u32, debug: u32, directPackets: u32 })),
  directQueueLength: attr(5, u32),
  rate64: attr(6, u64),
  ceil64: attr(7, u64),
  offload: attr(9, flag),
});

export const fqCodel = table('fq_codel', {
  targetUs: attr(1, u32),
  limitPackets: attr(2, u32),
  intervalUs: attr(3, u32),
  ecn: attr(4, u32),
  flows: attr(5, u32),
  quantumBytes: attr(6, u32),
  ceThresholdUs: attr(7, u32),
  dropBatchPackets: attr(8, u32),
  memoryLimitBytes: attr(9, u32),
  ceThresholdSelector: attr(10, u8),
  ceThresholdMask: attr(11, u8),
});

const chance = struct({ probability: u32, correlation: u32 });
const netemMessage = message(
  'netem',
  struct({ latency: u32, limit: u32, loss: u32, gap: u32, duplicate: u32, jitterTicks: u32 }),
  table('netem', {
    correlations: attr(1, struct({ delay: u32, loss: u32, duplicate: u32 })),
    distribution: attr(2, bytes),
    reorder: attr(3, chance),
    corrupt: attr(4, chance),
    lossModel: attr(5, bytes),
    rate: attr(6, struct({ rate: u32, packetOverhead: i32, cellSize: u32, cellOverhead: i32 })),
    ecn: attr(7, u32),
    rate64: attr(8, u64),
    latencyNs: attr(10, i64big),
    jitterNs: attr(11, i64big),
    slot: attr(12, bytes),
    slotDistribution: attr(13, bytes),
    seed: attr(14, u64),
  }),
);
type NetemIn = Parameters<typeof netemMessage.write>[1];
type NetemOut = ReturnType<typeof netemMessage.read>;

/** A structure with attributes behind it, all inside one attribute. */
const netem: Type<NetemOut, NetemIn> & { readonly message: typeof netemMessage } = {
  message: netemMessage,
  min: 24,
  max: 0xffff,
  nested: true,
  write: (w, value) => netemMessage.write(w, value),
  read: (r, start, end) => netemMessage.read(r, start, end),
};

const fifo = struct({ limit: u32 });
/** ingress and clsact: the kernel sends an empty nest. */
const none: Table = table('qdisc', {});

export const qdiscTables = {
  bfifo: fifo,
  clsact: none,
  fq_codel: fqCodel,
  htb,
  ingress: none,
  netem,
  pfifo: fifo,
  tbf,
};
export const classTables = { htb };

export interface TbfSettings {
  readonly bytesPerSecond: number;
  /** What may be sent at once. At least a packet, and at high rates what a timer tick needs. */
  readonly burstBytes: number;
  /** What may wait: say it in bytes, or as the longest wait. */
  readonly limitBytes?: number | undefined;
  readonly latencyUs?: number | undefined;
  readonly peakBytesPerSecond?: number | undefined;
  readonly peakBurstBytes?: number | undefined;
}
export interface Tbf {
  bytesPerSecond: number;
  /** As the kernel keeps it: rounded to its clock, which at 1 GB/s is 64 bytes. */
  burstBytes: number;
  limitBytes: number;
  peakBytesPerSecond?: number;
}
export interface HtbSettings {
  /** Minor number of the class for what no filter classified; 0 sends it unshaped. */
  readonly defaultClass?: number | undefined;
  readonly rateToQuantum?: number | undefined;
  readonly directQueueLength?: number | undefined;
}
export interface HtbClassSettings {
  readonly bytesPerSecond: number;
  /** What it may borrow up to; the rate unless said. */
  readonly ceilBytesPerSecond?: number | undefined;
  readonly burstBytes?: number | undefined;
  readonly ceilBurstBytes?: number | undefined;
  readonly quantumBytes?: number | undefined;
  readonly priority?: number | undefined;
}
/** Probabilities are from 0 to 1. */
export interface NetemSettings {
  readonly delayUs?: number | undefined;
  readonly jitterUs?: number | undefined;
  readonly loss?: number | undefined;
  readonly duplicate?: number | undefined;
  readonly corrupt?: number | undefined;
  readonly reorder?: number | undefined;
  readonly gap?: number | undefined;
  readonly bytesPerSecond?: number | undefined;
  readonly limitPackets?: number | undefined;
}
type Seen<T> = { -readonly [K in keyof T]-?: NonNullable<T[K]> };

interface NoSettings {
  readonly none?: undefined;
}
/** Settings by kind, as they are given. */
export interface QdiscSettingsByKind {
  bfifo: { readonly limit?: number | undefined };
  clsact: NoSettings;
  fq_codel: InOf<typeof fqCodel>;
  htb: HtbSettings;
  ingress: NoSettings;
  netem: NetemSettings;
  pfifo: { readonly limit?: number | undefined };
  tbf: TbfSettings;
}
/** And as they are shown. */
export interface QdiscDataByKind {
  bfifo: { limit: number };
  clsact: object;
  fq_codel: OutOf<typeof fqCodel>;
  htb: Seen<HtbSettings> & { directPackets: number };
  ingress: object;
  netem: Seen<NetemSettings>;
  pfifo: { limit: number };
  tbf: Tbf;
}

const ETHERNET = 1;
const U32 = 0xffff_ffff;
/** The kernel's clock for packets: a tick is 64 ns. */
const TICK_NS = 64;
const HTB_VERSION = 3;
const SMALLEST_BURST = 1600;

const rateOf = (bytesPerSecond: number) => ({ rate: Math.min(bytesPerSecond, U32), linkLayer: ETHERNET });
const large = (bytesPerSecond: number): number | undefined => (bytesPerSecond > U32 ? bytesPerSecond : undefined);
const ticksFor = (byteCount: number, bytesPerSecond: number): number =>
  Math.round((byteCount * 1e9) / bytesPerSecond / TICK_NS);
const bytesIn = (ticks: number, bytesPerSecond: number): number => Math.round((ticks * TICK_NS * bytesPerSecond) / 1e9);
const share = (probability: number | undefined): number | undefined =>
  probability === undefined ? undefined : Math.round(probability * U32);

export function tbfToWire(given: TbfSettings): InOf<typeof tbf> {
  const { bytesPerSecond, burstBytes, latencyUs, peakBytesPerSecond, peakBurstBytes } = given;
  if (given.limitBytes === undefined && latencyUs === undefined) {
    throw new TypeError('tbf needs limitBytes or latencyUs: what may wait');
  }
  const limit = given.limitBytes ?? Math.round((bytesPerSecond * latencyUs!) / 1e6) + burstBytes;
  return {
    parameters: {
      rate: rateOf(bytesPerSecond),
      peak: peakBytesPerSecond === undefined ? {} : rateOf(peakBytesPerSecond),
      limit: Math.min(limit, U32),
    },
    rate64: large(bytesPerSecond),
    peak64: peakBytesPerSecond === undefined ? undefined : large(peakBytesPerSecond),
    burst: burstBytes,
    peakBurst: peakBurstBytes,
  };
}

export function tbfFromWire({ parameters, rate64, peak64 }: OutOf<typeof tbf>): Tbf {
  const bytesPerSecond = rate64 ?? parameters?.rate.rate ?? 0;
  const peakBytesPerSecond = peak64 ?? parameters?.peak.rate ?? 0;
  return {
    bytesPerSecond,
    burstBytes: bytesIn(parameters?.buffer ?? 0, bytesPerSecond),
    limitBytes: parameters?.limit ?? 0,
    ...(peakBytesPerSecond === 0 ? {} : { peakBytesPerSecond }),
  };
}

export const htbToWire = (given: HtbSettings): InOf<typeof htb> => ({
  init: { version: HTB_VERSION, rateToQuantum: given.rateToQuantum ?? 10, defaultClass: given.defaultClass ?? 0 },
  directQueueLength: given.directQueueLength,
});

export const htbFromWire = ({ init, directQueueLength }: OutOf<typeof htb>): QdiscDataByKind['htb'] => ({
  defaultClass: init?.defaultClass ?? 0,
  rateToQuantum: init?.rateToQuantum ?? 0,
  directQueueLength: directQueueLength ?? 0,
  directPackets: init?.directPackets ?? 0,
});

export function htbClassToWire(given: HtbClassSettings): InOf<typeof htb> {
  const { bytesPerSecond, quantumBytes, priority } = given;
  const ceil = given.ceilBytesPerSecond ?? bytesPerSecond;
  return {
    parameters: {
      rate: rateOf(bytesPerSecond),
      ceil: rateOf(ceil),
      buffer: ticksFor(given.burstBytes ?? SMALLEST_BURST, bytesPerSecond),
      ceilBuffer: ticksFor(given.ceilBurstBytes ?? SMALLEST_BURST, ceil),
      quantum: quantumBytes,
      priority,
    },
    rate64: large(bytesPerSecond),
    ceil64: large(ceil),
  };
}

export function htbClassFromWire({ parameters, rate64, ceil64 }: OutOf<typeof htb>): Seen<HtbClassSettings> {
  const bytesPerSecond = rate64 ?? parameters?.rate.rate ?? 0;
  const ceilBytesPerSecond = ceil64 ?? parameters?.ceil.rate ?? 0;
  return {
    bytesPerSecond,
    ceilBytesPerSecond,
    burstBytes: bytesIn(parameters?.buffer ?? 0, bytesPerSecond),
    ceilBurstBytes: bytesIn(parameters?.ceilBuffer ?? 0, ceilBytesPerSecond),
    quantumBytes: parameters?.quantum ?? 0,
    priority: parameters?.priority ?? 0,
  };
}

export function netemToWire(given: NetemSettings): NetemIn {
  const { delayUs, jitterUs, corrupt, reorder, bytesPerSecond } = given;
  return {
    limit: given.limitPackets ?? 1000,
    loss: share(given.loss),
    duplicate: share(given.duplicate),
    // Reordering needs a gap: without one the kernel would never look at the probability.
    gap: given.gap ?? (reorder === undefined ? undefined : 1),
    latencyNs: delayUs === undefined ? undefined : BigInt(Math.round(delayUs * 1000)),
    jitterNs: jitterUs === undefined ? undefined : BigInt(Math.round(jitterUs * 1000)),
    corrupt: corrupt === undefined ? undefined : { probability: share(corrupt) },
    reorder: reorder === undefined ? undefined : { probability: share(reorder) },
    rate: bytesPerSecond === undefined ? undefined : { rate: Math.min(bytesPerSecond, U32) },
    rate64: bytesPerSecond === undefined ? undefined : large(bytesPerSecond),
  };
}

export function netemFromWire(seen: NetemOut): Seen<NetemSettings> {
  return {
    delayUs: seen.latencyNs === undefined ? (seen.latency * TICK_NS) / 1000 : Number(seen.latencyNs) / 1000,
    jitterUs: seen.jitterNs === undefined ? (seen.jitterTicks * TICK_NS) / 1000 : Number(seen.jitterNs) / 1000,
    loss: seen.loss / U32,
    duplicate: seen.duplicate / U32,
    corrupt: (seen.corrupt?.probability ?? 0) / U32,
    reorder: (seen.reorder?.probability ?? 0) / U32,
    gap: seen.gap,
    bytesPerSecond: seen.rate64 ?? seen.rate?.rate ?? 0,
    limitPackets: seen.limit,
  };
}
