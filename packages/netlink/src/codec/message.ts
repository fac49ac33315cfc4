/** A message is a fixed header and attributes; as a value it is one flat object of both. */
import { blankOf } from './blank.ts';
import type { Struct } from './struct.ts';
import type { Table } from './table.ts';
import type { InOf, OutOf, Type } from './type.ts';
import type { Reader, Writer } from './writer.ts';

export interface Message<Out, In> {
  readonly name: string;
  readonly header: Struct<unknown, unknown>;
  readonly attributes: Table;
  write(w: Writer, value: In): void;
  read(r: Reader, start: number, end: number): Out;
  /** Dotted path of the attribute at `offset` bytes from `start`, for the kernel's errors. */
  locate(r: Reader, start: number, end: number, offset: number): string | undefined;
  missing(r: Reader, start: number, end: number, nest: number, id: number): string | undefined;
}

/** `usual` are the attributes that the kernel always sends, where a message has many. */
export function message<H extends Struct<unknown, unknown>, T extends Table>(
  name: string,
  header: H,
  attributes: T,
  usual?: readonly string[],
): Message<OutOf<H> & OutOf<T>, InOf<H> & InOf<T>> {
  const first = (header.size + 3) & ~3;
  const h: Type<unknown, unknown> = header;
  const blank = blankOf(usual === undefined ? [] : [...header.names, ...usual]);
  return {
    name,
    header,
    attributes,
    write: (w, value) => {
      h.write(w, value, value);
      w.align();
      attributes.writeExcept(w, value, header.names);
    },
    read: (r, start, end) => {
      const out = { ...blank };
      header.readInto(r, start, end, out);
      attributes.readInto(r, start + first, end, out);
      return out as OutOf<H> & OutOf<T>;
    },
    locate: (r, start, end, offset) => attributes.locate(r, start + first, end, offset).join('.') || undefined,
    missing: (r, start, end, nest, id) => attributes.nameOf(r, start + first, end, nest, id).join('.') || undefined,
  };
}
