/** For tests: classic BPF as the kernel runs it, with the one ancillary load that the filter uses. */
import type { Instruction } from '../plan/step.ts';

export interface Frame {
  readonly bytes: Uint8Array;
  /** The kernel takes an 802.1Q tag out of the frame and keeps it beside. */
  readonly vlanTag?: boolean;
}

const vlanTagPresent = 0xfffff000 + 48;

/** The return value; 0 where a load is behind the end of the frame. */
export function runFilter(program: readonly Instruction[], { bytes, vlanTag = false }: Frame): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [a, x] = [0, 0];
  const load = (offset: number, size: number): boolean => {
    if (offset + size > bytes.length) return false;
    a = size === 1 ? view.getUint8(offset) : size === 2 ? view.getUint16(offset) : view.getUint32(offset);
    return true;
  };
  for (let at = 0; at < program.length; at += 1) {
    const [code, jt, jf, k] = program[at]!;
    const jump = (holds: boolean): void => {
      at += holds ? jt : jf;
    };
    switch (code) {
      case 0x20:
        if (k === vlanTagPresent) a = vlanTag ? 1 : 0;
        else if (!load(k, 4)) return 0;
        break;
      case 0x28:
        if (!load(k, 2)) return 0;
        break;
      case 0x30:
        if (!load(k, 1)) return 0;
        break;
      case 0x48:
        if (!load(x + k, 2)) return 0;
        break;
      case 0x50:
        if (!load(x + k, 1)) return 0;
        break;
      case 0x80:
        a = bytes.length;
        break;
      case 0xb1:
        if (k >= bytes.length) return 0;
        x = 4 * (view.getUint8(k) & 15);
        break;
      case 0x04:
        a = (a + k) >>> 0;
        break;
      case 0x54:
        a = (a & k) >>> 0;
        break;
      case 0x64:
        a = (a << k) >>> 0;
        break;
      case 0x07:
        x = a;
        break;
      case 0x05:
        at += k;
        break;
      case 0x15:
        jump(a === k);
        break;
      case 0x35:
        jump(a >= k);
        break;
      case 0x2d:
        jump(a > x);
        break;
      case 0x45:
        jump((a & k) !== 0);
        break;
      case 0x06:
        return k;
      default:
        throw new Error(`No such instruction: ${code}`);
    }
  }
  throw new Error('The program ends without return');
}
