/**
 * How long to wait after the n-th failure in a row: doubling from `minMs` to `maxMs`, less a random share of up to half, so that many
 * that failed together do not come back together.
 */

export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
}

export function backoffMs(failures: number, { minMs, maxMs }: Backoff, random: () => number = Math.random): number {
  const fullMs = Math.min(maxMs, minMs * 2 ** Math.min(Math.max(failures - 1, 0), 40));
  return fullMs * (1 - random() / 2);
}
