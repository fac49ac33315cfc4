/**
 * Attribute tables: the one declaration from which a set of attributes is encoded, decoded, typed, and named in errors.
 *
 * Decoding never throws and never looks outside its range: an attribute that the table does not know, or whose payload has a
 * length that its type does not understand, is kept in `unknown` with its number, and written back if the value is sent again.
 */
import { blankOf } from './blank.ts';
import type { InOf, OutOf, Type } from './type.ts';
import { LITTLE, type Reader, type Writer } from './writer.ts';

const TYPE_MASK = 0x3fff;
const NESTED = 0x8000;

export interface UnknownAttribute {
  readonly id: number;
  readonly data: Uint8Array;
}

export interface Field<T extends Type<unknown, unknown>, Many extends boolean> {
  readonly id: number;
  readonly type: T;
  readonly many: Many;
}

/** An attribute: its number in the kernel's header, and what its payload is. */
export const attr = <T extends Type<unknown, unknown>>(id: number, type: T): Field<T, false> => ({
  id,
  type,
  many: false,
});

/** An attribute that occurs any number of times; its value is a list. */
export const many = <T extends Type<unknown, unknown>>(id: number, type: T): Field<T, true> => ({
  id,
  type,
  many: true,
});

type Fields = Record<string, Field<Type<unknown, unknown>, boolean>>;
export type Values<F extends Fields> = {
  -readonly [K in keyof F]?: F[K] extends Field<infer T, true> ? OutOf<T>[] : OutOf<F[K]['type']>;
} & { unknown?: UnknownAttribute[] };
export type Inputs<F extends Fields> = {
  readonly [K in keyof F]?: (F[K] extends Field<infer T, true> ? readonly InOf<T>[] : InOf<F[K]['type']>) | undefined;
} & { readonly unknown?: readonly UnknownAttribute[] | undefined };

interface Compiled {
  readonly key: string;
  readonly id: number;
  /** The number as it is sent: with NLA_F_NESTED where that belongs. */
  readonly wire: number;
  readonly type: Type<unknown, unknown>;
  readonly many: boolean;
  readonly presence: boolean;
  /** The attribute beside it that must be decoded first. */
  readonly after: string | undefined;
  readonly skipped: boolean;
}

type Bag = Record<string, unknown> & { unknown?: UnknownAttribute[] };

export class Table<F extends Fields = Fields> implements Type<Values<F>, Inputs<F>> {
  readonly min = 0;
  readonly max = 0xffff;
  readonly nested: boolean = true;
  readonly name: string;
  readonly fields: F;
  readonly #skip: readonly PropertyKey[];
  readonly #blank: Bag;
  readonly #byId: (Compiled | undefined)[] = [];
  readonly #byKey = new Map<string, Compiled>();

  constructor(name: string, fields: F, skip: readonly PropertyKey[] = [], usual: readonly (keyof F & string)[] = []) {
    this.#skip = skip;
    this.#blank = blankOf(usual);
    this.name = name;
    this.fields = fields;
    for (const [key, { id, type, many }] of Object.entries(fields)) {
      const presence = type.presence === true;
      const after = (type as Partial<Select<unknown, unknown>>).key;
      const wire = type.nested ? id | NESTED : id;
      const compiled: Compiled = { key, id, wire, type, many, presence, after, skipped: skip.includes(key) };
      this.#byId[id] ??= compiled;
      this.#byKey.set(key, compiled);
    }
    for (let id = 0; id < this.#byId.length; id++) this.#byId[id] ??= undefined;
  }

  /** The same table for those who do not want some attributes: they are not decoded at all, which is quick. */
  without(...keys: (keyof F)[]): Table<F> {
    return new Table(this.name, this.fields, keys);
  }

  /** The same table for those who want nothing but these. */
  only(...keys: (keyof F)[]): Table<F> {
    return this.without(...Object.keys(this.fields).filter((key) => !keys.includes(key)));
  }

  /** The same table for a large nest of which the kernel always sends these attributes; see `blankOf`. */
  usually(...keys: (keyof F & string)[]): Table<F> {
    return new Table(this.name, this.fields, this.#skip, keys);
  }

  write(w: Writer, value: Inputs<F>): void {
    this.writeExcept(w, value, undefined);
  }

  /** `others` are keys of the same object that belong to a message's header. A key in neither place is a mistake, and said. */
  writeExcept(w: Writer, value: object, others: ReadonlySet<string> | undefined): void {
    const bag = value as Bag;
    for (const key in bag) {
      const item = bag[key];
      if (item === undefined) continue;
      const field = this.#byKey.get(key);
      if (field !== undefined) {
        if (field.many) for (const one of item as unknown[]) writeOne(w, field, one, bag);
        else writeOne(w, field, item, bag);
      } else if (key === 'unknown') {
        for (const { id, data } of item as UnknownAttribute[]) {
          const at = w.begin(id);
          w.raw(data);
          w.end(at);
        }
      } else if (others === undefined || !others.has(key)) {
        throw new TypeError(`"${key}" is not an attribute of ${this.name}`);
      }
    }
  }

  read(r: Reader, start: number, end: number): Values<F> {
    const out: Bag = { ...this.#blank };
    this.readInto(r, start, end, out);
    return out as Values<F>;
  }

  readInto(r: Reader, start: number, end: number, target: object): void {
    const out = target as Bag;
    const { view } = r;
    const byId = this.#byId;
    let late: number[] | undefined;
    let at = start;
    while (at + 4 <= end) {
      const length = view.getUint16(at, LITTLE);
      if (length < 4 || at + length > end) break;
      const id = view.getUint16(at + 2, LITTLE) & TYPE_MASK;
      const field = id < byId.length ? byId[id] : undefined;
      const size = length - 4;
      if (field?.skipped === true) {
        // asked for without it
      } else if (field === undefined || size < field.type.min || size > field.type.max) {
        if (size > 0 || field === undefined) keepUnknown(r, out, id, at + 4, at + length);
      } else if (field.many) {
        const item = field.type.read(r, at + 4, at + length, out);
        const list = out[field.key] as unknown[] | undefined;
        if (list === undefined) out[field.key] = [item];
        else list.push(item);
      } else if (field.after !== undefined && out[field.after] === undefined) {
        late ??= [];
        late.push(at);
      } else {
        out[field.key] = field.type.read(r, at + 4, at + length, out);
      }
      at += (length + 3) & ~3;
    }
    if (late !== undefined) this.#readLate(r, late, out);
  }

  /** Attributes that came before the one that says what they are. */
  #readLate(r: Reader, late: readonly number[], out: Bag): void {
    for (const at of late) {
      const length = r.view.getUint16(at, LITTLE);
      const field = this.#byId[r.view.getUint16(at + 2, LITTLE) & TYPE_MASK]!;
      out[field.key] = field.type.read(r, at + 4, at + length, out);
    }
  }

  /** Path to the innermost attribute that covers `offset`: `['linkinfo', 'data', 'id']`. */
  locate(r: Reader, start: number, end: number, offset: number): string[] {
    const found = this.#covering(r, start, end, offset);
    if (found === undefined) return [];
    const { field, id, at, length } = found;
    const name = field?.key ?? `#${id}`;
    if (offset === at || field?.type.locate === undefined) return [name];
    return [name, ...field.type.locate(r, at + 4, at + length, offset, this.read(r, start, end))];
  }

  /** Path to the attribute `id` that the nest at `nest` lacks; `nest` is 0 when it lacks at the top. */
  nameOf(r: Reader, start: number, end: number, nest: number, id: number): string[] {
    const inside = nest === 0 ? undefined : this.#covering(r, start, end, nest);
    if (inside?.field?.type.nameOf === undefined) return [this.#byId[id]?.key ?? `#${id}`];
    const { field, at, length } = inside;
    const deeper = nest === at ? 0 : nest;
    const rest = field.type.nameOf?.(r, at + 4, at + length, deeper, id, this.read(r, start, end));
    return [field.key, ...(rest ?? [`#${id}`])];
  }

  #covering(
    r: Reader,
    start: number,
    end: number,
    offset: number,
  ): { field: Compiled | undefined; id: number; at: number; length: number } | undefined {
    let at = start;
    while (at + 4 <= end) {
      const length = r.view.getUint16(at, LITTLE);
      if (length < 4 || at + length > end) return undefined;
      const id = r.view.getUint16(at + 2, LITTLE) & TYPE_MASK;
      if (offset >= at && offset < at + length) return { field: this.#byId[id], id, at, length };
      at += (length + 3) & ~3;
    }
    return undefined;
  }
}

function writeOne(w: Writer, field: Compiled, value: unknown, parent: object): void {
  if (field.presence && value === false) return;
  const at = w.begin(field.wire);
  field.type.write(w, value, parent);
  w.end(at);
}

function keepUnknown(r: Reader, out: Bag, id: number, start: number, end: number): void {
  const data = sliceOf(r, start, end);
  if (out.unknown === undefined) out.unknown = [{ id, data }];
  else out.unknown.push({ id, data });
}

/** A copy, because the buffer is used again for the next datagram. */
const sliceOf = (r: Reader, start: number, end: number): Uint8Array => new Uint8Array(r.bytes.subarray(start, end));

export const table = <F extends Fields>(name: string, fields: F): Table<F> => new Table(name, fields);

/** A payload whose type depends on the attribute `key` beside it, as IFLA_INFO_DATA depends on IFLA_INFO_KIND. */
export interface Select<Out, In> extends Type<Out | Uint8Array, In | Uint8Array> {
  readonly key: string;
  readonly options: Options;
}
type Options = Readonly<Record<string, Type<unknown, unknown> | undefined>>;

/** Where there is no option for the attribute's value, the payload stays bytes. */
export function select<Out, In = Out>(key: string, options: Options): Select<Out, In> {
  const choose = (parent: object): Type<unknown, unknown> | undefined => {
    const name = String((parent as Record<string, unknown>)[key]);
    return Object.hasOwn(options, name) ? options[name] : undefined;
  };
  return {
    key,
    options,
    min: 0,
    max: 0xffff,
    nested: true,
    write: (w, value, parent) => {
      if (value instanceof Uint8Array) {
        w.raw(value);
        return;
      }
      const type = choose(parent);
      if (type === undefined) throw new TypeError(`No table for this ${key}: give its settings as bytes`);
      type.write(w, value, parent);
    },
    read: (r, start, end, parent) => {
      const type = choose(parent);
      const size = end - start;
      if (type === undefined || size < type.min || size > type.max) return sliceOf(r, start, end);
      return type.read(r, start, end, parent) as Out;
    },
    locate: (r, start, end, offset, parent) => choose(parent)?.locate?.(r, start, end, offset, parent) ?? [],
    nameOf: (r, start, end, nest, id, parent) => choose(parent)?.nameOf?.(r, start, end, nest, id, parent),
  };
}

/** Attributes of one type under running numbers (1, 2, 3 …): a list. */
export function list<Out, In>(item: Type<Out, In>, firstId = 1): Type<Out[], readonly In[]> & { item: Type<Out, In> } {
  return {
    item,
    min: 0,
    max: 0xffff,
    nested: true,
    write: (w, values, parent) => {
      let id = firstId;
      for (const value of values) {
        const at = w.begin(item.nested ? id | NESTED : id);
        item.write(w, value, parent);
        w.end(at);
        id++;
      }
    },
    read: (r, start, end, parent) => {
      const out: Out[] = [];
      let at = start;
      while (at + 4 <= end) {
        const length = r.view.getUint16(at, LITTLE);
        if (length < 4 || at + length > end) break;
        const size = length - 4;
        if (size >= item.min && size <= item.max) out.push(item.read(r, at + 4, at + length, parent));
        at += (length + 3) & ~3;
      }
      return out;
    },
  };
}
