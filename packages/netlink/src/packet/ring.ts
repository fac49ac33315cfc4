/**
 * The ring that the kernel and we share for captured packets (TPACKET_V3 of packet(7)): blocks of memory which the kernel fills one after the other
 * and hands over, and which we hand back. A packet is never copied by us; who wants to keep one copies it.
 */
import { LITTLE } from '../codec/writer.ts';
import * as libc from '../libc.ts';

const SOL_PACKET = 263;
const PACKET_RX_RING = 5;
const PACKET_STATISTICS = 6;
const PACKET_VERSION = 10;
const TPACKET_V3 = 2;

/** For a packet of any size that a link here can carry. */
const FRAME_BYTES = 2048;
/** A block that is not full is handed over after so long, so this is how late a lonely packet may be. */
const RETIRE_MS = 100;

/** Offsets in `tpacket_block_desc` and `tpacket3_hdr`; both begin with numbers of 32 bits. */
const block = { status: 8, packets: 12, first: 16 } as const;
const packet = { next: 0, captured: 12, net: 26 } as const;
const HANDED_TO_US = 1;
const HANDED_BACK = 0;

export interface RingStats {
  /** Packets that passed the filter since the last time that this was asked. */
  readonly packets: number;
  /** Those among them for which the ring had no room. */
  readonly dropped: number;
}

export interface Ring {
  /** Calls back for every packet that the kernel has handed over. The bytes are the kernel's again after the call. */
  drain(onPacket: (bytes: Uint8Array) => void): void;
  stats(): RingStats;
  unmap(): void;
}

/** Where in the numbers of 32 bits the block that starts there says whose it is. */
const statusAt = (start: number): number => (start + block.status) / 4;

/** Gives a socket its ring; before it is bound, so that no packet comes by another way. */
export function ringOf(fd: number, blockBytes: number, blocks: number): Ring {
  if (!libc.setIntegerOption(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V3)) {
    throw new libc.SystemCallError('setsockopt', NO_PROTOCOL_OPTION);
  }
  const frames = (blockBytes / FRAME_BYTES) * blocks;
  libc.setOption(fd, SOL_PACKET, PACKET_RX_RING, numbers([blockBytes, blocks, FRAME_BYTES, frames, RETIRE_MS, 0, 0]));
  const mapping = libc.mapShared(fd, blockBytes * blocks);
  const bytes = new Uint8Array(mapping.bytes);
  const view = new DataView(mapping.bytes);
  const status = new Uint32Array(mapping.bytes);
  let next = 0;

  function readBlock(start: number, onPacket: (bytes: Uint8Array) => void): void {
    let at = start + view.getUint32(start + block.first, LITTLE);
    for (let left = view.getUint32(start + block.packets, LITTLE); left > 0; left -= 1) {
      const from = at + view.getUint16(at + packet.net, LITTLE);
      onPacket(bytes.subarray(from, from + view.getUint32(at + packet.captured, LITTLE)));
      at += view.getUint32(at + packet.next, LITTLE);
    }
  }

  return {
    drain(onPacket) {
      // Not more than one round: packets that come faster than we look must not keep everybody else waiting.
      for (let round = 0; round < blocks; round += 1) {
        const start = next * blockBytes;
        if ((Atomics.load(status, statusAt(start)) & HANDED_TO_US) === 0) return;
        try {
          readBlock(start, onPacket);
        } finally {
          Atomics.store(status, statusAt(start), HANDED_BACK);
          next = (next + 1) % blocks;
        }
      }
    },
    stats() {
      const answer = new Uint32Array(3);
      libc.getOption(fd, SOL_PACKET, PACKET_STATISTICS, new Uint8Array(answer.buffer));
      return { packets: answer[0]!, dropped: answer[1]! };
    },
    unmap: () => mapping.unmap(),
  };
}

const NO_PROTOCOL_OPTION = 92;
const numbers = (values: readonly number[]): Uint8Array => new Uint8Array(new Uint32Array(values).buffer);
