/** For what others get ready by themselves, and tell nobody when. */
import { setTimeout as sleep } from 'node:timers/promises';

const patience = { timeoutMs: 60_000, everyMs: 500 };

/** Tries it until it works; in the end fails as the last try did. */
export async function patiently<T>(attempt: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + patience.timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(patience.everyMs);
    }
  }
}
