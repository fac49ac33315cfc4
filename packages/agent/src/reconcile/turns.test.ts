import { describe, expect, it } from 'vitest';
import { turns } from './turns.ts';

describe('turns', () => {
  it('come one after the other, with a turn of the event loop for others before each', async () => {
    const next = turns();
    const seen: string[] = [];
    const other = (left: number): void => {
      seen.push('other');
      if (left > 1) setImmediate(() => other(left - 1));
    };
    setImmediate(() => other(3));
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await next();
        seen.push(name);
      }),
    );
    expect(seen).toEqual(['other', 'a', 'other', 'b', 'other', 'c']);
  });
});
