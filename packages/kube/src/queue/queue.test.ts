/** The queue against a model that is too simple to be wrong, and the few promises worth a sentence of their own. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { manualClock, settle } from '../clock/manual.ts';
import type { ManualClock } from '../clock/manual.ts';
import { workQueue } from './queue.ts';
import type { Outcome, WorkQueue } from './queue.ts';

const backoff = { minMs: 100, maxMs: 1_000 };
const noJitter = () => 0;
const turn = () => new Promise((resolve) => void setImmediate(resolve));

/** A queue whose runs end when the test says so. */
function world(concurrency: number) {
  const clock = manualClock();
  const finishers = new Map<string, (outcome: Outcome) => void>();
  const starts: string[] = [];
  let most = 0;
  const queue = workQueue<string>({
    clock,
    backoff,
    concurrency,
    random: noJitter,
    run: (key) => {
      if (finishers.has(key)) throw new Error(`${key} runs twice at a time`);
      starts.push(key);
      return new Promise((resolve) => {
        finishers.set(key, resolve);
        most = Math.max(most, finishers.size);
      });
    },
  });
  return {
    clock,
    queue,
    starts,
    running: () => [...finishers.keys()],
    mostAtOnce: () => most,
    finish: async (key: string, outcome: Outcome) => {
      finishers.get(key)?.(outcome);
      finishers.delete(key);
      await settle();
    },
  };
}

/** The same rules, written as plain lists: the line, who runs, who was added meanwhile, who waits until when. */
class Model {
  line: string[] = [];
  running: string[] = [];
  again = new Set<string>();
  waiting = new Map<string, number>();
  failures = new Map<string, number>();
  started: string[] = [];
  nowMs = 0;
  readonly concurrency: number;
  constructor(concurrency: number) {
    this.concurrency = concurrency;
  }

  add(key: string): void {
    if (this.running.includes(key)) this.again.add(key);
    else {
      this.waiting.delete(key);
      if (!this.line.includes(key)) this.line.push(key);
    }
    this.fill();
  }
  addAfter(key: string, ms: number): void {
    if (this.line.includes(key)) return;
    if ((this.waiting.get(key) ?? Infinity) <= this.nowMs + ms) return;
    this.waiting.delete(key); // of two that fall due together, the one that was set first goes first
    this.waiting.set(key, this.nowMs + ms);
  }
  finish(key: string, outcome: Outcome): void {
    this.running = this.running.filter((one) => one !== key);
    const asked = typeof outcome === 'object' ? outcome : undefined;
    const failed = outcome === 'failed' || asked?.failed ? (this.failures.get(key) ?? 0) + 1 : 0;
    this.failures.set(key, failed);
    const backoffMs = failed && Math.min(100 * 2 ** (failed - 1), 1_000);
    if (this.again.delete(key)) this.add(key);
    else if (outcome !== 'done') this.addAfter(key, Math.max(backoffMs, asked?.retryAfterMs ?? 0));
    this.fill();
  }
  advance(ms: number): void {
    const until = this.nowMs + ms;
    for (;;) {
      const [key, due] = [...this.waiting].toSorted((a, b) => a[1] - b[1])[0] ?? ['', Infinity];
      if (due > until) break;
      this.nowMs = due;
      this.waiting.delete(key);
      this.add(key);
    }
    this.nowMs = until;
  }
  fill(): void {
    while (this.running.length < this.concurrency && this.line.length > 0) {
      const key = this.line.shift() ?? '';
      this.waiting.delete(key);
      this.running.push(key);
      this.started.push(key);
    }
  }
}

type Real = ReturnType<typeof world>;
type Command = fc.AsyncCommand<Model, Real>;

async function same(model: Model, real: Real): Promise<void> {
  await settle();
  expect(real.starts).toEqual(model.started);
  expect(real.running().toSorted()).toEqual(model.running.toSorted());
  expect([real.queue.depth, real.queue.running, real.queue.waiting]).toEqual([
    model.line.length,
    model.running.length,
    model.waiting.size,
  ]);
}

function command(
  text: string,
  check: (m: Model) => boolean,
  run: (m: Model, r: Real) => void | Promise<void>,
): Command {
  return {
    check,
    toString: () => text,
    async run(model, real) {
      await run(model, real);
      await same(model, real);
    },
  };
}

const anyKey = fc.constantFrom('a', 'b', 'c', 'd');
const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>('done'),
  fc.constant<Outcome>('failed'),
  fc.integer({ min: 1, max: 3_000 }).map((retryAfterMs) => ({ retryAfterMs })),
  fc.integer({ min: 0, max: 3_000 }).map((retryAfterMs) => ({ retryAfterMs, failed: true as const })),
);
const anyCommands = fc.commands(
  [
    anyKey.map((key) =>
      command(
        `add ${key}`,
        () => true,
        (m, r) => {
          m.add(key);
          r.queue.add(key);
        },
      ),
    ),
    fc.tuple(anyKey, fc.integer({ min: 1, max: 3_000 })).map(([key, ms]) =>
      command(
        `add ${key} after ${ms} ms`,
        () => true,
        (m, r) => {
          m.addAfter(key, ms);
          r.queue.addAfter(key, ms);
        },
      ),
    ),
    fc.tuple(anyKey, anyOutcome).map(([key, outcome]) =>
      command(
        `${key} ends: ${JSON.stringify(outcome)}`,
        (m) => m.running.includes(key),
        async (m, r) => {
          m.finish(key, outcome);
          await r.finish(key, outcome);
        },
      ),
    ),
    fc.integer({ min: 1, max: 4_000 }).map((ms) =>
      command(
        `${ms} ms pass`,
        () => true,
        async (m, r) => {
          m.advance(ms);
          await r.clock.advance(ms);
        },
      ),
    ),
  ],
  { maxCommands: 60 },
);

describe('workQueue', () => {
  it('does what the model does, whatever is asked of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), anyCommands, async (concurrency, commands) => {
        const real = world(concurrency);
        await fc.asyncModelRun(() => ({ model: new Model(concurrency), real }), commands);
        expect(real.mostAtOnce()).toBeLessThanOrEqual(concurrency);
        await stopAll(real.queue, real.running(), real);
        expect(real.clock.pending).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('starts one in a turn of the event loop, so that what the first sends does not wait for the last', async () => {
    const { queue, starts, finish } = world(3);
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await Promise.resolve();
    expect(starts).toEqual(['a']);
    await turn();
    expect(starts).toEqual(['a', 'b']);
    await turn();
    await turn();
    expect(starts).toEqual(['a', 'b', 'c']);
    await finish('b', 'done');
    expect(starts).toEqual(['a', 'b', 'c', 'd']);
  });

  it('runs every other key once before a key that is added all the time runs again', async () => {
    const { queue, starts, finish } = world(1);
    queue.add('noisy');
    await settle();
    for (const key of ['b', 'c', 'd']) queue.add(key);
    for (let turn = 0; turn < 4; turn += 1) {
      for (let times = 0; times < 100; times += 1) queue.add('noisy');
      await finish(starts.at(-1) ?? '', 'done');
    }
    expect(starts).toEqual(['noisy', 'b', 'c', 'd', 'noisy']);
  });

  it('runs once for a thousand additions made before it could start', async () => {
    const { queue, starts } = world(2);
    for (let times = 0; times < 1_000; times += 1) queue.add('a');
    await settle();
    expect(starts).toEqual(['a']);
  });

  it('runs at once when something changed, though the key waits for a retry, and remembers its failures', async () => {
    const { queue, starts, finish, clock } = world(1);
    queue.add('a');
    await settle();
    await finish('a', 'failed');
    expect(starts).toHaveLength(1);
    queue.add('a');
    await settle();
    expect(starts).toHaveLength(2);
    await finish('a', 'failed');
    await clock.advance(199);
    expect(starts).toHaveLength(2);
    await clock.advance(1);
    expect(starts).toHaveLength(3);
  });

  it('backs off from who fails and is asked to come back at once, and comes no sooner than asked', async () => {
    const { queue, starts, finish, clock } = world(1);
    queue.add('a');
    await settle();
    await finish('a', { retryAfterMs: 0, failed: true });
    await clock.advance(99);
    expect(starts).toHaveLength(1);
    await clock.advance(1);
    await finish('a', { retryAfterMs: 150, failed: true });
    await clock.advance(199);
    expect(starts).toHaveLength(2);
    await clock.advance(1);
    await finish('a', { retryAfterMs: 5_000, failed: true });
    await clock.advance(4_999);
    expect(starts).toHaveLength(3);
    await clock.advance(1);
    expect(starts).toHaveLength(4);
  });

  it('keeps the sooner of two delays, whichever was asked for first', async () => {
    const { queue, starts, finish, clock } = world(2);
    queue.addAfter('a', 100);
    queue.addAfter('a', 1_000);
    queue.addAfter('b', 1_000);
    queue.addAfter('b', 100);
    await clock.advance(100);
    expect(starts).toEqual(['a', 'b']);
    await finish('a', 'done');
    await finish('b', 'done');
    await clock.advance(10_000);
    expect(starts).toEqual(['a', 'b']);
  });

  it('takes a run that throws for one that failed', async () => {
    const clock = manualClock();
    let runs = 0;
    const queue = workQueue<string>({
      clock,
      backoff,
      random: noJitter,
      run: () => {
        runs += 1;
        return Promise.reject(new Error('run broke'));
      },
    });
    queue.add('a');
    await clock.advance(100);
    expect(runs).toBe(2);
    await queue.stop();
  });

  it('stops only after what runs has ended, and runs nothing more', async () => {
    const { queue, starts, finish, clock } = world(1);
    queue.add('a');
    await settle();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
      return stopped;
    });
    await settle();
    expect(stopped).toBe(false);
    await finish('a', 'failed');
    await stop;
    queue.add('d');
    await clock.advance(10_000);
    expect(starts).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });
});

async function stopAll(
  queue: WorkQueue<string>,
  running: string[],
  real: { clock: ManualClock; finish: Real['finish'] },
) {
  const stopped = queue.stop();
  for (const key of running) await real.finish(key, 'done');
  await stopped;
}
