/**
 * What an attribute's payload can be. A type is written once and both encodes and decodes; `min` and `max` are the payload
 * lengths that it understands. A payload of any other length is not an error: the table keeps it as an unknown attribute.
 */
import { parseIp, formatIp, parseMac, formatMac } from './address.ts';
import { LITTLE, type Reader, type Writer } from './writer.ts';

export interface Type<Out, In = Out> {
  readonly min: number;
  readonly max: number;
  /** Set on types that hold attributes; the kernel wants NLA_F_NESTED on those. */
  readonly nested: boolean;
  /** Set on types that are there or not: `false` is not sent. */
  readonly presence?: true;
  write(w: Writer, value: In, parent: object): void;
  read(r: Reader, start: number, end: number, parent: object): Out;
  /** Name of the innermost attribute at `offset`, for the kernel's errors. Absent where there is nothing inside. */
  locate?(r: Reader, start: number, end: number, offset: number, parent: object): string[];
  /** Name of a missing attribute, and the nest at `nest` that lacks it. */
  nameOf?(r: Reader, start: number, end: number, nest: number, id: number, parent: object): string[] | undefined;
}

export type OutOf<T> = T extends Type<infer O, infer _> ? O : never;
export type InOf<T> = T extends Type<infer _, infer I> ? I : never;

const ANY = 0xffff;

function fixed<T>(
  size: number,
  write: (w: Writer, at: number, value: T) => void,
  read: (r: Reader, at: number) => T,
): Type<T> & { readonly size: number } {
  return {
    size,
    min: size,
    max: ANY,
    nested: false,
    write: (w, value) => {
      const at = w.reserve(size);
      write(w, at, value);
    },
    read: (r, start) => read(r, start),
  };
}

/** A number that does not fit would be cut silently by the buffer, and the kernel would be asked for something else. */
export function inRange(value: number, low: number, high: number): number {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new RangeError(`${value} is not a whole number from ${low} to ${high}`);
  }
  return value;
}

const U32 = 0xffff_ffff;
const TWO_32 = 0x1_0000_0000;

export const u8 = fixed<number>(
  1,
  (w, at, v) => void (w.bytes[at] = inRange(v, 0, 0xff)),
  (r, at) => r.bytes[at]!,
);
export const i8 = fixed<number>(
  1,
  (w, at, v) => w.view.setInt8(at, inRange(v, -0x80, 0x7f)),
  (r, at) => r.view.getInt8(at),
);
export const u16 = fixed<number>(
  2,
  (w, at, v) => w.view.setUint16(at, inRange(v, 0, 0xffff), LITTLE),
  (r, at) => r.view.getUint16(at, LITTLE),
);
export const u32 = fixed<number>(
  4,
  (w, at, v) => w.view.setUint32(at, inRange(v, 0, U32), LITTLE),
  (r, at) => r.view.getUint32(at, LITTLE),
);
export const i32 = fixed<number>(
  4,
  (w, at, v) => w.view.setInt32(at, inRange(v, -0x8000_0000, 0x7fff_ffff), LITTLE),
  (r, at) => r.view.getInt32(at, LITTLE),
);
export const be16 = fixed<number>(
  2,
  (w, at, v) => w.view.setUint16(at, inRange(v, 0, 0xffff), false),
  (r, at) => r.view.getUint16(at, false),
);
export const be32 = fixed<number>(
  4,
  (w, at, v) => w.view.setUint32(at, inRange(v, 0, U32), false),
  (r, at) => r.view.getUint32(at, false),
);
/** A counter: exact up to 2^53, and a number because nobody wants to add up bigints. For identifiers there is `u64big`. */
export const u64 = fixed<number>(
  8,
  (w, at, v) => {
    inRange(v, 0, Number.MAX_SAFE_INTEGER);
    w.view.setUint32(at + (LITTLE ? 0 : 4), v % TWO_32, LITTLE);
    w.view.setUint32(at + (LITTLE ? 4 : 0), Math.floor(v / TWO_32), LITTLE);
  },
  (r, at) => r.view.getUint32(at + (LITTLE ? 4 : 0), LITTLE) * TWO_32 + r.view.getUint32(at + (LITTLE ? 0 : 4), LITTLE),
);
export const u64big = fixed<bigint>(
  8,
  (w, at, v) => w.view.setBigUint64(at, v, LITTLE),
  (r, at) => r.view.getBigUint64(at, LITTLE),
);
export const i64big = fixed<bigint>(
  8,
  (w, at, v) => w.view.setBigInt64(at, v, LITTLE),
  (r, at) => r.view.getBigInt64(at, LITTLE),
);
export const be64big = fixed<bigint>(
  8,
  (w, at, v) => w.view.setBigUint64(at, v, false),
  (r, at) => r.view.getBigUint64(at, false),
);

/** The kernel's many u8 that mean yes or no. */
export const bool8: Type<boolean> & { readonly size: number } = fixed<boolean>(
  1,
  (w, at, v) => void (w.bytes[at] = v ? 1 : 0),
  (r, at) => r.bytes[at] !== 0,
);

/** Present or absent, without payload. `false` leaves it out. */
export const flag: Type<true, boolean> = {
  presence: true,
  min: 0,
  max: 0,
  nested: false,
  write: () => undefined,
  read: () => true,
};

/** Asked for by presence, but told as a byte. */
export const flagOrByte: Type<boolean> = {
  presence: true,
  min: 0,
  max: 1,
  nested: false,
  write: () => undefined,
  read: (r, start, end) => start === end || r.bytes[start] !== 0,
};

/** Names for some values of a number; a value without a name stays a number. */
export function choice<const N extends Readonly<Record<string, number>>>(
  number: Type<number> & { readonly size: number },
  names: N,
): Type<keyof N | number> & { readonly size: number; readonly names: N } {
  const byNumber = new Map<number, keyof N>(Object.entries(names).map(([name, value]) => [value, name]));
  return {
    names,
    size: number.size,
    min: number.min,
    max: number.max,
    nested: false,
    write: (w, value, parent) => {
      const found = typeof value === 'number' ? value : names[value];
      if (found === undefined) throw new RangeError(`"${String(value)}" is none of ${Object.keys(names).join(', ')}`);
      number.write(w, found, parent);
    },
    read: (r, start, end, parent) => {
      const value = number.read(r, start, end, parent);
      return byNumber.get(value) ?? value;
    },
  };
}

/** Text that ends in NUL. */
export const text: Type<string> = {
  min: 0,
  max: ANY,
  nested: false,
  write: (w, value) => {
    if (value.includes('\0')) throw new RangeError('Text for the kernel cannot contain a NUL character');
    const n = Buffer.byteLength(value);
    const at = w.reserve(n + 1);
    w.bytes.write(value, at);
    w.bytes[at + n] = 0;
  },
  read: (r, start, end) => readText(r, start, end),
};

/** Short ASCII (names of links, kinds, qdiscs) is built by hand: a call into the runtime costs more than the loop. */
export function readText(r: Reader, start: number, end: number): string {
  const { bytes } = r;
  let short = '';
  for (let i = start; i < end; i++) {
    const code = bytes[i]!;
    if (code === 0) return short;
    if (code > 0x7f || i - start > 24) {
      const nul = bytes.indexOf(0, start);
      return bytes.toString('utf8', start, nul < 0 || nul > end ? end : nul);
    }
    short += String.fromCharCode(code);
  }
  return short;
}

export const bytes: Type<Uint8Array> = {
  min: 0,
  max: ANY,
  nested: false,
  write: (w, value) => w.raw(value),
  read: (r, start, end) => new Uint8Array(r.bytes.subarray(start, end)),
};

/** A link-layer address as text. Six bytes for Ethernet, four or sixteen for tunnels: always colon-separated bytes. */
export const mac: Type<string> = {
  min: 1,
  max: 32,
  nested: false,
  write: (w, value) => w.raw(parseMac(value)),
  read: (r, start, end) => formatMac(r.bytes, start, end),
};

/** The same as a member of a structure, so always of six bytes. */
export const mac6 = fixed<string>(
  6,
  (w, at, value) => {
    const parsed = parseMac(value);
    if (parsed.length !== 6) throw new RangeError(`"${value}" is not an Ethernet address`);
    w.bytes.set(parsed, at);
  },
  (r, at) => formatMac(r.bytes, at, at + 6),
);

/** An IPv4 or IPv6 address as text; the length says which. */
export const ip: Type<string> = {
  min: 4,
  max: 16,
  nested: false,
  write: (w, value) => w.raw(parseIp(value)),
  read: (r, start, end) => formatIp(r.bytes, start, end),
};

function ipOf(length: 4 | 16, family: string): Type<string> & { readonly size: number } {
  return fixed<string>(
    length,
    (w, at, value) => {
      const parsed = parseIp(value);
      if (parsed.length !== length) throw new RangeError(`"${value}" is not an ${family} address`);
      w.bytes.set(parsed, at);
    },
    (r, at) => formatIp(r.bytes, at, at + length),
  );
}
export const ip4 = ipOf(4, 'IPv4');
export const ip6 = ipOf(16, 'IPv6');

/** Values of one fixed-size type, one after the other. */
export function packed<Out, In = Out>(
  item: Type<Out, In> & { readonly size: number },
): Type<Out[], readonly In[]> & { item: Type<Out, In> } {
  return {
    item,
    min: 0,
    max: ANY,
    nested: false,
    write: (w, values, parent) => {
      for (const value of values) item.write(w, value, parent);
    },
    read: (r, start, end, parent) => {
      const out: Out[] = [];
      for (let at = start; at + item.size <= end; at += item.size) out.push(item.read(r, at, at + item.size, parent));
      return out;
    },
  };
}
