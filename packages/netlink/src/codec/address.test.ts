/** Text of addresses, with Node's own URL parser as the other opinion on what is canonical. */
import * as fc from 'fast-check';
import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { formatIp, formatMac, parseIp, parseMac, parsePrefix } from './address.ts';

const bytesOf = (length: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: length, maxLength: length });
/** Zeros are what shortening is about. */
const ip6 = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 }).map((groups) => {
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
});

describe('IP addresses', () => {
  it('come back from text as they were', () => {
    fc.assert(
      fc.property(fc.oneof(bytesOf(4), ip6), (bytes) => {
        const text = formatIp(bytes, 0, bytes.length);
        expect(isIP(text)).toBe(bytes.length === 4 ? 4 : 6);
        expect(parseIp(text)).toEqual(bytes);
      }),
    );
  });

  it('are shortened as RFC 5952 says', () => {
    fc.assert(
      fc.property(ip6, (bytes) => {
        const text = formatIp(bytes, 0, 16);
        fc.pre(!text.includes('.')); // URLs write mapped IPv4 in hexadecimal
        expect(`[${text}]`).toBe(new URL(`http://[${text}]/`).hostname);
      }),
    );
    expect(formatIp(parseIp('::ffff:192.0.2.1'), 0, 16)).toBe('::ffff:192.0.2.1');
  });

  it('are refused exactly where Node refuses them', () => {
    const almost = fc.string({ unit: fc.constantFrom(...'0123456789abcf:.'.split('')), maxLength: 24 });
    fc.assert(
      fc.property(fc.oneof(almost, fc.ipV4(), fc.ipV6()), (text) => {
        let parsed: boolean;
        try {
          parsed = parseIp(text).length > 0;
        } catch {
          parsed = false;
        }
        expect(parsed).toBe(isIP(text) !== 0);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', 'fd00::/129', '10.0.0/8'])('refuse the prefix %s', (text) => {
    expect(() => parsePrefix(text)).toThrow(RangeError);
  });
});

describe('link-layer addresses', () => {
  it('come back from text as they were', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 32 }), (bytes) => {
        expect(parseMac(formatMac(bytes, 0, bytes.length))).toEqual(bytes);
      }),
    );
  });

  it.each(['', '2:00:00:00:00:01', '02-00-00-00-00-01', '02:00:00:00:00:0g'])('refuse %s', (text) => {
    expect(() => parseMac(text)).toThrow(RangeError);
  });
});
