/** What qdiscs, classes and filters have in common: the header, handles as text, and counters. */
import { message } from '../codec/message.ts';
import { pad, struct } from '../codec/struct.ts';
import { attr, select, table } from '../codec/table.ts';
import { bytes, flag, i32, text, u32, u64, u8, type OutOf, type Type } from '../codec/type.ts';

export const tcHeader = struct({ family: u8, pad1: pad(3), index: i32, handle: u32, parent: u32, info: u32 });

const statistics = table('statistics', {
  /** 16 bytes from the kernel: the compiler pads. */
  basic: attr(1, struct({ bytes: u64, packets: u32 })),
  rateEstimate: attr(2, struct({ bytesPerSecond: u32, packetsPerSecond: u32 })),
  queue: attr(3, struct({ packets: u32, backlogBytes: u32, drops: u32, requeues: u32, overlimits: u32 })),
  application: attr(4, bytes),
  rateEstimate64: attr(5, struct({ bytesPerSecond: u64, packetsPerSecond: u64 })),
  basicHardware: attr(7, struct({ bytes: u64, packets: u32 })),
  packets64: attr(8, u64),
});

/** The three messages differ in what the options of a kind are. */
export const tcMessage = (name: string, options: Readonly<Record<string, Type<unknown, unknown> | undefined>>) =>
  message(
    name,
    tcHeader,
    table(name, {
      kind: attr(1, text),
      options: attr(2, select<object>('kind', options)),
      oldStatistics: attr(3, bytes),
      extraStatistics: attr(4, bytes),
      rate: attr(5, bytes),
      forwardCount: attr(6, u32),
      statistics: attr(7, statistics),
      sizeTable: attr(8, bytes),
      dumpInvisible: attr(10, flag),
      chain: attr(11, u32),
      hardwareOffload: attr(12, u8),
      ingressBlock: attr(13, u32),
      egressBlock: attr(14, u32),
      dumpFlags: attr(15, bytes),
      warning: attr(16, text),
    }),
  );
type Seen = OutOf<typeof tcHeader> & { statistics?: OutOf<typeof statistics> };

export interface TcStats {
  readonly bytes: number;
  readonly packets: number;
  readonly drops: number;
  readonly overlimits: number;
  readonly requeues: number;
  readonly queuedPackets: number;
  readonly backlogBytes: number;
}

export function statsOf({ statistics }: Seen): TcStats {
  const queue = statistics?.queue;
  return {
    bytes: statistics?.basic?.bytes ?? 0,
    packets: statistics?.packets64 ?? statistics?.basic?.packets ?? 0,
    drops: queue?.drops ?? 0,
    overlimits: queue?.overlimits ?? 0,
    requeues: queue?.requeues ?? 0,
    queuedPackets: queue?.packets ?? 0,
    backlogBytes: queue?.backlogBytes ?? 0,
  };
}

/**
 * Where something hangs, as `tc(8)` writes it: `1:`, `1:10` (hexadecimal), `root`, `ingress` and `egress` for the two sides of
 * clsact, `clsact` for where it hangs itself; or the number.
 */
export type Handle = string | number;

const named: Readonly<Record<string, number>> = {
  none: 0,
  root: 0xffff_ffff,
  clsact: 0xffff_fff1,
  ingress: 0xffff_fff2,
  egress: 0xffff_fff3,
};
const names = new Map(Object.entries(named).map(([name, value]) => [value, name]));

export function parseHandle(handle: Handle): number {
  if (typeof handle === 'number') return handle;
  const known = Object.hasOwn(named, handle) ? named[handle] : undefined;
  if (known !== undefined) return known;
  const parts = /^([0-9a-f]{0,4}):([0-9a-f]{0,4})$/i.exec(handle);
  if (parts === null) throw new RangeError(`"${handle}" is not a handle such as 1:, 1:10, root, ingress or egress`);
  return Number.parseInt(parts[1] || '0', 16) * 0x1_0000 + Number.parseInt(parts[2] || '0', 16);
}

export function formatHandle(handle: number): string {
  const minor = handle & 0xffff;
  return names.get(handle) ?? `${(handle >>> 16).toString(16)}:${minor === 0 ? '' : minor.toString(16)}`;
}
