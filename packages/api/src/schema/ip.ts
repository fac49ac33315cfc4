/**
 * Addresses and prefixes as numbers, as strict as the API server: what CEL's isIP and isCIDR refuse is refused here, too
 * (leading zeros, zones, IPv4-mapped IPv6), so that a manifest gets one verdict wherever it is checked.
 */
import { InvalidInput } from '../errors.ts';

export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface Cidr {
  readonly family: 4 | 6;
  /** The address as written, host bits included. */
  readonly address: bigint;
  readonly prefixLength: number;
  /** First and last address of the range. */
  readonly first: bigint;
  readonly last: bigint;
}

const bitsOf = (family: 4 | 6): number => (family === 4 ? 32 : 128);

function ipv4Value(text: string): bigint | undefined {
  const octets = text.split('.');
  if (octets.length !== 4) return undefined;
  let value = 0;
  for (const octet of octets) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(octet) || Number(octet) > 255) return undefined;
    value = value * 256 + Number(octet);
  }
  return BigInt(value);
}

/** The last two groups may be written as an IPv4 address. */
function ipv6Value(text: string): bigint | undefined {
  if (text.includes('.')) {
    const dotted = text.lastIndexOf(':') + 1;
    const low = ipv4Value(text.slice(dotted));
    if (dotted === 0 || low === undefined) return undefined;
    return ipv6Value(`${text.slice(0, dotted)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => '0'), ...tail];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  const value = BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`);
  return value >> 32n === 0xffffn ? undefined : value;
}

function ipOf(text: string): IpAddress | undefined {
  const four = ipv4Value(text);
  if (four !== undefined) return { family: 4, value: four };
  const six = ipv6Value(text);
  return six === undefined ? undefined : { family: 6, value: six };
}

function cidrOf(text: string): Cidr | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = ipOf(address);
  if (!ip || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefixLength = Number(length);
  const hostBits = BigInt(bitsOf(ip.family) - prefixLength);
  if (hostBits < 0n) return undefined;
  const first = (ip.value >> hostBits) << hostBits;
  return { family: ip.family, address: ip.value, prefixLength, first, last: first + (1n << hostBits) - 1n };
}

export const isIp = (text: string): boolean => ipOf(text) !== undefined;
export const isCidr = (text: string): boolean => cidrOf(text) !== undefined;

export function parseIp(text: string): IpAddress {
  const ip = ipOf(text);
  if (!ip) throw new InvalidInput('IP_ADDRESS', `"${text}" is not an IPv4 or IPv6 address`);
  return ip;
}

export function parseCidr(text: string): Cidr {
  const cidr = cidrOf(text);
  if (!cidr)
    throw new InvalidInput('CIDR', `"${text}" is not an address range such as 192.168.100.0/24 or fd00:1::/64`);
  return cidr;
}

/** False as well when either text does not parse. */
export function cidrContains(range: string, address: string): boolean {
  const cidr = cidrOf(range);
  const ip = ipOf(address.split('/')[0] ?? '');
  return cidr !== undefined && ip?.family === cidr.family && ip.value >= cidr.first && ip.value <= cidr.last;
}

/** IPv6 in its one canonical form (RFC 5952), so that two spellings of an address compare equal. */
export function formatIp({ family, value }: IpAddress): string {
  if (family === 4) {
    const bits = Number(value);
    return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
  }
  const digits = value.toString(16).padStart(32, '0');
  const groups = Array.from({ length: 8 }, (_, i) => digits.slice(4 * i, 4 * i + 4).replace(/^0{1,3}/, ''));
  const { from, length } = longestZeros(groups);
  if (length < 2) return groups.join(':');
  return `${groups.slice(0, from).join(':')}::${groups.slice(from + length).join(':')}`;
}

/** The first of the longest. */
function longestZeros(groups: readonly string[]): { readonly from: number; readonly length: number } {
  let longest = { from: 0, length: 0 };
  let length = 0;
  for (const [i, group] of groups.entries()) {
    length = group === '0' ? length + 1 : 0;
    if (length > longest.length) longest = { from: i + 1 - length, length };
  }
  return longest;
}
