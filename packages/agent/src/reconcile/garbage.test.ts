import { manualClock } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { garbage } from './garbage.ts';

function setUp() {
  const clock = manualClock();
  const times: number[] = [];
  const leftovers = garbage(clock, () => times.push(clock.monotonicMs()));
  return {
    clock,
    leftovers,
    times,
    look: (pods: number) => {
      for (let i = 0; i < pods; i += 1) leftovers.made();
    },
  };
}

describe('garbage', () => {
  it('is collected once many pods were looked at, and then none for five seconds', async () => {
    const { clock, look, times } = setUp();
    look(100);
    await clock.advance(4_999);
    expect(times).toEqual([]);
    await clock.advance(60_000);
    expect(times).toHaveLength(1);
  });

  it('waits while pods are being looked at', async () => {
    const { clock, look, times } = setUp();
    for (let i = 0; i < 100; i += 1) {
      look(1);
      await clock.advance(1_000);
    }
    expect(times).toEqual([]);
    await clock.advance(4_000);
    expect(times).toHaveLength(1);
  });

  it('is left to V8 after few pods, until they add up', async () => {
    const { clock, look, times } = setUp();
    look(19);
    await clock.advance(60_000);
    expect(times).toEqual([]);
    look(1);
    await clock.advance(60_000);
    look(19);
    await clock.advance(60_000);
    expect(times).toHaveLength(1);
  });

  it('is left where it is when the agent ends', async () => {
    const { clock, leftovers, look, times } = setUp();
    look(100);
    leftovers.stop();
    await clock.advance(60_000);
    expect(times).toEqual([]);
  });
});
