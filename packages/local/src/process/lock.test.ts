import { expect, it } from 'vitest';
import { withLock } from './lock.ts';

it('lets only one in at a time, and the next after the first failed', async () => {
  const name = `test ${process.pid} ${Math.random()}`;
  const inside: string[] = [];
  const enter = async (who: string, fail: boolean) =>
    withLock(name, async () => {
      inside.push(`${who} in`);
      await new Promise((resolve) => setImmediate(resolve));
      inside.push(`${who} out`);
      if (fail) throw new Error(who);
    });
  const results = await Promise.allSettled([enter('a', true), enter('b', false), enter('c', false)]);
  expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  for (let i = 0; i < inside.length; i += 2) expect(inside[i + 1]).toBe(inside[i]?.replace(' in', ' out'));
});

it('stops waiting when asked to', async () => {
  const name = `test ${process.pid} ${Math.random()}`;
  await withLock(name, async () => {
    await expect(withLock(name, async () => undefined, AbortSignal.timeout(10))).rejects.toThrow(/abort/);
  });
});
