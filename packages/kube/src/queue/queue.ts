/**
 * Decides which key is worked on next. A key is told once however often it was added, never runs twice at a time, and goes to the
 * end of the line when it was added again during its own run, so that one busy key cannot starve the others.
 *
 * A key that waits (for a retry or for `retryAfterMs`) runs at once when it is added: something changed, so waiting has lost its reason. Only
 * the outcome of its latest run counts for what comes after.
 */
import { systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import { backoffMs } from './backoff.ts';
import type { Backoff } from './backoff.ts';

/** What a run says about its key: finished, failed and to be tried again with backoff, or look again later. Who failed as well comes no sooner than the backoff. */
export type Outcome = 'done' | 'failed' | { readonly retryAfterMs: number; readonly failed?: true };

export interface WorkQueueOptions<K> {
  /** Must not throw: a throw counts as failed, and its error is lost. */
  readonly run: (key: K) => Promise<Outcome>;
  readonly concurrency?: number | undefined;
  readonly backoff?: Backoff | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

export interface WorkQueue<K> {
  add(key: K): void;
  /** Adds the key once `ms` have passed, unless it is in line, waiting for something sooner, or stopped by then. */
  addAfter(key: K, ms: number): void;
  /** Forgets what is in line or waits, lets what runs finish, and resolves then. */
  stop(): Promise<void>;
  /** In line, ready to run. */
  readonly depth: number;
  readonly running: number;
  /** Waiting for time to pass. */
  readonly waiting: number;
}

const defaultBackoff: Backoff = { minMs: 100, maxMs: 120_000 };

export function workQueue<K>(options: WorkQueueOptions<K>): WorkQueue<K> {
  const { run, concurrency = 1, backoff = defaultBackoff, clock = systemClock, random = Math.random } = options;
  const ready = new Set<K>(); // a Set keeps the order of insertion: it is the line and the look-up in one
  const running = new Set<K>();
  const addedWhileRunning = new Set<K>();
  const waiting = new Map<K, { readonly dueMs: number; readonly cancel: () => void }>();
  const failures = new Map<K, number>();
  const idle: (() => void)[] = [];
  let stopped = false;
  let fillAsked = false;

  function add(key: K): void {
    if (stopped) return;
    if (running.has(key)) {
      addedWhileRunning.add(key);
      return;
    }
    stopWaiting(key);
    ready.add(key);
    askFill();
  }

  function addAfter(key: K, ms: number): void {
    if (stopped || ready.has(key)) return;
    const dueMs = clock.monotonicMs() + ms;
    const earlier = waiting.get(key);
    if (earlier && earlier.dueMs <= dueMs) return;
    earlier?.cancel();
    const cancel = clock.after(ms, () => {
      waiting.delete(key);
      add(key);
    });
    waiting.set(key, { dueMs, cancel });
  }

  function stopWaiting(key: K): void {
    waiting.get(key)?.cancel();
    waiting.delete(key);
  }

  /** Runs start in a microtask, so that a caller that adds many keys is never re-entered. */
  function askFill(): void {
    if (fillAsked) return;
    fillAsked = true;
    queueMicrotask(fill);
  }

  /** One in a turn of the event loop: what the first of many sends is on its way before the next begins. */
  function fill(): void {
    fillAsked = false;
    const [key] = ready;
    if (key === undefined || running.size >= concurrency) return;
    ready.delete(key);
    void work(key);
    if (ready.size === 0 || running.size >= concurrency) return;
    fillAsked = true;
    setImmediate(fill);
  }

  async function work(key: K): Promise<void> {
    running.add(key);
    stopWaiting(key);
    let outcome: Outcome;
    try {
      outcome = await run(key);
    } catch {
      outcome = 'failed';
    }
    running.delete(key);
    const { failed = false, retryAfterMs = 0 } =
      typeof outcome === 'object' ? outcome : { failed: outcome === 'failed' };
    const inARow = failed ? (failures.get(key) ?? 0) + 1 : 0;
    if (failed) failures.set(key, inARow);
    else failures.delete(key);

    if (addedWhileRunning.delete(key)) add(key);
    else if (failed) addAfter(key, Math.max(retryAfterMs, backoffMs(inARow, backoff, random)));
    else if (outcome !== 'done') addAfter(key, retryAfterMs);
    askFill();
    if (stopped && running.size === 0) for (const resolve of idle.splice(0)) resolve();
  }

  return {
    add,
    addAfter,
    stop() {
      stopped = true;
      ready.clear();
      addedWhileRunning.clear();
      for (const { cancel } of waiting.values()) cancel();
      waiting.clear();
      if (running.size === 0) return Promise.resolve();
      return new Promise((resolve) => idle.push(resolve));
    },
    get depth() {
      return ready.size;
    },
    get running() {
      return running.size;
    },
    get waiting() {
      return waiting.size;
    },
  };
}
