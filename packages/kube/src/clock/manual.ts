/** A clock that stands still until a test moves it. */
import type { Clock } from './clock.ts';

export interface ManualClock extends Clock {
  /** Moves time and runs what became due, in order of time; lets promises settle after each step. */
  advance(ms: number): Promise<void>;
  /** How many timers are set: zero after a clean stop. */
  readonly pending: number;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsedMs = 0;
  const timers = new Set<{ readonly dueMs: number; readonly callback: () => void }>();

  return {
    now: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    after(ms, callback) {
      // Whole milliseconds, as the real one: else time could stand still in ever smaller steps.
      const timer = { dueMs: elapsedMs + Math.ceil(Math.max(ms, 0)), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      await settle();
      for (;;) {
        const next = [...timers].toSorted((a, b) => a.dueMs - b.dueMs)[0];
        if (!next || next.dueMs > untilMs) break;
        timers.delete(next);
        elapsedMs = Math.max(elapsedMs, next.dueMs);
        next.callback();
        await settle();
      }
      elapsedMs = untilMs;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Lets everything run that waits for nothing but its turn. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
