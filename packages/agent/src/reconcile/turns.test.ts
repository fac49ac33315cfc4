import { describe, expect, it } from 'vitest';
import { turns } from './turns.ts';

describe('turns', () => {
  it('come one after the other, the first at once, with a turn of the event loop for others between them', async () => {
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
    expect(seen).toEqual(['a', 'other', 'b', 'other', 'c']);
  });

  it('are had at once again by who comes when nobody waits', async () => {
    const next = turns();
    await Promise.all([next(), next()]);
    await new Promise((resolve) => setImmediate(resolve));
    let hasTurn = false;
    void next().then(() => (hasTurn = true));
    await Promise.resolve();
    expect(hasTurn).toBe(true);
  });
});
