import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseNetwork } from './ranges.ts';

describe('chooseNetwork', () => {
  it.each([
    ['takes the first where nothing is taken', [], 90],
    ['passes over a range of its own size', ['10.90.0.0/16'], 91],
    ['passes over a range that holds one address of ours', ['10.90.7.9'], 91],
    ['passes over all that a wide route covers', ['10.64.0.0/10'], 128],
    ['passes over an address whose network reaches into ours', ['10.91.255.255/15', '10.92.0.1/24'], 93],
    ['ignores ranges elsewhere and words', ['192.168.0.0/16', 'fd00::/8', 'default', '11.90.0.0/16'], 90],
  ])('%s', (_, taken, network) => {
    expect(chooseNetwork(taken)).toBe(network);
  });

  it('gives each of many clusters a range that no other has', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 160 }), (count) => {
        const taken: string[] = [];
        for (let i = 0; i < count; i++) taken.push(`10.${chooseNetwork(taken)}.0.0/16`);
        expect(new Set(taken).size).toBe(count);
      }),
    );
  });

  it('says so when no range is left', () => {
    expect(() => chooseNetwork(['10.0.0.0/8'])).toThrow(/No free range/);
  });
});
