/** Light-weight tunnels of routes (RTA_ENCAP): mpls, ip, ip6, seg6, seg6local. */
import { parseIp, formatIp } from '../codec/address.ts';
import { attr, table } from '../codec/table.ts';
import {
  be16,
  be64big,
  bytes,
  choice,
  ip4,
  ip6,
  u16,
  u32,
  u64,
  u8,
  type InOf,
  type OutOf,
  type Type,
} from '../codec/type.ts';
import type { Reader, Writer } from '../codec/writer.ts';

const LAST_LABEL = 0x100;

/** An MPLS label stack, outermost first. Traffic class and TTL of a stack are the kernel's to set. */
export const labels: Type<number[], readonly number[]> = {
  min: 4,
  max: 4 * 255,
  nested: false,
  write: (w, values) => {
    values.forEach((label, i) => {
      if (!Number.isInteger(label) || label < 0 || label > 0xf_ffff)
        throw new RangeError(`${label} is not an MPLS label`);
      const at = w.reserve(4);
      w.view.setUint32(at, label * 0x1000 + (i === values.length - 1 ? LAST_LABEL : 0), false);
    });
  },
  read: (r, start, end) => {
    const out: number[] = [];
    for (let at = start; at + 4 <= end; at += 4) {
      const entry = r.view.getUint32(at, false);
      out.push(entry >>> 12);
      if ((entry & LAST_LABEL) !== 0) break;
    }
    return out;
  },
};

const SRH_FIXED = 8;

/** `struct ipv6_sr_hdr` (RFC 8754), which holds the segments last one first. */
function writeSegments(w: Writer, segments: readonly string[]): void {
  const at = w.reserve(SRH_FIXED);
  w.bytes.fill(0, at, at + SRH_FIXED);
  w.bytes[at + 1] = segments.length * 2;
  w.bytes[at + 2] = 4;
  w.bytes[at + 3] = segments.length - 1;
  w.bytes[at + 4] = segments.length - 1;
  for (const segment of segments.toReversed()) {
    const parsed = parseIp(segment);
    if (parsed.length !== 16) throw new RangeError(`"${segment}" is not an IPv6 segment`);
    w.raw(parsed);
  }
}

function readSegments(r: Reader, start: number, end: number): string[] {
  const out: string[] = [];
  const count = start + SRH_FIXED <= end ? r.bytes[start + 4]! + 1 : 0;
  for (let i = 0; i < count; i++) {
    const at = start + SRH_FIXED + i * 16;
    if (at + 16 > end) break;
    out.push(formatIp(r.bytes, at, at + 16));
  }
  return out.toReversed();
}

/** A segment list by itself, the first segment to visit first. */
export const segments: Type<string[], readonly string[]> = {
  min: SRH_FIXED,
  max: 0xffff,
  nested: false,
  write: (w, value) => writeSegments(w, value),
  read: (r, start, end) => readSegments(r, start, end),
};

export const seg6Modes = { inline: 0, encap: 1, l2encap: 2, 'encap.red': 3, 'l2encap.red': 4 } as const;
const mode = choice(u32, seg6Modes);
export interface Seg6Tunnel {
  mode: keyof typeof seg6Modes | number;
  segments: string[];
}

/** `struct seg6_iptunnel_encap`: how, then the segment list. */
export const seg6Tunnel: Type<Seg6Tunnel> = {
  min: 4 + SRH_FIXED,
  max: 0xffff,
  nested: false,
  write: (w, value) => {
    mode.write(w, value.mode, value);
    writeSegments(w, value.segments);
  },
  read: (r, start, end, parent) => ({
    mode: mode.read(r, start, start + 4, parent),
    segments: readSegments(r, start + 4, end),
  }),
};

const actions = {
  End: 1,
  'End.X': 2,
  'End.T': 3,
  'End.DX2': 4,
  'End.DX6': 5,
  'End.DX4': 6,
  'End.DT6': 7,
  'End.DT4': 8,
  'End.B6': 9,
  'End.B6.Encaps': 10,
  'End.BM': 11,
  'End.S': 12,
  'End.AS': 13,
  'End.AM': 14,
  'End.BPF': 15,
  'End.DT46': 16,
} as const;

const counters = table('counters', { packets: attr(2, u64), bytes: attr(3, u64), errors: attr(4, u64) });
const flavors = table('flavors', {
  operation: attr(1, u32),
  lcblockBits: attr(2, u8),
  lcnodeFunctionBits: attr(3, u8),
});

export const encaps = {
  mpls: table('mpls', { labels: attr(1, labels), ttl: attr(2, u8) }),
  ip: table('ip', {
    id: attr(1, be64big),
    dst: attr(2, ip4),
    src: attr(3, ip4),
    ttl: attr(4, u8),
    tos: attr(5, u8),
    flags: attr(6, be16),
    options: attr(8, bytes),
  }),
  ip6: table('ip6', {
    id: attr(1, be64big),
    dst: attr(2, ip6),
    src: attr(3, ip6),
    hoplimit: attr(4, u8),
    trafficClass: attr(5, u8),
    flags: attr(6, be16),
    options: attr(8, bytes),
  }),
  seg6: table('seg6', { tunnel: attr(1, seg6Tunnel) }),
  seg6local: table('seg6local', {
    action: attr(1, choice(u32, actions)),
    segments: attr(2, segments),
    table: attr(3, u32),
    nh4: attr(4, ip4),
    nh6: attr(5, ip6),
    iif: attr(6, u32),
    oif: attr(7, u32),
    bpf: attr(8, bytes),
    vrfTable: attr(9, u32),
    counters: attr(10, counters),
    flavors: attr(11, flavors),
  }),
};

export const encapType = choice(u16, {
  mpls: 1,
  ip: 2,
  ila: 3,
  ip6: 4,
  seg6: 5,
  bpf: 6,
  seg6local: 7,
  rpl: 8,
  ioam6: 9,
  xfrm: 10,
});

type Tables = Omit<typeof encaps, 'seg6'>;
/** What packets of a route are put into, typed by `type`. */
export type Encap =
  | { [K in keyof Tables]: { readonly type: K } & InOf<Tables[K]> }[keyof Tables]
  | ({ readonly type: 'seg6' } & Seg6Tunnel);
export type SeenEncap =
  { [K in keyof Tables]: { type: K } & OutOf<Tables[K]> }[keyof Tables] | ({ type: 'seg6' } & Seg6Tunnel);

type Wire = { readonly encapType?: keyof typeof encaps; readonly encap?: object };

/** The wire keeps type and contents apart, and the contents of seg6 in one attribute. */
export function wireEncap(encap: Encap | undefined): Wire {
  if (encap === undefined) return {};
  const { type, ...inside } = encap;
  return { encapType: type, encap: type === 'seg6' ? { tunnel: inside } : inside };
}

export function seenEncap(
  type: OutOf<typeof encapType> | undefined,
  inside: object | undefined,
): SeenEncap | undefined {
  if (type === undefined || inside === undefined || inside instanceof Uint8Array) return undefined;
  const members = 'tunnel' in inside ? (inside.tunnel as Seg6Tunnel) : inside;
  return { type, ...members } as SeenEncap;
}
