/** Which packets the tracker wants, as a program for the kernel, and what it reads of them. Offsets are from the IPv4 header. */
import type { CaptureSettings } from '@podloom/netlink';

type Program = CaptureSettings['filter'];

/** Facts about the packet that are not in it: SKF_AD_OFF and what follows, in linux/filter.h. */
const PROTOCOL = 0xffff_f000;
const PACKET_TYPE = 0xffff_f004;
const OUTGOING = 4;
const IPV4 = 0x0800;
const TCP = 6;
const FRAGMENT = 0x1fff;
const SYN = 0x02;

/**
 * The first packet of a connection over IPv4 from here to `port` of someone else; what it returns is how much of it is shown. Only what goes out, or a
 * connection within the pod would count twice.
 */
export const synTo = (port: number, bytes: number): Program => [
  [0x28, 0, 0, PROTOCOL],
  [0x15, 0, 12, IPV4],
  [0x28, 0, 0, PACKET_TYPE],
  [0x15, 0, 10, OUTGOING],
  [0x30, 0, 0, 9], // protocol
  [0x15, 0, 8, TCP],
  [0x28, 0, 0, 6], // place in the whole, where it is a fragment
  [0x45, 6, 0, FRAGMENT],
  [0xb1, 0, 0, 0], // X is the length of the IPv4 header
  [0x48, 0, 0, 2], // destination port
  [0x15, 0, 3, port],
  [0x50, 0, 0, 13], // flags
  [0x45, 0, 1, SYN],
  [0x06, 0, 0, bytes],
  [0x06, 0, 0, 0],
];

/** Whom a packet that passed the filter goes to. */
export const destinationOf = (packet: Uint8Array): string => packet.subarray(16, 20).join('.');
