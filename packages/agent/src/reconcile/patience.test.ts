import { keyOf } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { patience } from './patience.ts';

const key = keyOf({ metadata: { name: 'web', namespace: 'cnf-test' } });

describe('patience', () => {
  it('grows with each failure, and ends when something else is asked for or all is well', () => {
    let nowMs = 0;
    const waiting = patience({ monotonicMs: () => nowMs });
    expect(waiting.leftMs(key, 1)).toBe(0);
    waiting.failed(key, 1);
    expect(waiting.leftMs(key, 1)).toBeGreaterThanOrEqual(50);
    expect(waiting.leftMs(key, 1)).toBeLessThanOrEqual(100);
    nowMs += 100;
    expect(waiting.leftMs(key, 1)).toBe(0);
    for (let times = 0; times < 20; times += 1) waiting.failed(key, 1);
    expect(waiting.leftMs(key, 1)).toBeGreaterThanOrEqual(5_000);
    expect(waiting.leftMs(key, 1)).toBeLessThanOrEqual(10_000);
    expect(waiting.leftMs(key, 2)).toBe(0);
    waiting.forget(key);
    expect(waiting.leftMs(key, 1)).toBe(0);
  });
});
