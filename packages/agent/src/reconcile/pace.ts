/**
 * Links come first: people wait for them. What is said about them, and a second look at what our own steps were about, take the processor time that links need,
 * and wait while pods wait for theirs. A pod that comes alone is reported at once.
 */
import { type Clock, delay } from '@podloom/kube';

export interface Pace {
  /** Runs the kernel's part of a pod. */
  first<R>(work: () => Promise<R>): Promise<R>;
  /** Resolves when no kernel's part waits or runs, and none has for so long; or when it has waited long enough itself. */
  calm(signal: AbortSignal, forMs?: number): Promise<void>;
}

const patienceMs = 5_000;

export function pace(clock: Clock): Pace {
  let ahead = 0;
  let lastMs = -Infinity;
  let passed = Promise.withResolvers<void>();

  return {
    async first(work) {
      ahead += 1;
      try {
        return await work();
      } finally {
        ahead -= 1;
        lastMs = clock.monotonicMs();
        if (ahead === 0) {
          passed.resolve();
          passed = Promise.withResolvers();
        }
      }
    },
    async calm(signal, forMs = 0) {
      const untilMs = clock.monotonicMs() + patienceMs;
      for (let nowMs = clock.monotonicMs(); !signal.aborted && nowMs < untilMs; nowMs = clock.monotonicMs()) {
        if (ahead === 0 && nowMs - lastMs >= forMs) return;
        using waiting = alarm(clock, ahead === 0 ? lastMs + forMs - nowMs : untilMs - nowMs, signal);
        await (ahead === 0 ? waiting.rings : Promise.race([passed.promise, waiting.rings]));
      }
    },
  };
}

/** A delay that ends when nobody waits for it any more. */
function alarm(clock: Clock, ms: number, signal: AbortSignal): Disposable & { readonly rings: Promise<void> } {
  const over = new AbortController();
  return {
    rings: delay(clock, ms, AbortSignal.any([signal, over.signal])),
    [Symbol.dispose]: () => over.abort(),
  };
}
