/** Leadership in virtual time, over lines that fail in every way and order that fast-check can think of. */
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Clock } from '../clock/clock.ts';
import { aborted, delay } from '../clock/clock.ts';
import { manualClock, settle } from '../clock/manual.ts';
import type { ManualClock } from '../clock/manual.ts';
import { silentLog } from '../process/log.ts';
import { runAsLeader } from './election.ts';
import { leaseServer } from './testing/lease-server.ts';
import type { LineState } from './testing/lease-server.ts';

const leaseMs = 15_000;

/** A clock that runs a little fast or slow, and shows another time altogether. */
function skewed(base: Clock, rate: number, offsetMs: number): Clock {
  return {
    now: () => base.now() + offsetMs,
    monotonicMs: () => base.monotonicMs() * rate + offsetMs,
    after: (ms, callback) => base.after(ms / rate, callback),
  };
}

function candidates(clock: ManualClock, rates: readonly number[], { stopMs = 0, stubborn = false } = {}) {
  const server = leaseServer(clock);
  const leading = new Set<number>();
  const history: number[] = [];
  let most = 0;
  const all = rates.map((rate, id) => {
    const line = server.newLine();
    const stop = new AbortController();
    let killed = new AbortController();
    const own = skewed(clock, rate, id * 86_400_000);
    const ended = runAsLeader(
      {
        client: line.client,
        name: 'contested',
        namespace: 'ns',
        identity: `candidate-${id}`,
        leaseMs,
        log: silentLog,
        clock: own,
        random: () => 0.5,
        force: () => {
          leading.delete(id); // as ending the process does; another then starts in its place
          killed.abort();
        },
        lead: async (signal) => {
          killed = new AbortController();
          leading.add(id);
          history.push(id);
          most = Math.max(most, leading.size);
          await Promise.race([aborted(signal), aborted(killed.signal)]);
          if (stopMs > 0) await delay(own, stopMs, killed.signal);
          if (stubborn) await aborted(killed.signal);
          leading.delete(id);
        },
      },
      stop.signal,
    );
    return { id, line, stop, ended };
  });
  return {
    server,
    all,
    leading,
    history,
    mostAtOnce: () => most,
    end: async () => {
      for (const { line, stop } of all) {
        server.setLine(line, 'up');
        stop.abort();
      }
      await clock.advance(leaseMs * 3 + stopMs * 2);
      await Promise.all(all.map(({ ended }) => ended));
      expect(clock.pending).toBe(0);
    },
  };
}

const anyStep = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 20_000 }).map((ms) => ({ ms })) },
  {
    weight: 2,
    arbitrary: fc.record({ who: fc.nat(2), state: fc.constantFrom<LineState>('up', 'down', 'deaf', 'mute') }),
  },
);

describe('runAsLeader', () => {
  it('never has two leaders, and has one again soon after the lines are up', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { maxLength: 40 }),
        fc.array(fc.double({ min: 0.97, max: 1.03, noNaN: true }), { minLength: 3, maxLength: 3 }),
        fc.constantFrom(0, 1_000, 30_000),
        async (steps, rates, stopMs) => {
          const clock = manualClock();
          const world = candidates(clock, rates, { stopMs });
          await clock.advance(0);
          for (const step of steps) {
            if ('ms' in step) await clock.advance(step.ms);
            else world.server.setLine(world.all[step.who]!.line, step.state);
            await settle();
          }
          for (const { line } of world.all) world.server.setLine(line, 'up');
          await clock.advance(leaseMs * 4);
          expect(world.mostAtOnce()).toBe(1);
          expect(world.leading.size).toBe(1);
          await world.end();
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);

  it('leaves the lease free when it stops, and the next one leads at once', async () => {
    const clock = manualClock();
    const { all, leading, server, history, end } = candidates(clock, [1, 1]);
    await clock.advance(1);
    const [first] = [...leading];
    all[first!]!.stop.abort();
    await clock.advance(0);
    await settle();
    expect(history).toEqual([first, 1 - first!]);
    expect(server.current()?.spec).toMatchObject({ holderIdentity: `candidate-${1 - first!}`, leaseTransitions: 1 });
    await end();
    expect(server.current()?.spec?.holderIdentity).toBe('');
  });

  it('has another leader when the lease of one that is heard of no more has run out, and not earlier', async () => {
    const clock = manualClock();
    const { all, leading, server, history, end, mostAtOnce } = candidates(clock, [1, 1]);
    await clock.advance(1);
    const [first] = [...leading];
    server.setLine(all[first!]!.line, 'down');
    // Its last renewal was this moment's.
    await clock.advance(leaseMs - 2);
    expect(history).toEqual([first]);
    await clock.advance(2);
    await settle();
    expect(history).toEqual([first, 1 - first!]);
    expect(mostAtOnce()).toBe(1);
    await end();
  });

  it('goes on renewing while slow work stops, so that nobody else begins', async () => {
    const clock = manualClock();
    const { all, leading, history, end, mostAtOnce } = candidates(clock, [1, 1], { stopMs: 120_000 });
    await clock.advance(1);
    const [first] = [...leading];
    all[first!]!.stop.abort();
    await clock.advance(119_000);
    expect([...leading]).toEqual([first]);
    await clock.advance(2_000);
    expect(history).toEqual([first, 1 - first!]);
    expect(mostAtOnce()).toBe(1);
    await end();
  });

  it('ends work by force, before the lease runs out, when it does not stop by itself', async () => {
    const clock = manualClock();
    const { all, leading, server, end } = candidates(clock, [1], { stubborn: true });
    await clock.advance(1);
    expect(leading.size).toBe(1);
    server.setLine(all[0]!.line, 'down');
    await clock.advance(leaseMs * 0.9 - 2);
    expect(leading.size).toBe(1);
    await clock.advance(2);
    expect(leading.size).toBe(0);
    await end();
  });

  it('gives the lease back and competes no more once the work has ended by itself', async () => {
    const clock = manualClock();
    const server = leaseServer(clock);
    const { client } = server.newLine();
    const lead = vi.fn<() => Promise<void>>(async () => {});
    const log = silentLog;
    await runAsLeader(
      { client, name: 'contested', namespace: 'ns', identity: 'one', log, clock, lead },
      new AbortController().signal,
    );
    expect(lead).toHaveBeenCalledTimes(1);
    expect(server.current()?.spec?.holderIdentity).toBe('');
  });

  it('has a leader again after each of them has lost the lead on a line without answers', async () => {
    const clock = manualClock();
    const { all, leading, history, server, end } = candidates(clock, [1, 1, 1]);
    await clock.advance(1);
    for (const _ of all) {
      const [leader] = [...leading];
      server.setLine(all[leader!]!.line, 'deaf');
      await clock.advance(leaseMs * 1.5);
    }
    expect(new Set(history)).toEqual(new Set([0, 1, 2]));
    expect(leading.size).toBe(0);
    for (const { line } of all) server.setLine(line, 'up');
    await clock.advance(leaseMs * 4);
    expect(leading.size).toBe(1);
    await end();
  });

  it('keeps leading through an outage that is shorter than its patience', async () => {
    const clock = manualClock();
    const { all, history, server, end } = candidates(clock, [1, 1]);
    await clock.advance(1);
    for (let times = 0; times < 5; times += 1) {
      for (const { line } of all) server.setLine(line, times % 2 ? 'down' : 'deaf');
      await clock.advance(6_000);
      for (const { line } of all) server.setLine(line, 'up');
      await clock.advance(6_000);
    }
    expect(history).toHaveLength(1);
    await end();
  });
});
