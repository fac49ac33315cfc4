/** Fixed C structures: header of a message, or payload of an attribute. Members are in the order of the declaration. */
import type { InOf, OutOf, Type } from './type.ts';
import type { Reader, Writer } from './writer.ts';

interface Sized extends Type<unknown, unknown> {
  readonly size: number;
}

/** Bytes without meaning: alignment, or members that nobody uses. */
export interface Pad {
  readonly pad: number;
}
export const pad = (bytes: number): Pad => ({ pad: bytes });

type Members = Record<string, Sized | Pad>;
type Values<M extends Members> = { -readonly [K in keyof M as M[K] extends Pad ? never : K]: OutOf<M[K]> };
type Inputs<M extends Members> = { [K in keyof M as M[K] extends Pad ? never : K]?: InOf<M[K]> | undefined };

/** `In` may leave members out: they are sent as zeros. */
export interface Struct<Out, In = Out> extends Type<Out, In> {
  readonly size: number;
  readonly names: ReadonlySet<string>;
  readonly members: Members;
  readInto(r: Reader, start: number, end: number, out: object): void;
}

/** Newer kernels append members. `min` says how many bytes an older one sends; the members that it lacks are then left out. */
export function struct<M extends Members>(members: M, min?: number): Struct<Values<M>, Inputs<M>> {
  const layout: { key: string; at: number; type: Sized }[] = [];
  let size = 0;
  for (const [key, member] of Object.entries(members)) {
    if ('pad' in member) {
      size += member.pad;
      continue;
    }
    layout.push({ key, at: size, type: member });
    size += member.size;
  }
  const total = size;

  const readInto = (r: Reader, start: number, end: number, out: Record<string, unknown>): void => {
    // By index, as every message comes through here: an iterator would be an object for each member.
    for (let i = 0; i < layout.length; i += 1) {
      const { key, at, type } = layout[i]!;
      const from = start + at;
      if (from + type.size <= end) out[key] = type.read(r, from, from + type.size, out);
    }
  };

  return {
    size: total,
    members,
    min: min ?? total,
    max: 0xffff,
    nested: false,
    names: new Set(layout.map((m) => m.key)),
    write: (w: Writer, value: Inputs<M>) => {
      const start = w.reserve(total);
      w.bytes.fill(0, start, start + total);
      const given = value as Record<string, unknown>;
      for (let i = 0; i < layout.length; i += 1) {
        const { key, at, type } = layout[i]!;
        const member = given[key];
        if (member === undefined) continue;
        w.position = start + at;
        type.write(w, member, value);
      }
      w.position = start + total;
    },
    read: (r, start, end) => {
      const out: Record<string, unknown> = {};
      readInto(r, start, end, out);
      return out as Values<M>;
    },
    readInto: (r, start, end, out) => readInto(r, start, end, out as Record<string, unknown>),
  };
}
