import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

it('doubles from the least to the most, and takes off at most half', () => {
  const full = [1, 2, 3, 4, 5, 100, 10_000].map((n) => backoffMs(n, { minMs: 100, maxMs: 1_000 }, () => 0));
  expect(full).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (n, dice) => {
      const ms = backoffMs(n, { minMs: 100, maxMs: 1_000 }, () => dice);
      return ms >= 50 && ms <= 1_000;
    }),
  );
});
