/**
 * Makes something that takes long once, and keeps it outside the checkout. It is made in a folder of its own that is renamed when it is
 * complete, so a folder that exists is a finished one, whatever was interrupted.
 */
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../process/lock.ts';

export interface BuildProgress {
  kind: 'build';
  /** What is built, and its version, for people. */
  module: string;
  version: string;
  index: number;
  total: number;
  elapsedMs: number;
  done: boolean;
}

export interface OnceOptions {
  folder: string;
  what: Pick<BuildProgress, 'module' | 'version' | 'index' | 'total'>;
  /** Told when the work starts, every second while it goes on, and when it is done; never for what is there already. */
  progress?: (event: BuildProgress) => void;
  signal?: AbortSignal;
}

export function cacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'podloom');
}

/** Returns the folder, after `work` has filled another one in its place. Where several want it at once, one does it. */
export async function makeOnce(
  { folder, what, progress, signal }: OnceOptions,
  work: (unfinished: string) => Promise<void>,
): Promise<string> {
  if (await exists(folder)) return folder;
  return withLock(
    folder,
    async () => {
      if (await exists(folder)) return folder;
      const started = Date.now();
      const tell = (done: boolean) => progress?.({ kind: 'build', ...what, elapsedMs: Date.now() - started, done });
      tell(false);
      const timer = setInterval(tell, 1000, false);
      const unfinished = `${folder}.unfinished`;
      try {
        await rm(unfinished, { recursive: true, force: true });
        await mkdir(unfinished, { recursive: true });
        await work(unfinished);
        await rename(unfinished, folder);
      } finally {
        clearInterval(timer);
      }
      tell(true);
      return folder;
    },
    signal,
  );
}

export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
