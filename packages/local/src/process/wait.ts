/** Waits for a fact by looking again, with a limit and the name of what was waited for. */
import { setTimeout as delay } from 'node:timers/promises';
import { Unavailable } from '@podloom/api';

export interface WaitOptions {
  what: string;
  timeoutMs: number;
  everyMs?: number;
  signal?: AbortSignal | undefined;
}

export async function waitFor<T>(
  look: () => Promise<T | undefined | false>,
  { what, timeoutMs, everyMs = 50, signal }: WaitOptions,
): Promise<T> {
  const limit = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > limit) throw new Unavailable('TIMEOUT', `${what} did not happen within ${timeoutMs / 1000} s`);
    await delay(everyMs, undefined, { signal });
  }
}
