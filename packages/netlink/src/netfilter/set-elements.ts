/** Elements of nf_tables sets as text, and their keys on the wire; intervals become pairs of a beginning and an end. */
import { formatIp, formatMac, parseIp, parseMac, parsePrefix } from '../codec/address.ts';
import { LITTLE } from '../codec/writer.ts';

/** What a set holds; `name` numbers are those of nft(8), so that it shows our sets as its own. */
const types = {
  ipv4_addr: { id: 7, length: 4 },
  ipv6_addr: { id: 8, length: 16 },
  ether_addr: { id: 9, length: 6 },
  inet_proto: { id: 12, length: 1 },
  inet_service: { id: 13, length: 2 },
  ifname: { id: 41, length: 16 },
} as const;
export type NftType = keyof typeof types;

export interface WireElement {
  readonly key: Uint8Array;
  /** Inclusive; only for intervals of several types together. */
  readonly keyEnd?: Uint8Array;
  /** The key is the first that does not belong to the interval any more. */
  readonly isEnd?: boolean;
}

const padded = (length: number): number => (length + 3) & ~3;

/** Several types together are one key, each part filled up to four bytes. */
export function keyShape(parts: readonly NftType[]): { type: number; length: number; lengths: number[] } {
  const lengths = parts.map((part) => types[part].length);
  const length = parts.length === 1 ? lengths[0]! : lengths.reduce((sum, one) => sum + padded(one), 0);
  return { type: parts.reduce((id, part) => id * 64 + types[part].id, 0), length, lengths };
}

/** What nft(8) keeps beside a set: type 0, four bytes, in whose byte order the key is. Names of links are in the host's. */
export function keyUserData(parts: readonly NftType[]): Uint8Array {
  const order = parts.length > 1 ? 0 : parts[0] === 'ifname' ? 1 : 2;
  const out = Uint8Array.of(0, 4, 0, 0, 0, 0);
  new DataView(out.buffer).setUint32(2, order, LITTLE);
  return out;
}

/** The types of a key, from nft's number for it. */
export function typesOf(id: number): NftType[] | undefined {
  const out: NftType[] = [];
  for (let rest = id; rest > 0; rest = Math.floor(rest / 64)) {
    const found = Object.entries(types).find(([, type]) => type.id === rest % 64);
    if (found === undefined) return undefined;
    out.unshift(found[0] as NftType);
  }
  return out.length === 0 ? undefined : out;
}

function parseOne(type: NftType, text: string): Uint8Array {
  const { length } = types[type];
  let bytes: Uint8Array;
  if (type === 'ipv4_addr' || type === 'ipv6_addr') bytes = parseIp(text);
  else if (type === 'ether_addr') bytes = parseMac(text);
  else if (type === 'ifname')
    bytes = Buffer.concat([Buffer.from(text), Buffer.alloc(16)], Math.max(16, text.length + 1));
  else bytes = parseNumber(text, length);
  if (bytes.length !== length) throw new RangeError(`"${text}" is not of the type ${type}`);
  return bytes;
}

function parseNumber(text: string, length: number): Uint8Array {
  if (!/^\d{1,5}$/.test(text)) throw new RangeError(`"${text}" is not a number`);
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(Number(text), 0, length); // throws for what does not fit
  return bytes;
}

function formatOne(type: NftType, bytes: Uint8Array): string {
  if (type === 'ipv4_addr' || type === 'ipv6_addr') return formatIp(bytes, 0, bytes.length);
  if (type === 'ether_addr') return formatMac(bytes, 0, bytes.length);
  if (type === 'ifname') return Buffer.from(bytes).toString('utf8').replace(/\0.*$/s, '');
  return String(Buffer.from(bytes).readUIntBE(0, bytes.length));
}

/** First and last of `10.0.0.0/24`, `10.0.0.1-10.0.0.9` or a single value. */
function parseRange(type: NftType, text: string): [first: Uint8Array, last: Uint8Array] {
  const dash = type === 'ifname' ? -1 : text.indexOf('-');
  if (dash > 0) return [parseOne(type, text.slice(0, dash)), parseOne(type, text.slice(dash + 1))];
  if (!text.includes('/') || type === 'ifname') {
    const one = parseOne(type, text);
    return [one, one];
  }
  const { address, length } = parsePrefix(text);
  const base = parseOne(type, address);
  const wild = (i: number): number => 0xff >> Math.min(8, Math.max(0, length - i * 8));
  return [base.map((byte, i) => byte & ~wild(i)), base.map((byte, i) => byte | wild(i))];
}

const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length === 1 ? parts[0]! : Buffer.concat(parts.map((part) => Buffer.concat([part], padded(part.length))));

/** An element is one text a part, joined by ` . ` as nft(8) writes it. */
export function elementsToWire(
  parts: readonly NftType[],
  interval: boolean,
  elements: readonly string[],
): WireElement[] {
  return elements.flatMap((element): WireElement[] => {
    const texts = element.split(' . ');
    if (texts.length !== parts.length) throw new RangeError(`"${element}" does not have ${parts.length} parts`);
    if (!interval) return [{ key: joined(texts.map((text, i) => parseOne(parts[i]!, text))) }];
    const ranges = texts.map((text, i) => parseRange(parts[i]!, text));
    const first = joined(ranges.map(([low]) => low));
    const last = joined(ranges.map(([, high]) => high));
    if (parts.length > 1) return [{ key: first, keyEnd: last }];
    const after = next(last);
    return after === undefined ? [{ key: first }] : [{ key: first }, { key: after, isEnd: true }];
  });
}

/** The following number; none after the last. */
function next(bytes: Uint8Array): Uint8Array | undefined {
  const out = Uint8Array.from(bytes);
  for (let i = out.length - 1; i >= 0; i--) {
    out[i] = (out[i]! + 1) & 0xff;
    if (out[i] !== 0) return out;
  }
  return undefined;
}

function previous(bytes: Uint8Array): Uint8Array {
  const out = Uint8Array.from(bytes);
  for (let i = out.length - 1; i >= 0; i--) {
    out[i] = (out[i]! - 1) & 0xff;
    if (out[i] !== 0xff) break;
  }
  return out;
}

export function elementsFromWire(parts: readonly NftType[], interval: boolean, seen: readonly WireElement[]): string[] {
  const { length } = keyShape(parts);
  const usable = seen.filter(({ key }) => key.length === length);
  if (!interval) return usable.map(({ key }) => formatKey(parts, key, key));
  if (parts.length > 1) return usable.map(({ key, keyEnd }) => formatKey(parts, key, keyEnd ?? key));
  const sorted = usable.toSorted(
    (a, b) => Buffer.compare(a.key, b.key) || Number(b.isEnd ?? false) - Number(a.isEnd ?? false),
  );
  const out: string[] = [];
  sorted.forEach((element, i) => {
    if (element.isEnd === true) return;
    const end = sorted[i + 1];
    const last = end === undefined ? new Uint8Array(length).fill(0xff) : previous(end.key);
    out.push(formatKey(parts, element.key, last));
  });
  return out;
}

function formatKey(parts: readonly NftType[], first: Uint8Array, last: Uint8Array): string {
  let at = 0;
  return parts
    .map((part) => {
      const { length } = types[part];
      const text = formatRange(part, first.subarray(at, at + length), last.subarray(at, at + length));
      at += padded(length);
      return text;
    })
    .join(' . ');
}

function formatRange(type: NftType, first: Uint8Array, last: Uint8Array): string {
  const low = formatOne(type, first);
  if (Buffer.compare(first, last) === 0) return low;
  const length = type === 'ipv4_addr' || type === 'ipv6_addr' ? prefixLength(first, last) : undefined;
  return length === undefined ? `${low}-${formatOne(type, last)}` : `${low}/${length}`;
}

const bits = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');

/** The length of the prefix that is exactly this range, if there is one. */
function prefixLength(first: Uint8Array, last: Uint8Array): number | undefined {
  const low = bits(first);
  const high = bits(last);
  let same = 0;
  while (same < low.length && low[same] === high[same]) same++;
  return /^0*$/.test(low.slice(same)) && /^1*$/.test(high.slice(same)) ? same : undefined;
}
