/**
 * Links come first: people wait for them. What is said about them, and a second look at what our own steps were about, take the processor time that links need,
 * and wait while pods wait for theirs, here or still at the server: where many came, more are likely to come. A pod that comes alone is reported at once.
 */
import type { Clock } from '@podloom/kube';

export interface Pace {
  /** Runs the kernel's part of a pod. */
  first<R>(work: () => Promise<R>): Promise<R>;
  /** Resolves when no kernel's part waits or runs, and none has for so long, or longer after many; or when it has waited long enough itself. */
  calm(signal: AbortSignal, forMs?: number): Promise<void>;
}

interface Waiting {
  readonly forMs: number;
  readonly untilMs: number;
  readonly go: () => void;
}

const patienceMs = 5_000;
/** So long nobody may have come, for each that came since it was last calm, the first one aside. */
const eachMs = 5;
const mostMs = 250;

export function pace(clock: Clock): Pace {
  let ahead = 0;
  let came = 0;
  let lastMs = -Infinity;
  const waiting = new Set<Waiting>();
  let endAlarm: (() => void) | undefined;

  function lookAround(): void {
    endAlarm?.();
    endAlarm = undefined;
    const nowMs = clock.monotonicMs();
    const calmMs = Math.min(mostMs, eachMs * Math.max(0, came - 1));
    let nextMs = Infinity;
    for (const one of waiting) {
      const calmAtMs = ahead > 0 ? Infinity : lastMs + Math.max(calmMs, one.forMs);
      if (calmAtMs <= nowMs) came = 0;
      const atMs = Math.min(calmAtMs, one.untilMs);
      if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
      else {
        waiting.delete(one);
        one.go();
      }
    }
    if (nextMs < Infinity) endAlarm = clock.after(nextMs - nowMs, lookAround);
  }

  return {
    async first(work) {
      ahead += 1;
      came += 1;
      try {
        return await work();
      } finally {
        ahead -= 1;
        lastMs = clock.monotonicMs();
        if (ahead === 0 && waiting.size > 0) lookAround();
      }
    },
    async calm(signal, forMs = 0) {
      if (signal.aborted) return;
      const { promise, resolve: go } = Promise.withResolvers<void>();
      const one = { forMs, untilMs: clock.monotonicMs() + patienceMs, go };
      const letGo = (): void => {
        waiting.delete(one);
        lookAround();
        go();
      };
      signal.addEventListener('abort', letGo);
      waiting.add(one);
      lookAround();
      await promise;
      signal.removeEventListener('abort', letGo);
    },
  };
}
