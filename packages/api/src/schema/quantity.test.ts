import { describe, expect, it } from 'vitest';
import { isQuantity, quantityInNanos } from './quantity.ts';

describe('isQuantity', () => {
  it.each([0, 8, '8', '+8', '0.5', '.5', '5.', '500m', '100n', '1k', '8Gi', '1E', '1e3', '1E-3', '12e+10'])(
    'takes %s',
    (value) => {
      expect(isQuantity(value)).toBe(true);
    },
  );

  it.each([-1, '-1', '', '.', 'x', '1 Gi', '1GB', '1gi', '0x10', '1e', '1e1.5', '1e100', 'Gi', '9'.repeat(33)])(
    'refuses %s',
    (value) => {
      expect(isQuantity(value)).toBe(false);
    },
  );
});

describe('quantityInNanos', () => {
  it.each([
    [0, 0n],
    ['2', 2_000_000_000n],
    ['500m', 500_000_000n],
    ['0.5', 500_000_000n],
    ['.25', 250_000_000n],
    ['1n', 1n],
    ['0.5n', 1n],
    ['1k', 1_000_000_000_000n],
    ['1Ki', 1_024_000_000_000n],
    ['1.5Gi', 1_610_612_736_000_000_000n],
    ['1e3', 1_000_000_000_000n],
    ['1E-3', 1_000_000n],
    ['1E', 10n ** 27n],
    ['1e-20', 1n],
  ] as const)('reads %s', (value, nanos) => {
    expect(quantityInNanos(value)).toBe(nanos);
  });

  it('names what is none', () => {
    expect(() => quantityInNanos('eight')).toThrow('"eight" is no quantity');
  });
});
