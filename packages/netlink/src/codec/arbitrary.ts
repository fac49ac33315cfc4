/** Random values for any declared table, derived from the declaration itself. For tests only: nothing of the package imports it. */
import * as fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { formatIp, formatMac } from './address.ts';
import { labels, seg6Modes, seg6Tunnel, segments } from '../route/encap.ts';
import { bpfProgram } from '../tc/filter-kinds.ts';
import type { Message } from './message.ts';
import type { Struct } from './struct.ts';
import type { Select, Table } from './table.ts';
import * as types from './type.ts';
import type { Type } from './type.ts';

type AnyType = Type<unknown, unknown>;

const bytesOf = (length: number): Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
const ipOf = (length: number): Arbitrary<string> => bytesOf(length).map((b) => formatIp(b, 0, length));
const big = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });

const eightBits = fc.integer({ min: 0, max: 0xff });
const sixteenBits = fc.integer({ min: 0, max: 0xffff });
const thirtyTwoBits = fc.integer({ min: 0, max: 0xffff_ffff });

const segmentList = fc.array(ipOf(16), { minLength: 1, maxLength: 3 });

const plain = new Map<AnyType, Arbitrary<unknown>>([
  [types.u8, eightBits],
  [types.i8, fc.integer({ min: -0x80, max: 0x7f })],
  [types.u16, sixteenBits],
  [types.be16, sixteenBits],
  [types.u32, thirtyTwoBits],
  [types.be32, thirtyTwoBits],
  [types.i32, fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff })],
  [types.u64, fc.maxSafeNat()],
  [types.u64big, big],
  [types.be64big, big],
  [types.i64big, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [types.bool8, fc.boolean()],
  [types.flag, fc.constant(true)],
  [labels, fc.array(fc.integer({ min: 0, max: 0xf_ffff }), { minLength: 1, maxLength: 4 })],
  [segments, segmentList],
  [seg6Tunnel, fc.record({ mode: fc.constantFrom(...Object.keys(seg6Modes)), segments: segmentList })],
  [bpfProgram, fc.array(fc.tuple(sixteenBits, eightBits, eightBits, thirtyTwoBits), { maxLength: 3 })],
  [types.flagOrByte, fc.constant(true)],
  [types.mac6, bytesOf(6).map((b) => formatMac(b, 0, 6))],
  [types.text, fc.string({ unit: 'binary', maxLength: 40 }).filter((s) => !s.includes('\0') && s.isWellFormed())],
  [types.bytes, fc.uint8Array({ maxLength: 40 })],
  [types.mac, bytesOf(6).map((b) => formatMac(b, 0, 6))],
  [types.ip, fc.oneof(ipOf(4), ipOf(16))],
  [types.ip4, ipOf(4)],
  [types.ip6, ipOf(16)],
]);

/** A value of a type that this file does not know would be guessed, and the test would prove nothing: so it is an error. */
export function valueOf(type: AnyType, depth = 3): Arbitrary<unknown> {
  const known = plain.get(type);
  if (known !== undefined) return known;
  if ('fields' in type) return tableValue(type as Table, depth);
  if ('members' in type) return structValue(type as Struct<unknown, unknown>);
  if ('item' in type) return fc.array(valueOf(type.item as AnyType, depth - 1), { maxLength: 3 });
  if ('names' in type) return fc.constantFrom(...Object.keys(type.names as object));
  if ('sample' in type) return type.sample as Arbitrary<unknown>;
  if ('message' in type) return messageValue(type.message as Message<unknown, unknown>, depth - 1);
  throw new Error(`No random values for a type with ${Object.keys(type).join(', ')}`);
}

function structValue(type: Struct<unknown, unknown>): Arbitrary<object> {
  const members = Object.entries(type.members).filter((entry): entry is [string, AnyType & { size: number }] => {
    return !('pad' in entry[1]);
  });
  return fc.record(Object.fromEntries(members.map(([key, member]) => [key, valueOf(member)])));
}

function tableValue(type: Table, depth: number): Arbitrary<object> {
  if (depth <= 0) return fc.constant({});
  const always: Record<string, Arbitrary<unknown>> = {};
  const chosen: [string, Select<unknown, unknown>][] = [];
  for (const [key, field] of Object.entries(type.fields)) {
    if ('options' in field.type) {
      chosen.push([key, field.type as Select<unknown, unknown>]);
      continue;
    }
    const one = valueOf(field.type, depth - 1);
    always[key] = field.many ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
  }
  let out: Arbitrary<object> = fc.record(always, { requiredKeys: [] });
  for (const [key, { key: by, options }] of chosen) out = withChoice(out, key, by, options, depth);
  return out;
}

function withChoice(
  rest: Arbitrary<object>,
  key: string,
  by: string,
  options: Select<unknown, unknown>['options'],
  depth: number,
): Arbitrary<object> {
  const names = Object.keys(options);
  if (names.length === 0) return rest;
  return fc.tuple(rest, fc.constantFrom(...names)).chain(([value, name]) => {
    const choice = /^\d+$/.test(name) ? Number(name) : name;
    return valueOf(options[name]!, depth - 1).map((data) => Object.assign({}, value, { [by]: choice, [key]: data }));
  });
}

export function messageValue(message: Message<unknown, unknown>, depth = 4): Arbitrary<object> {
  return fc
    .tuple(tableValue(message.attributes, depth), structValue(message.header))
    .map(([attributes, header]) => Object.assign({}, attributes, header));
}
