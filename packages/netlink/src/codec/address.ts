/**
 * Text of link-layer and IP addresses, both ways. Own code because the codec needs bytes out of it thousands of times a second,
 * and Node's parsers only say whether a text is valid.
 */

const HEX: string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

export function formatMac(bytes: Uint8Array, start: number, end: number): string {
  if (end <= start) return '';
  let out = HEX[bytes[start]!]!;
  for (let i = start + 1; i < end; i++) out += `:${HEX[bytes[i]!]!}`;
  return out;
}

export function parseMac(text: string): Uint8Array {
  if (!/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){0,31}$/.test(text)) {
    throw new RangeError(`"${text}" is not a link-layer address such as 02:00:00:00:00:01`);
  }
  const out = new Uint8Array((text.length + 1) / 3);
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(text.slice(i * 3, i * 3 + 2), 16);
  return out;
}

export function formatIp(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 4) return `${bytes[start]!}.${bytes[start + 1]!}.${bytes[start + 2]!}.${bytes[start + 3]!}`;
  if (length === 16) return formatIp6(bytes, start);
  return formatMac(bytes, start, end);
}

const hex = (groups: number[]): string => groups.map((g) => g.toString(16)).join(':');

/** RFC 5952: lower case, the longest run of two or more zero groups shortened, the first one if there are several. */
function formatIp6(bytes: Uint8Array, start: number): string {
  const groups: number[] = [];
  for (let i = start; i < start + 16; i += 2) groups.push((bytes[i]! << 8) | bytes[i + 1]!);
  if (groups[5] === 0xffff && groups.slice(0, 5).every((g) => g === 0)) {
    return `::ffff:${formatIp(bytes, start + 12, start + 16)}`;
  }
  let bestAt = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && groups[i + n] === 0) n++;
    if (n > bestLength) {
      bestAt = i;
      bestLength = n;
    }
    i += n;
  }
  if (bestAt < 0) return hex(groups);
  return `${hex(groups.slice(0, bestAt))}::${hex(groups.slice(bestAt + bestLength))}`;
}

export function parseIp(text: string): Uint8Array {
  const parsed = text.includes(':') ? parseIp6(text) : parseIp4(text);
  if (parsed === undefined) throw new RangeError(`"${text}" is not an IP address`);
  return parsed;
}

function parseIp4(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  const out = new Uint8Array(4);
  for (let i = 0; i < 4; i++) {
    const part = parts[i]!;
    const value = Number(part);
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || value > 255) return undefined;
    out[i] = value;
  }
  return out;
}

function parseIp6(text: string): Uint8Array | undefined {
  const lastColon = text.lastIndexOf(':');
  const tail = text.slice(lastColon + 1);
  if (tail.includes('.')) {
    const v4 = parseIp4(tail);
    if (v4 === undefined) return undefined;
    const high = ((v4[0]! << 8) | v4[1]!).toString(16);
    const low = ((v4[2]! << 8) | v4[3]!).toString(16);
    return parseIp6(`${text.slice(0, lastColon + 1)}${high}:${low}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const before = groupsOf(halves[0]!);
  const after = halves.length === 2 ? groupsOf(halves[1]!) : [];
  if (before === undefined || after === undefined) return undefined;
  const missing = 8 - before.length - after.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const out = new Uint8Array(16);
  before.forEach((g, i) => setGroup(out, i, g));
  after.forEach((g, i) => setGroup(out, 8 - after.length + i, g));
  return out;
}

function setGroup(out: Uint8Array, at: number, group: number): void {
  out[at * 2] = group >> 8;
  out[at * 2 + 1] = group & 0xff;
}

function groupsOf(text: string): number[] | undefined {
  if (text === '') return [];
  const out: number[] = [];
  for (const part of text.split(':')) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
    out.push(Number.parseInt(part, 16));
  }
  return out;
}

export const isIp6 = (text: string): boolean => text.includes(':');

/** `10.0.0.1/24` in its parts; without a length, the whole address. */
export function parsePrefix(text: string): { address: string; length: number } {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const bits = parseIp(address).length * 8;
  if (slash < 0) return { address, length: bits };
  const digits = text.slice(slash + 1);
  const length = Number(digits);
  if (!/^\d{1,3}$/.test(digits) || length > bits) throw new RangeError(`"${text}" is not an IP prefix`);
  return { address, length };
}
