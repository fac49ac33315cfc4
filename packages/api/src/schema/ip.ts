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
  if (octets.length !== 4 || !octets.every((octet) => /^(?:0|[1-9]\d{0,2})$/.test(octet) && Number(octet) <= 255))
    return undefined;
  return octets.reduce((value, octet) => value * 256n + BigInt(octet), 0n);
}

/** The last two groups may be written as an IPv4 address. */
function ipv6Value(text: string): bigint | undefined {
  const [, before, dotted] = /^(.*:)([\d.]*\.[\d.]*)$/.exec(text) ?? [];
  if (dotted !== undefined) {
    const low = ipv4Value(dotted);
    return low === undefined
      ? undefined
      : ipv6Value(`${before}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => '0'), ...tail];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  const value = groups.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
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
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  const zeros = [...groups.join(':').matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)].map((match) => match[0]);
  const longest = zeros.toSorted((a, b) => b.length - a.length)[0];
  if (longest === undefined) return groups.join(':');
  const text = groups.join(':');
  const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
}
