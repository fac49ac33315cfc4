/** Addresses as texts: one spelling for each, so that they can be compared, and the fe80:: address that follows from a MAC. */
import { type IpAddress, formatIp, parseCidr } from '@podloom/api';
import { linkLocalOf } from './mac.ts';

/** fd00::0002/64 and fd00::2/64 are the same address. */
export function canonicalAddress(text: string): string {
  const { family, address, prefixLength } = parseCidr(text);
  return `${formatIp({ family, value: address })}/${prefixLength}`;
}

/** The range that an address with prefix length lies in. */
export function rangeOf(text: string): string {
  const { family, first, prefixLength } = parseCidr(text);
  return `${formatIp({ family, value: first })}/${prefixLength}`;
}

export function ipOf(text: string): IpAddress {
  const { family, address } = parseCidr(text);
  return { family, value: address };
}

/** The fe80:: address that follows from a MAC. */
export const linkLocalAddress = (mac: string): string => `${formatIp({ family: 6, value: linkLocalOf(mac) })}/64`;

export const isLinkLocal = (text: string): boolean => {
  const { family, value } = ipOf(text);
  return family === 6 && value >> 118n === 0xfe80n >> 6n;
};
