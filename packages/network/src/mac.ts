/**
 * MAC addresses that follow from what they belong to, so that a pod which comes back with its address has its MAC as well and
 * no neighbour holds a stale one. Locally administered, unicast. The first byte tells the sort, so that sorts never meet:
 * 02 an IPv4 address (held whole: no two addresses of a network share a MAC), 06 an IPv6 address, 0a anything else.
 */
import { isIp, parseIp } from '@podloom/api';
import { hash64 } from './hash.ts';

const asMac = (first: number, rest: bigint): string =>
  [BigInt(first), 32n, 24n, 16n, 8n, 0n]
    .map((shift, i) => (i === 0 ? BigInt(first) : (rest >> shift) & 255n).toString(16).padStart(2, '0'))
    .join(':');

export function deriveMac(networkId: string, address: string): string {
  if (!isIp(address)) return asMac(0x0a, hash64(`${networkId} ${address}`));
  const { family, value } = parseIp(address);
  return family === 4
    ? asMac(0x02, ((hash64(networkId) & 255n) << 32n) | value)
    : asMac(0x06, hash64(`${networkId} ${value.toString(16)}`));
}

/** MAC of a network's bridge and of all its ports on every node: a frame to any of them meets the same rules. */
export const gatewayMac = (networkId: string): string => deriveMac(networkId, 'gateway');

/** The fe80:: address that the kernel makes of a MAC (RFC 4291, appendix A). */
export function linkLocalOf(mac: string): bigint {
  const bytes = mac.split(':').map((byte) => BigInt(`0x${byte}`));
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n] = bytes;
  const identifier = [a ^ 2n, b, c, 0xffn, 0xfen, d, e, f].reduce((sum, byte) => (sum << 8n) | byte, 0n);
  return (0xfe80n << 112n) | identifier;
}
