/**
 * Classic BPF with names for the places that are jumped to. Conditional jumps reach 255 instructions only, so programs jump
 * conditionally over a few and use `goto` for the rest; the assembler refuses what would not fit.
 */
import { Bug } from '@podloom/api';
import type { Instruction } from '../step.ts';

const codes = {
  ldWord: 0x20,
  ldHalf: 0x28,
  ldByte: 0x30,
  ldByteAtX: 0x50,
  ldHalfAtX: 0x48,
  ldLength: 0x80,
  /** X = 4 × (low nibble): the length of an IPv4 header. */
  ldxIpv4Header: 0xb1,
  add: 0x04,
  and: 0x54,
  shiftLeft: 0x64,
  toX: 0x07,
  goto: 0x05,
  ifEqual: 0x15,
  ifGreaterOrEqual: 0x35,
  ifGreaterThanX: 0x2d,
  ifAnyBit: 0x45,
  return: 0x06,
} as const;

type Operation = keyof typeof codes;
type Condition = 'ifEqual' | 'ifGreaterOrEqual' | 'ifGreaterThanX' | 'ifAnyBit';
/** Where the jump goes: a label, or undefined for the next instruction. */
type Target = string | undefined;
type Line =
  | { readonly label: string }
  | { readonly op: Operation; readonly k: number; readonly yes: Target; readonly no: Target };

export class Assembler {
  readonly #lines: Line[] = [];
  #labels = 0;

  /** A label that no one else has. */
  newLabel(): string {
    this.#labels += 1;
    return `L${this.#labels}`;
  }

  label(label: string): this {
    this.#lines.push({ label });
    return this;
  }

  op(op: Exclude<Operation, 'goto' | Condition>, k = 0): this {
    this.#lines.push({ op, k, yes: undefined, no: undefined });
    return this;
  }

  jump(op: Condition, k: number, yes: Target, no?: Target): this {
    this.#lines.push({ op, k, yes, no });
    return this;
  }

  goto(label: string): this {
    this.#lines.push({ op: 'goto', k: 0, yes: label, no: undefined });
    return this;
  }

  assemble(): Instruction[] {
    const places = new Map<string, number>();
    let next = 0;
    for (const line of this.#lines) {
      if ('label' in line) places.set(line.label, next);
      else next += 1;
    }
    const lines = this.#lines.flatMap((line) => ('label' in line ? [] : line));
    return lines.map(({ op, k, yes, no }, at): Instruction => {
      const distance = (target: Target): number => {
        const place = target === undefined ? at + 1 : places.get(target);
        if (place === undefined || place <= at) throw new Bug('FILTER_JUMP', `Filter jumps to ${target ?? 'nowhere'}`);
        return place - at - 1;
      };
      if (op === 'goto') return [codes.goto, 0, 0, distance(yes)];
      const [jt, jf] = [distance(yes), distance(no)];
      if (jt > 255 || jf > 255) throw new Bug('FILTER_JUMP', 'Filter jumps too far');
      return [codes[op], jt, jf, k >>> 0];
    });
  }
}

/**
 * What an observed program is compared by; the agent makes it of the instructions that the kernel shows. Two sums of 32 bits, because one is made with every
 * look at a port.
 */
export function programDigest(program: readonly Instruction[]): string {
  let [a, b] = [0x811c9dc5, 0x2545f491];
  // By index: where code is not compiled, taking apart a list makes an iterator and an object for each of its items.
  for (let i = 0; i < program.length; i += 1) {
    const instruction = program[i]!;
    const head = (instruction[0] << 16) | (instruction[1] << 8) | instruction[2];
    const k = instruction[3];
    a = Math.imul(Math.imul(a ^ head, 0x01000193) ^ k, 0x01000193);
    b = Math.imul(Math.imul(b ^ k, 0x85ebca6b) ^ head, 0xc2b2ae35);
    b ^= b >>> 15;
  }
  return `${program.length} ${a >>> 0} ${b >>> 0}`;
}
