import { describe, expect, it } from 'vitest';
import { holds, quantile, summary, table, type Report } from './report.ts';

const report: Report = {
  title: 'Boiling water',
  ours: 'kettle',
  measurements: [
    { task: 'a litre', who: 'kettle', samples: [2, 1, 3] },
    { task: 'a litre', who: 'candle', samples: [40, 20, 30] },
  ],
  bars: [
    { text: 'a litre', value: 2, limit: 5, unit: 'ms' },
    { text: 'faster than a candle', value: 15, limit: 20, unit: '×', atLeast: true },
  ],
  notes: ['At sea level.'],
};

describe('quantile', () => {
  it.each([
    [0, 1],
    [0.25, 1.75],
    [0.5, 2.5],
    [1, 4],
  ])('%d of four values lies at %d', (q, value) => {
    expect(quantile([4, 2, 1, 3], q)).toBe(value);
  });

  it('refuses to make up a figure for nothing', () => {
    expect(() => quantile([], 0.5)).toThrow('Nothing was measured');
  });
});

describe('a report', () => {
  it('gives every median as a ratio to ours', () => {
    expect(summary(report).rows.map((row) => row.ratioToOurs)).toEqual([1, 15]);
  });

  it('breaks an upper bar above it and a lower bar below it', () => {
    expect(report.bars.map(holds)).toEqual([true, false]);
  });

  it('shows bars in words', () => {
    expect(table(report)).toContain('BROKEN  faster than a candle: 15.0 × (≥ 20 ×)');
  });
});
