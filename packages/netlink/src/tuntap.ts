/** `ip tuntap`: the one kind of link that is made by ioctl on /dev/net/tun instead of a message. */
import { closeSync, openSync } from 'node:fs';
import { ioctl } from './libc.ts';
import { LITTLE } from './codec/writer.ts';
import { NetlinkError, translating } from './wire/error.ts';

const TUNSETIFF = 0x4004_54ca;
const TUNSETPERSIST = 0x4004_54cb;
const TUNSETOWNER = 0x4004_54cc;
const TUNSETGROUP = 0x4004_54ce;
const IFF_TUN = 0x0001;
const IFF_TAP = 0x0002;
const IFF_MULTI_QUEUE = 0x0100;
const IFF_NO_PI = 0x1000;
const IFF_VNET_HDR = 0x4000;
const IFREQ = 40;

export interface TuntapSettings {
  readonly name: string;
  readonly mode: 'tun' | 'tap';
  readonly owner?: number | undefined;
  readonly group?: number | undefined;
  readonly multiQueue?: boolean | undefined;
  readonly vnetHdr?: boolean | undefined;
  /** Frames begin with four bytes of packet information. */
  readonly pi?: boolean | undefined;
}

type Inside = <T>(work: () => T extends Promise<unknown> ? never : T) => T;

export interface Tuntap {
  /** Makes a link that stays without a process; remove it with `link.delete`. */
  add(settings: TuntapSettings): void;
  /** Attaches to a link, making one that lives as long as the descriptor if there is none. The caller closes it. */
  open(settings: TuntapSettings): number;
}

export function tuntapIn(inside: Inside): Tuntap {
  const open = (settings: TuntapSettings): number => inside<number>(() => attach(settings));
  return {
    open: (settings) => translating('tuntap.open', () => open(settings)),
    add: (settings) => {
      translating('tuntap.add', () => {
        const fd = open(settings);
        try {
          if (settings.owner !== undefined) ioctl(fd, TUNSETOWNER, settings.owner);
          if (settings.group !== undefined) ioctl(fd, TUNSETGROUP, settings.group);
          ioctl(fd, TUNSETPERSIST, 1);
        } finally {
          closeSync(fd);
        }
      });
    },
  };
}

function attach(settings: TuntapSettings): number {
  const name = Buffer.from(settings.name);
  if (name.length === 0 || name.length > 15) {
    throw new NetlinkError('tuntap', 22, { kernelMessage: 'a link name has 1 to 15 bytes' });
  }
  const ifreq = Buffer.alloc(IFREQ);
  ifreq.set(name);
  const flags =
    (settings.mode === 'tun' ? IFF_TUN : IFF_TAP) |
    (settings.pi === true ? 0 : IFF_NO_PI) |
    (settings.multiQueue === true ? IFF_MULTI_QUEUE : 0) |
    (settings.vnetHdr === true ? IFF_VNET_HDR : 0);
  if (LITTLE) ifreq.writeUInt16LE(flags, 16);
  else ifreq.writeUInt16BE(flags, 16);
  const fd = openSync('/dev/net/tun', 'r+');
  try {
    ioctl(fd, TUNSETIFF, ifreq);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}
