/**
 * Reports wait while pods wait for their links: people want the links first and what is said about them second, and writing statuses takes the
 * processor time that links need. A pod that comes alone is reported at once.
 */
import { type Clock, delay } from '@podloom/kube';

export interface Pace {
  /** Runs the kernel's part of a pod. */
  first<R>(work: () => Promise<R>): Promise<R>;
  /** Resolves when no kernel's part waits or runs, or when it has waited long enough itself. */
  calm(signal: AbortSignal): Promise<void>;
}

const patienceMs = 5_000;

export function pace(clock: Clock): Pace {
  let ahead = 0;
  let passed = Promise.withResolvers<void>();

  return {
    async first(work) {
      ahead += 1;
      try {
        return await work();
      } finally {
        ahead -= 1;
        if (ahead === 0) {
          passed.resolve();
          passed = Promise.withResolvers();
        }
      }
    },
    async calm(signal) {
      if (ahead === 0) return;
      const waited = new AbortController();
      await Promise.race([passed.promise, delay(clock, patienceMs, AbortSignal.any([signal, waited.signal]))]);
      waited.abort();
    },
  };
}
