/** Builds the Go modules once and keeps the result outside the checkout. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { run } from '../process/run.ts';
import { findGo } from './go.ts';
import { type GoModule, type ModuleName, readModule, renamed } from './modules.ts';
import { type BuildProgress, cacheDir, exists, makeOnce } from './once.ts';

export interface BinariesOptions {
  modules?: readonly ModuleName[];
  /** Told when a build starts, every second while it goes on, and when it is done; never for what is there already. */
  progress?: (event: BuildProgress) => void;
  signal?: AbortSignal;
}

export interface Binaries {
  /** Absolute path of a binary by its name, such as `kube-apiserver`. */
  path: (name: string) => string;
  /** All folders, as PATH wants them. */
  searchPath: string;
}

const allModules = ['pause', 'node', 'kubernetes', 'coredns', 'helm'] as const;

export async function binaries({ modules = allModules, progress, signal }: BinariesOptions = {}): Promise<Binaries> {
  const found = new Map<string, string>();
  const folders: string[] = [];
  for (const [index, name] of modules.entries()) {
    const module = await readModule(name);
    const folder = await ensureBuilt(module, { index: index + 1, total: modules.length }, progress, signal);
    folders.push(folder);
    for (const binary of module.binaries) found.set(binary, join(folder, binary));
  }
  return {
    searchPath: folders.join(':'),
    path: (name) => {
      const path = found.get(name);
      if (!path) throw new Unavailable('NO_BINARY', `${name} is not among the binaries of ${modules.join(', ')}`);
      return path;
    },
  };
}

async function ensureBuilt(
  module: GoModule,
  place: { index: number; total: number },
  progress?: (event: BuildProgress) => void,
  signal?: AbortSignal,
): Promise<string> {
  const what = { module: module.name, version: module.version, ...place };
  const options = { folder: join(cacheDir(), 'bin', module.key), what };
  return makeOnce({ ...options, ...(progress && { progress }), ...(signal && { signal }) }, async (unfinished) => {
    const go = await findGo(module.goVersion);
    await run(go, ['build', '-trimpath', '-ldflags', module.ldflags, '-o', `${unfinished}/`, ...module.packages], {
      cwd: module.dir,
      env: { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '-mod=readonly' },
      ...(signal && { signal }),
    });
    for (const [from, to] of Object.entries(renamed)) {
      if (await exists(join(unfinished, from))) await rename(join(unfinished, from), join(unfinished, to));
    }
  });
}
