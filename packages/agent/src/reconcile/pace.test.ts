import { manualClock, settle } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { pace } from './pace.ts';

function setUp() {
  const clock = manualClock();
  const its = pace(clock);
  const stop = new AbortController();
  return {
    clock,
    stop,
    begin: () => {
      const work = Promise.withResolvers<void>();
      void its.first(() => work.promise);
      return async () => {
        work.resolve();
        await settle();
      };
    },
    report: async (forMs?: number) => {
      let isReported = false;
      void its.calm(stop.signal, forMs).then(() => (isReported = true));
      await settle();
      return () => isReported;
    },
  };
}

describe('pace', () => {
  it('lets a pod that comes alone be reported at once', async () => {
    const { begin, report } = setUp();
    await begin()();
    expect((await report())()).toBe(true);
  });

  it('holds reports back while pods wait for their links', async () => {
    const { clock, begin, report } = setUp();
    const [first, second] = [begin(), begin()];
    const isReported = await report();
    await first();
    expect(isReported()).toBe(false);
    await second();
    await clock.advance(15);
    expect(isReported()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('waits the longer for others to come, the more have come, and no longer than it takes to notice', async () => {
    const { clock, begin, report } = setUp();
    for (let i = 0; i < 11; i += 1) await begin()();
    const isReported = await report();
    await clock.advance(149);
    await begin()();
    await clock.advance(164);
    expect(isReported()).toBe(false);
    await clock.advance(1);
    expect(isReported()).toBe(true);
    for (let i = 0; i < 1_000; i += 1) await begin()();
    const isOver = await report();
    await clock.advance(249);
    expect(isOver()).toBe(false);
    await clock.advance(1);
    expect(isOver()).toBe(true);
    await begin()();
    expect((await report())()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('takes pods that come one soon after the other for many, though none waits for another', async () => {
    const { clock, begin, report } = setUp();
    await begin()();
    expect((await report())()).toBe(true);
    await clock.advance(99);
    await begin()();
    const isReported = await report();
    await clock.advance(14);
    expect(isReported()).toBe(false);
    await clock.advance(1);
    expect(isReported()).toBe(true);
    await clock.advance(85);
    await begin()();
    expect((await report())()).toBe(true);
  });

  it('waits for a pause where one is asked for, and begins anew with each pod that comes', async () => {
    const { clock, begin, report } = setUp();
    await begin()();
    const isOver = await report(100);
    await clock.advance(99);
    const end = begin();
    await clock.advance(50);
    await end();
    await clock.advance(99);
    expect(isOver()).toBe(false);
    await clock.advance(1);
    expect(isOver()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('holds no report back for ever', async () => {
    const { clock, begin, report } = setUp();
    begin();
    const isReported = await report();
    await clock.advance(4_999);
    expect(isReported()).toBe(false);
    await clock.advance(1);
    expect(isReported()).toBe(true);
  });

  it('lets go when everything stops', async () => {
    const { clock, stop, begin, report } = setUp();
    begin();
    const isReported = await report();
    stop.abort();
    await settle();
    expect(isReported()).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
