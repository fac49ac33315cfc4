import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIp, formatMac } from '../codec/address.ts';
import { elementsFromWire, elementsToWire, keyShape, typesOf, type NftType } from './set-elements.ts';

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const texts: Record<NftType, fc.Arbitrary<string>> = {
  ipv4_addr: bytesOf(4).map((b) => formatIp(b, 0, 4)),
  ipv6_addr: bytesOf(16).map((b) => formatIp(b, 0, 16)),
  ether_addr: bytesOf(6).map((b) => formatMac(b, 0, 6)),
  inet_proto: fc.nat(0xff).map(String),
  inet_service: fc.nat(0xffff).map(String),
  ifname: fc.stringMatching(/^[a-z0-9]{1,15}$/),
};
const anyType = fc.constantFrom(...(Object.keys(texts) as NftType[]));
const anyTypes = fc.array(anyType, { minLength: 1, maxLength: 4 });
const dotted = (n: number): string => [24, 16, 8, 0].map((shift) => (n >>> shift) & 0xff).join('.');

describe('elements of sets', () => {
  it('come back as they were given, of any type and several together', () => {
    const anySet = anyTypes.chain((parts) =>
      fc.tuple(
        fc.constant(parts),
        fc.array(fc.tuple(...parts.map((part) => texts[part])).map((one) => one.join(' . '))),
      ),
    );
    fc.assert(
      fc.property(anySet, ([parts, elements]) => {
        const wire = elementsToWire(parts, false, elements);
        expect(wire.every(({ key }) => key.length === keyShape(parts).length)).toBe(true);
        expect(elementsFromWire(parts, false, wire)).toEqual(elements);
        expect(typesOf(keyShape(parts).type)).toEqual(parts);
      }),
    );
  });

  it('of ranges come back sorted, whatever order the kernel shows them in', () => {
    const bounds = fc.uniqueArray(fc.nat(0xffff_ffff), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(bounds, fc.infiniteStream(fc.nat()), (given, random) => {
        const sorted = given.toSorted((a, b) => a - b);
        const ranges = sorted.flatMap((low, i) =>
          i % 2 === 0 && i + 1 < sorted.length ? [[low, sorted[i + 1]!]] : [],
        );
        // Neighbours that touch would be one range, which is right but not what was given.
        fc.pre(ranges.every(([low], i) => i === 0 || low! > ranges[i - 1]![1]! + 1));
        const elements = ranges.map(([low, high]) => `${dotted(low!)}-${dotted(high!)}`);
        const wire = elementsToWire(['ipv4_addr'], true, elements);
        const order = new Map(wire.map((one) => [one, random.next().value]));
        const shuffled = wire.toSorted((a, b) => order.get(a)! - order.get(b)!);
        const back = elementsFromWire(['ipv4_addr'], true, shuffled);
        expect(elementsToWire(['ipv4_addr'], true, back)).toEqual(wire);
        expect(back).toHaveLength(elements.length);
      }),
    );
  });

  it.each(['10.0.0.0/8', '0.0.0.0/0', '255.255.255.255', '10.0.0.1', '10.0.0.1-10.0.0.4', '128.0.0.0/1'])(
    'of the range %s come back as written',
    (element) => {
      expect(elementsFromWire(['ipv4_addr'], true, elementsToWire(['ipv4_addr'], true, [element]))).toEqual([element]);
    },
  );

  it.each<[NftType, string]>([
    ['ipv4_addr', 'fd00::1'],
    ['ipv6_addr', '10.0.0.1'],
    ['ether_addr', '02:00'],
    ['inet_service', '65536'],
    ['inet_service', 'http'],
    ['ifname', 'a-name-that-is-too-long'],
    ['ipv4_addr', '10.0.0.1 . 80'],
  ])('of the type %s refuse %s', (type, element) => {
    expect(() => elementsToWire([type], false, [element])).toThrow(RangeError);
  });
});
