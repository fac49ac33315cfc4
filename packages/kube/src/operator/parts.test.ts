/** Parts in virtual time. */
import { Unavailable } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import type { Client } from '../client/client.ts';
import { aborted } from '../clock/clock.ts';
import { manualClock, settle } from '../clock/manual.ts';
import { createLog } from '../process/log.ts';
import { createMetrics } from '../process/metrics.ts';
import { runnable } from './parts.ts';
import type { Part, PartContext } from './parts.ts';

const events = { normal: () => undefined, warning: () => undefined, ended: Promise.resolve() };

function running(...parts: Part[]) {
  const clock = manualClock();
  const metrics = createMetrics();
  const logged: Record<string, unknown>[] = [];
  const log = createLog({
    name: 'test',
    write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>),
  });
  // No part of these tests asks the server.
  const all = runnable(parts, { client: {} as Client, metrics, events, clock, log });
  const stop = new AbortController();
  const ended = all.run(stop.signal);
  const readyz = () => Object.fromEntries(Object.entries(all.checks).map(([name, check]) => [name, check()]));
  const end = async (): Promise<void> => {
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  };
  return { all, clock, metrics, logged, stop, ended, readyz, end };
}

/** Works until it is told to stop, and notes each start and end. */
function part(name: string, start?: (context: PartContext, howOften: number) => Promise<void>) {
  const story: string[] = [];
  let starts = 0;
  const one: Part = {
    name,
    async start(context) {
      starts += 1;
      story.push('start');
      await start?.(context, starts);
      await aborted(context.signal);
      story.push('end');
    },
  };
  return { ...one, story };
}

const failing = (times: number) =>
  part('weak', (_, howOften) =>
    howOften <= times ? Promise.reject(new Unavailable('AWAY', 'It is away')) : Promise.resolve(),
  );

describe('parts', () => {
  it('work side by side until they are told to stop, and can be run again', async () => {
    const [one, two] = [part('one'), part('two')];
    const world = running(one, two);
    await settle();
    expect(one.story).toEqual(['start']);
    await world.end();
    expect(two.story).toEqual(['start', 'end']);
    const again = new AbortController();
    const ended = world.all.run(again.signal);
    again.abort();
    await ended;
    expect(one.story).toEqual(['start', 'end', 'start', 'end']);
  });

  it('end only when the last of them has', async () => {
    const cleared = Promise.withResolvers<void>();
    const slow: Part = {
      name: 'slow',
      async start({ signal }) {
        await aborted(signal);
        await cleared.promise;
      },
    };
    const world = running(slow, part('quick'));
    await settle();
    let isOver = false;
    void world.ended.then(() => (isOver = true));
    world.stop.abort();
    await settle();
    expect(isOver).toBe(false);
    cleared.resolve();
    await world.ended;
  });

  it('are started again after a failure, later each time, while the others go on', async () => {
    const [weak, strong] = [failing(3), part('strong')];
    const world = running(weak, strong);
    await settle();
    expect(weak.story).toEqual(['start']);
    await world.clock.advance(999 / 2);
    expect(weak.story).toHaveLength(1);
    await world.clock.advance(1_000 + 2_000 + 4_000);
    expect(weak.story).toEqual(['start', 'start', 'start', 'start']);
    expect(strong.story).toEqual(['start']);
    expect(await world.metrics.text()).toContain('podloom_part_failures_total{part="weak"} 3');
    const waits = world.logged.map(({ part: whose, againMs }) => [whose, againMs as number] as const);
    expect(waits.map(([whose]) => whose)).toEqual(['weak', 'weak', 'weak']);
    waits.forEach(([, ms], i) => {
      expect(ms).toBeGreaterThanOrEqual(500 * 2 ** i);
      expect(ms).toBeLessThanOrEqual(1_000 * 2 ** i);
    });
    await world.end();
  });

  it('are given a minute at most before they are started again, and a second after they have worked for long', async () => {
    const often = failing(10);
    const world = running(often);
    await world.clock.advance(600_000);
    const longest = Math.max(...world.logged.map(({ againMs }) => againMs as number));
    expect(longest).toBeLessThanOrEqual(60_000);
    await world.end();

    const late = part('late', async ({ clock }, howOften) => {
      if (howOften > 1) return;
      await new Promise<void>((resolve) => clock.after(3_600_000, resolve));
      throw new Unavailable('AWAY', 'It is away');
    });
    const other = running(late);
    await other.clock.advance(3_600_000);
    await other.clock.advance(1_000);
    expect(late.story).toEqual(['start', 'start']);
    await other.end();
  });

  it('leave nothing running of a start that failed', async () => {
    const signals: AbortSignal[] = [];
    const weak = part('weak', ({ signal }, howOften) => {
      signals.push(signal);
      return howOften === 1 ? Promise.reject(new Unavailable('AWAY', 'It is away')) : Promise.resolve();
    });
    const world = running(weak);
    await world.clock.advance(1_000);
    expect(signals.map(({ aborted: isOver }) => isOver)).toEqual([true, false]);
    await world.end();
  });

  it('say whether they are ready, each by itself', async () => {
    let isFilled = false;
    const filling = part('filling', ({ readiness }) => {
      readiness(() => isFilled || 'not filled yet');
      return Promise.resolve();
    });
    const world = running(filling, failing(1), part('plain'));
    await settle();
    expect(world.readyz()).toEqual({
      filling: 'not filled yet',
      weak: 'failed, will be started again: It is away',
      plain: true,
    });
    isFilled = true;
    await world.clock.advance(1_000);
    expect(world.readyz()).toEqual({ filling: true, weak: true, plain: true });
    await world.end();
    // Who stands by is ready to take over.
    expect(world.readyz()).toEqual({ filling: true, weak: true, plain: true });
  });

  it('are started again when they end by themselves, which is an error', async () => {
    let starts = 0;
    const world = running({ name: 'short', start: async () => void (starts += 1) });
    await world.clock.advance(1_000);
    expect(starts).toBe(2);
    expect(world.logged[0]).toMatchObject({ part: 'short', err: { code: 'PART_ENDED' } });
    await world.end();
  });

  it('do not fail by being stopped in the middle of work', async () => {
    const busy: Part = {
      name: 'busy',
      async start({ signal }) {
        await aborted(signal);
        signal.throwIfAborted();
      },
    };
    const world = running(busy);
    await settle();
    await world.end();
    expect(await world.metrics.text()).not.toContain('podloom_part_failures_total{');
  });
});
