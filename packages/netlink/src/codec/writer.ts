/**
 * The two ends of a byte buffer. One writer serves a whole batch and is used again for the next one, so that a request costs no
 * allocation; a reader is a buffer with its view, since making a view per message would cost more than decoding it.
 */
import { endianness } from 'node:os';

/** Netlink is in the host's byte order. */
export const LITTLE = endianness() === 'LE';

export class Writer {
  bytes: Buffer;
  view: DataView;
  position = 0;

  constructor(size = 16_384) {
    this.bytes = Buffer.alloc(size);
    this.view = viewOf(this.bytes);
  }

  /** Makes sure that `n` more bytes fit, and returns where they begin. */
  reserve(n: number): number {
    const at = this.position;
    const end = at + n;
    if (end > this.bytes.length) this.#grow(end);
    this.position = end;
    return at;
  }

  u8(value: number): void {
    const at = this.reserve(1);
    this.bytes[at] = value;
  }

  u16(value: number): void {
    const at = this.reserve(2);
    this.view.setUint16(at, value, LITTLE);
  }

  u32(value: number): void {
    const at = this.reserve(4);
    this.view.setUint32(at, value, LITTLE);
  }

  raw(data: Uint8Array): void {
    const at = this.reserve(data.length);
    this.bytes.set(data, at);
  }

  zeros(n: number): void {
    const at = this.reserve(n);
    this.bytes.fill(0, at, at + n);
  }

  align(): void {
    const rest = this.position & 3;
    if (rest !== 0) this.zeros(4 - rest);
  }

  /** Begins an attribute; give the result to `end`. */
  begin(id: number): number {
    const at = this.reserve(4);
    this.view.setUint16(at + 2, id, LITTLE);
    return at;
  }

  end(at: number): void {
    const length = this.position - at;
    if (length > 0xffff) throw new RangeError(`An attribute of ${length} bytes is longer than netlink can carry`);
    this.view.setUint16(at, length, LITTLE);
    this.align();
  }

  #grow(atLeast: number): void {
    const grown = Buffer.alloc(Math.max(atLeast, this.bytes.length * 2));
    grown.set(this.bytes);
    this.bytes = grown;
    this.view = viewOf(grown);
  }
}

export class Reader {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.view = viewOf(this.bytes);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
