/**
 * Links come first: people wait for them. What is said about them, and a second look at what our own steps were about, take the processor time that links need,
 * and wait while pods wait for theirs, here or still at the server: where many came, more are likely to come. A pod that comes alone is reported at once.
 *
 * Where an object chooses twenty pods, their PodNetworks leave the server one by one, and a node gets one every ten milliseconds or so, which is longer than its links
 * take. What tells them from pods that come alone is that another came a moment before.
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
/** Who comes so soon after another comes in a row with it; so does who comes while someone waits for the end of the row. */
const rowMs = 100;
/** So long nobody may have come, for each of the row, the first one aside. */
const eachMs = 15;
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
      const isInRow = ahead > 0 || waiting.size > 0 || clock.monotonicMs() - lastMs < rowMs;
      came = isInRow ? came + 1 : 1;
      ahead += 1;
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
