/**
 * Builds the Go modules once and keeps the result outside the checkout. A build happens in a folder of its own that is
 * renamed when it is complete, so a folder that exists is a finished one, whatever was interrupted.
 */
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { withLock } from '../process/lock.ts';
import { run } from '../process/run.ts';
import { findGo } from './go.ts';
import { type GoModule, type ModuleName, readModule, renamed } from './modules.ts';

export interface BuildProgress {
  kind: 'build';
  module: ModuleName;
  version: string;
  index: number;
  total: number;
  elapsedMs: number;
  done: boolean;
}

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

export function cacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'podloom');
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
  const folder = join(cacheDir(), 'bin', module.key);
  if (await exists(folder)) return folder;
  return withLock(
    folder,
    async () => {
      if (await exists(folder)) return folder;
      const started = Date.now();
      const tell = (done: boolean) =>
        progress?.({
          kind: 'build',
          module: module.name,
          version: module.version,
          ...place,
          elapsedMs: Date.now() - started,
          done,
        });
      tell(false);
      const timer = setInterval(tell, 1000, false);
      try {
        await build(module, folder, signal);
      } finally {
        clearInterval(timer);
      }
      tell(true);
      return folder;
    },
    signal,
  );
}

async function build(module: GoModule, folder: string, signal?: AbortSignal): Promise<void> {
  const go = await findGo(module.goVersion);
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await run(go, ['build', '-trimpath', '-ldflags', module.ldflags, '-o', `${unfinished}/`, ...module.packages], {
    cwd: module.dir,
    env: { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '-mod=readonly' },
    ...(signal && { signal }),
  });
  for (const [from, to] of Object.entries(renamed)) {
    if (await exists(join(unfinished, from))) await rename(join(unfinished, from), join(unfinished, to));
  }
  await rename(unfinished, folder);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
