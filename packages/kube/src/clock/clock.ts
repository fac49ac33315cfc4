/**
 * Time, as something that can be handed in. Whatever waits in this package waits through a Clock, so that tests move time themselves and
 * nothing leaks a timer: `after` returns its own undo.
 */

export interface Clock {
  /** Milliseconds since 1970, for timestamps that people read. It may jump. */
  now(): number;
  /** Milliseconds that only ever grow, for measuring. Its zero means nothing. */
  monotonicMs(): number;
  /** Calls back once, `ms` from now; the returned function undoes that. */
  after(ms: number, callback: () => void): () => void;
}

/** setTimeout treats a longer delay as no delay at all. */
const longestMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), longestMs));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when the signal aborts: the caller looks at the signal next anyway. */
export function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
