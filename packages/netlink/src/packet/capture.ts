/**
 * Listens to packets that pass through a namespace, without touching them: an AF_PACKET socket whose filter runs in the kernel, so that only what
 * is asked for comes here. Packets begin with their network header, whatever link they are on. Needs NET_RAW.
 */
import { LITTLE } from '../codec/writer.ts';
import * as libc from '../libc.ts';
import { whenReady } from '../monitor/poll.ts';
import type { BpfInstruction } from '../tc/filter-kinds.ts';
import { translating } from '../wire/error.ts';
import { ringOf, type Ring, type RingStats } from './ring.ts';

const AF_PACKET = 17;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const ETH_P_ALL = 3;
const SOCKADDR_LL = 20;

const BLOCK_BYTES = 1024 * 1024;
const BLOCKS = 8;

export interface CaptureSettings {
  /** Index of a link. Left out, all links of the namespace, also those that come later. */
  readonly link?: number | undefined;
  /** Classic BPF, with offsets from the network header. What it returns is how many bytes of the packet are wanted. */
  readonly filter: readonly BpfInstruction[];
}

export interface Capture extends Disposable {
  stats(): RingStats;
  close(): void;
}

type Inside = <T>(work: () => T extends Promise<unknown> ? never : T) => T;

/** Calls back for each packet that passes the filter, until it is closed. The bytes are only good during the call. */
export function startCapture(
  inside: Inside,
  { link = 0, filter }: CaptureSettings,
  onPacket: (bytes: Uint8Array) => void,
): Capture {
  return translating('capture', () => {
    // Protocol 0 gets nothing: packets come from `bind` on, when filter and ring are there.
    const fd = inside<number>(() => libc.socket(AF_PACKET, SOCK_DGRAM_CLOEXEC, 0));
    let ring: Ring | undefined;
    try {
      libc.attachFilter(fd, encode(filter));
      ring = ringOf(fd, BLOCK_BYTES, BLOCKS);
      libc.bind(fd, linkAddress(link));
      return listen(fd, ring, onPacket);
    } catch (error) {
      ring?.unmap();
      libc.close(fd);
      throw error;
    }
  });
}

function listen(fd: number, ring: Ring, onPacket: (bytes: Uint8Array) => void): Capture {
  let isClosed = false;
  const stop = whenReady(fd, () => ring.drain(onPacket));
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    stop();
    ring.unmap();
    libc.close(fd);
  };
  return { stats: () => translating('capture.stats', () => ring.stats()), close, [Symbol.dispose]: close };
}

/** `struct sockaddr_ll`: all protocols, because the kernel shows what goes out only to who asks for all. */
function linkAddress(index: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(SOCKADDR_LL));
  view.setUint16(0, AF_PACKET, LITTLE);
  view.setUint16(2, ETH_P_ALL);
  view.setInt32(4, index, LITTLE);
  return new Uint8Array(view.buffer);
}

function encode(program: readonly BpfInstruction[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(program.length * 8));
  for (const [i, [code, jt, jf, k]] of program.entries()) {
    view.setUint16(i * 8, code, LITTLE);
    view.setUint8(i * 8 + 2, jt);
    view.setUint8(i * 8 + 3, jf);
    view.setUint32(i * 8 + 4, k, LITTLE);
  }
  return new Uint8Array(view.buffer);
}
