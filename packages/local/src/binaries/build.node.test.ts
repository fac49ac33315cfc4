/** Builds for real, with the smallest module. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { run } from '../process/run.ts';
import { binaries } from './build.ts';
import type { BuildProgress } from './once.ts';
import { findGo } from './go.ts';
import { readModule } from './modules.ts';

let cache: string;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'podloom-build-'));
  // Go keeps its own cache below the same folder; without it each test would compile Go's library anew.
  vi.stubEnv('GOCACHE', (await run(await findGo('1.0'), ['env', 'GOCACHE'])).trim());
  vi.stubEnv('XDG_CACHE_HOME', cache);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(cache, { recursive: true, force: true });
});

async function build(): Promise<{ path: string; events: BuildProgress[] }> {
  const events: BuildProgress[] = [];
  const built = await binaries({ modules: ['pause'], progress: (event) => events.push(event) });
  return { path: built.path('pause'), events };
}

it('builds once when two want it at the same time, and never again', async () => {
  const both = await Promise.all([build(), build()]);
  const finished = both.flatMap(({ events }) => events).filter(({ done }) => done);
  expect(finished).toMatchObject([{ module: 'pause', index: 1, total: 1 }]);
  expect(existsSync(both[0].path)).toBe(true);
  expect((await build()).events).toEqual([]);
});

it('does not take what an interrupted build left for a finished one', async () => {
  const { key } = await readModule('pause');
  await mkdir(join(cache, 'podloom', 'bin', `${key}.unfinished`), { recursive: true });
  await writeFile(join(cache, 'podloom', 'bin', `${key}.unfinished`, 'pause'), 'half');
  const { path, events } = await build();
  expect(events.at(-1)?.done).toBe(true);
  expect(existsSync(path)).toBe(true);
  expect(await readdir(join(cache, 'podloom', 'bin'))).toEqual([key]);
});

it('says what to do when the only Go is too old or absent', async () => {
  vi.stubEnv('PODLOOM_GO', '/nowhere/go');
  vi.stubEnv('PATH', '/nowhere');
  await expect(build()).rejects.toThrow(/Go \S+ or newer is needed .* point PODLOOM_GO at one/);
});
