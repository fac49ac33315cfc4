import { describe, expect, it } from 'vitest';
import { settle } from '../clock/manual.ts';
import { turns } from './turns.ts';

describe('turns', () => {
  it('lets so many run at a time, in order, and goes on after a failure', async () => {
    const inTurn = turns(2);
    const started: number[] = [];
    const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
    const all = ends.map(({ promise }, i) =>
      inTurn(undefined, () => {
        started.push(i);
        return promise;
      }),
    );
    const outcomes = Promise.allSettled(all);
    await settle();
    expect(started).toEqual([0, 1]);
    ends[1]?.reject(new Error('no'));
    await settle();
    expect(started).toEqual([0, 1, 2]);
    ends[0]?.resolve(0);
    ends[2]?.resolve(2);
    await settle();
    expect(started).toEqual([0, 1, 2, 3]);
    ends[3]?.resolve(3);
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    await expect(inTurn(undefined, async () => 'again')).resolves.toBe('again');
  });

  it('lets who waits give up, without losing the turn of who waits behind', async () => {
    const inTurn = turns(1);
    const end = Promise.withResolvers<string>();
    const stop = new AbortController();
    const first = inTurn(undefined, () => end.promise);
    const second = inTurn(stop.signal, async () => 'second');
    const third = inTurn(undefined, async () => 'third');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    end.resolve('first');
    expect(await Promise.all([first, third])).toEqual(['first', 'third']);
  });
});
