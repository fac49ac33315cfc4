/** Nothing grows: ten thousand visits and a hundred thousand requests, in a process of their own so that a crash shows. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

interface Measured {
  readonly descriptors: number;
  readonly threads: number;
  readonly memory: number;
}

it(
  'grows by no descriptor, thread or memory over 10,000 namespace visits and 100,000 requests',
  { timeout: 1_800_000 },
  async () => {
    const child = fork(new URL('./testing/visits.ts', import.meta.url), { execArgv: ['--expose-gc'] });
    let measured: { before: Measured; after: Measured } | undefined;
    child.once('message', (message) => (measured = message as typeof measured));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(0);
    const { before, after } = measured!;
    expect(after.descriptors).toBe(before.descriptors);
    expect(after.threads).toBe(before.threads);
    // Memory moves by itself; a leak of 1 kB a visit would be 10 MB.
    expect(after.memory - before.memory).toBeLessThan(8 * 1024 * 1024);
  },
);
