import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type IpAddress, cidrContains, formatIp, isCidr, isIp, parseCidr, parseIp } from './ip.ts';

/** IPv4 inside IPv6, which is refused on purpose. */
const isMapped = ({ family, value }: IpAddress): boolean => family === 6 && value >> 32n === 0xffffn;

const anyIp = fc
  .oneof(
    fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value) => ({ family: 4 as const, value })),
    fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => ({ family: 6 as const, value })),
    // Addresses with long runs of zeros, where the short form is hard.
    fc.array(fc.constantFrom(0n, 0n, 1n, 0x10n, 0xffffn), { minLength: 8, maxLength: 8 }).map((groups) => ({
      family: 6 as const,
      value: groups.reduce<bigint>((sum, group) => sum * 65536n + group, 0n),
    })),
  )
  .filter((ip) => !isMapped(ip));

describe('addresses', () => {
  it('come back from their text as they were', () => {
    fc.assert(
      fc.property(anyIp, (ip) => {
        expect(parseIp(formatIp(ip))).toEqual(ip);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['0:0:0:0:0:0:0:0', '::'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['fd00:0:0:1:0:0:0:2', 'fd00:0:0:1::2'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['10:0:0:0:0:0:0:0', '10::'],
    ['fd00::10.0.0.1', 'fd00::a00:1'],
    ['1:2:3:4:5:6:255.255.0.1', '1:2:3:4:5:6:ffff:1'],
    ['::1.2.3.4', '::102:304'],
    ['192.168.0.1', '192.168.0.1'],
  ])('are written in one form: %s is %s (RFC 5952)', (text, canonical) => {
    expect(formatIp(parseIp(text))).toBe(canonical);
  });

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.0.0.1',
    '01.2.3.4',
    '1:2:3:4:5:6:7',
    '1::2::3',
    ':::',
    '12345::',
    'fe80::1%eth0',
    '::ffff:1.2.3.4',
    'fd00::10.0.0',
    'fd00::10.0.0.01',
    '10.0.0.1::',
    '1:2:3:4:5:6:7:1.2.3.4',
    'fd00::1.2.3.4:5',
    '::ffff:102:304',
    'g::',
  ])('are not %j', (text) => {
    expect(isIp(text)).toBe(false);
  });
});

describe('ranges', () => {
  it('contain their first and last address and not the neighbours', () => {
    fc.assert(
      fc.property(anyIp, fc.nat(128), (ip, length) => {
        const text = `${formatIp(ip)}/${length % (ip.family === 4 ? 33 : 129)}`;
        const { first, last, family } = parseCidr(text);
        // Of ::/80 the last address is such a one, and so in no range.
        fc.pre([first, last].every((value) => !isMapped({ family, value })));
        const at = (value: bigint) => cidrContains(text, formatIp({ family, value }));
        expect([at(first), at(ip.value), at(last)]).toEqual([true, true, true]);
        expect(first > 0n && at(first - 1n)).toBe(false);
      }),
    );
  });

  it.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', '10.0.0.0/8/8', 'fd00::/129', '/8', '10.0.0.0/'])(
    'are not %j',
    (text) => {
      expect(isCidr(text)).toBe(false);
    },
  );

  it('say what they would like to see', () => {
    expect(() => parseCidr('a')).toThrow('"a" is not an address range such as 192.168.100.0/24');
  });
});
