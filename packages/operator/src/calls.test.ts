import { settle } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { turns } from './calls.ts';

describe('turns', () => {
  it('lets so many run at a time, in order, and goes on after a failure', async () => {
    const inTurn = turns(2);
    const started: number[] = [];
    const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
    const all = ends.map(({ promise }, i) =>
      inTurn(() => {
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
    await expect(inTurn(async () => 'again')).resolves.toBe('again');
  });
});
