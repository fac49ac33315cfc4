/** Kinds of filters: what they match. */
import { struct } from '../codec/struct.ts';
import { attr, table } from '../codec/table.ts';
import {
  be16,
  be32,
  bytes,
  inRange,
  ip4,
  ip6,
  mac6,
  text,
  u16,
  u32,
  u64,
  u8,
  type OutOf,
  type Type,
} from '../codec/type.ts';
import { LITTLE } from '../codec/writer.ts';
import type { LinkRef } from '../route/channel.ts';
import { actionFromWire, actionsTable, actionToWire, type Action, type SeenAction } from './actions.ts';
import { formatHandle, parseHandle, type Handle } from './message.ts';

/** `struct sock_filter`: one instruction of classic BPF. */
export type BpfInstruction = readonly [code: number, jt: number, jf: number, k: number];
const INSTRUCTION = 8;

/** Not a list of structs: with each port goes a program of a hundred instructions, and this is several times quicker. */
export const bpfProgram: Type<BpfInstruction[], readonly BpfInstruction[]> = {
  min: 0,
  max: 0xffff,
  nested: false,
  write: (w, program) => {
    let at = w.reserve(program.length * INSTRUCTION);
    for (let i = 0; i < program.length; i += 1, at += INSTRUCTION) {
      const one = program[i]!;
      w.view.setUint16(at, inRange(one[0], 0, 0xffff), LITTLE);
      w.view.setUint8(at + 2, inRange(one[1], 0, 0xff));
      w.view.setUint8(at + 3, inRange(one[2], 0, 0xff));
      w.view.setUint32(at + 4, inRange(one[3], 0, 0xffff_ffff), LITTLE);
    }
  },
  read: (r, start, end) => {
    const program: BpfInstruction[] = [];
    for (let at = start; at + INSTRUCTION <= end; at += INSTRUCTION) {
      const [jt, jf] = [r.bytes[at + 2]!, r.bytes[at + 3]!];
      program.push([r.view.getUint16(at, LITTLE), jt, jf, r.view.getUint32(at + 4, LITTLE)]);
    }
    return program;
  },
};

export const bpf = table('bpf', {
  actions: attr(1, actionsTable),
  police: attr(2, bytes),
  classId: attr(3, u32),
  length: attr(4, u16),
  program: attr(5, bpfProgram),
  fd: attr(6, u32),
  name: attr(7, text),
  flags: attr(8, u32),
  generalFlags: attr(9, u32),
  tag: attr(10, bytes),
  id: attr(11, u32),
});

export const u32Table = table('u32', {
  classId: attr(1, u32),
  hash: attr(2, u32),
  link: attr(3, u32),
  divisor: attr(4, u32),
  selector: attr(5, bytes),
  police: attr(6, bytes),
  actions: attr(7, actionsTable),
  inputLink: attr(8, text),
  counters: attr(9, bytes),
  mark: attr(10, struct({ value: u32, mask: u32, success: u32 })),
  flags: attr(11, u32),
});

export const flower = table('flower', {
  classId: attr(1, u32),
  inputLink: attr(2, text),
  actions: attr(3, actionsTable),
  ethDestination: attr(4, mac6),
  ethDestinationMask: attr(5, mac6),
  ethSource: attr(6, mac6),
  ethSourceMask: attr(7, mac6),
  ethType: attr(8, be16),
  ipProtocol: attr(9, u8),
  ip4Source: attr(10, ip4),
  ip4SourceMask: attr(11, ip4),
  ip4Destination: attr(12, ip4),
  ip4DestinationMask: attr(13, ip4),
  ip6Source: attr(14, ip6),
  ip6SourceMask: attr(15, ip6),
  ip6Destination: attr(16, ip6),
  ip6DestinationMask: attr(17, ip6),
  tcpSource: attr(18, be16),
  tcpDestination: attr(19, be16),
  udpSource: attr(20, be16),
  udpDestination: attr(21, be16),
  flags: attr(22, u32),
  vlanId: attr(23, u16),
  vlanPriority: attr(24, u8),
  vlanEthType: attr(25, be16),
  tunnelId: attr(26, be32),
  tcpSourceMask: attr(35, be16),
  tcpDestinationMask: attr(36, be16),
  udpSourceMask: attr(37, be16),
  udpDestinationMask: attr(38, be16),
  ipFlags: attr(46, be32),
  ipFlagsMask: attr(47, be32),
  icmp4Code: attr(48, u8),
  icmp4CodeMask: attr(49, u8),
  icmp4Type: attr(50, u8),
  icmp4TypeMask: attr(51, u8),
  icmp6Code: attr(52, u8),
  icmp6CodeMask: attr(53, u8),
  icmp6Type: attr(54, u8),
  icmp6TypeMask: attr(55, u8),
  arpSource: attr(56, ip4),
  arpSourceMask: attr(57, ip4),
  arpTarget: attr(58, ip4),
  arpTargetMask: attr(59, ip4),
  arpOperation: attr(60, u8),
  arpOperationMask: attr(61, u8),
  arpSourceMac: attr(62, mac6),
  arpSourceMacMask: attr(63, mac6),
  arpTargetMac: attr(64, mac6),
  arpTargetMacMask: attr(65, mac6),
  tcpFlags: attr(70, be16),
  tcpFlagsMask: attr(71, be16),
  ipTos: attr(72, u8),
  ipTosMask: attr(73, u8),
  ipTtl: attr(74, u8),
  ipTtlMask: attr(75, u8),
  inHardware: attr(84, u32),
});

export const matchall = table('matchall', {
  classId: attr(1, u32),
  actions: attr(2, actionsTable),
  flags: attr(3, u32),
  counters: attr(4, struct({ hits: u64 })),
});

export const filterTables = { bpf, flower, matchall, u32: u32Table };

interface Common {
  /** The class that matching packets go to. */
  readonly classId?: Handle | undefined;
  readonly actions?: readonly Action[] | undefined;
}
export interface BpfSettings extends Common {
  /** Classic BPF: plain data, no `bpf()` call. */
  readonly program: readonly BpfInstruction[];
  /** What the program returns is the verdict (0 ok, 2 drop, -1 next filter) and not a class. Yes unless said. */
  readonly directAction?: boolean | undefined;
}
/** Four bytes of the packet, counted from the network header. */
export interface U32Key {
  readonly at: number;
  readonly value: number;
  readonly mask: number;
  readonly nextHeaderMask?: number | undefined;
}
export interface U32Settings extends Common {
  /** All must match; none matches everything. */
  readonly keys?: readonly U32Key[] | undefined;
}
type FlowerKeys = Omit<Readonly<OutOf<typeof flower>>, 'actions' | 'classId' | 'unknown' | 'inHardware'>;
export type FlowerSettings = Common & { readonly [K in keyof FlowerKeys]?: FlowerKeys[K] | undefined };

/** Settings by kind, as they are given. */
export interface FilterSettingsByKind {
  bpf: BpfSettings;
  flower: FlowerSettings;
  matchall: Common;
  u32: U32Settings;
}
interface SeenCommon {
  classId?: string;
  actions: SeenAction[];
}
/** And as they are shown. */
export interface FilterDataByKind {
  bpf: SeenCommon & { program: BpfInstruction[]; directAction: boolean; name?: string; id?: number };
  flower: SeenCommon & Omit<OutOf<typeof flower>, 'actions' | 'classId'>;
  matchall: SeenCommon;
  u32: SeenCommon & { keys: U32Key[]; divisor?: number };
}

const DIRECT_ACTION = 1;
const TERMINAL = 1;
const SELECTOR = 16;
const KEY = 16;

const encoders = {
  bpf: ({ program, directAction }: BpfSettings) => ({
    length: program.length,
    program,
    flags: directAction === false ? 0 : DIRECT_ACTION,
  }),
  flower: (given: FlowerSettings) => given,
  matchall: () => ({}),
  u32: ({ keys }: U32Settings) => ({ selector: selectorOf(keys ?? []) }),
};

export function filterToWire(kind: keyof FilterSettingsByKind, given: Common, indexOf: (ref: LinkRef) => number) {
  const { actions, classId, ...rest } = given;
  const own = (encoders[kind] as (given: object) => object)(rest);
  return {
    ...own,
    classId: classId === undefined ? undefined : parseHandle(classId),
    actions: actions?.map((action) => actionToWire(action, indexOf)),
  };
}

const decoders = {
  bpf: ({ program, flags, name, id }: OutOf<typeof bpf>) => ({
    program: program ?? [],
    directAction: ((flags ?? 0) & DIRECT_ACTION) !== 0,
    ...(name === undefined ? {} : { name }),
    ...(id === undefined ? {} : { id }),
  }),
  flower: (seen: OutOf<typeof flower>) => seen,
  matchall: () => ({}),
  u32: ({ selector, divisor }: OutOf<typeof u32Table>) => ({
    keys: selector === undefined ? [] : keysOf(selector),
    ...(divisor === undefined ? {} : { divisor }),
  }),
};

type Wire = { actions?: OutOf<typeof actionsTable>; classId?: number };

export function filterFromWire(kind: keyof FilterSettingsByKind, seen: Wire): FilterDataByKind[typeof kind] {
  const { actions, classId, ...rest } = seen;
  const own = decoders[kind](rest);
  return {
    ...own,
    ...(classId === undefined ? {} : { classId: formatHandle(classId) }),
    actions: (actions ?? []).map(actionFromWire),
  };
}

/** `struct tc_u32_sel` ends in as many keys as it says; a selector without any would be refused. */
function selectorOf(keys: readonly U32Key[]): Uint8Array {
  const all = keys.length === 0 ? [{ at: 0, value: 0, mask: 0 }] : keys;
  if (all.length > 128) throw new RangeError(`u32 matches at most 128 keys, not ${all.length}`);
  const out = Buffer.alloc(SELECTOR + KEY * all.length);
  const view = new DataView(out.buffer, out.byteOffset, out.length);
  out[0] = TERMINAL;
  out[2] = all.length;
  all.forEach(({ at, value, mask, nextHeaderMask }: U32Key, i) => {
    const start = SELECTOR + KEY * i;
    view.setUint32(start, mask, false);
    view.setUint32(start + 4, (value & mask) >>> 0, false);
    view.setInt32(start + 8, at, LITTLE);
    view.setInt32(start + 12, nextHeaderMask ?? 0, LITTLE);
  });
  return out;
}

function keysOf(selector: Uint8Array): U32Key[] {
  const view = new DataView(selector.buffer, selector.byteOffset, selector.length);
  const out: U32Key[] = [];
  for (let start = SELECTOR; start + KEY <= selector.length; start += KEY) {
    const nextHeaderMask = view.getInt32(start + 12, LITTLE);
    out.push({
      at: view.getInt32(start + 8, LITTLE),
      value: view.getUint32(start + 4, false),
      mask: view.getUint32(start, false),
      ...(nextHeaderMask === 0 ? {} : { nextHeaderMask }),
    });
  }
  return out;
}
