/** Waits for a fact, where one might have slept. Within its limit a machine that does much else gets there; within that of a test it is told what was missing. */
import { vi } from 'vitest';

export const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 250_000, interval: 20 });
