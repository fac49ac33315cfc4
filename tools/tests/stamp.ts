/**
 * Remembers that tests were green with these inputs: a hash over the content of files, kept in the cache folder, which `git clone` and `make clean` leave
 * alone. A machine that has never run the tests, as one of CI, has no stamp and runs them.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir, release } from 'node:os';
import { join } from 'node:path';

export interface Stamp {
  /** The tests were green with the inputs as they are. */
  readonly isGreen: boolean;
  /** They are now. */
  set(): void;
}

/** `paths` are files and folders below `root`; those that are not there count as such. */
export function stampFor(name: string, root: string, paths: readonly string[], cache = cacheFolder()): Stamp {
  const folder = join(cache, 'tests');
  const file = join(folder, `${name}-${hashOf(root, paths)}`);
  return {
    isGreen: existsSync(file),
    set() {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, '');
    },
  };
}

const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'podloom');

/** Also over what the machine is: another kernel or Node may be what the tests would find. */
function hashOf(root: string, paths: readonly string[]): string {
  const hash = createHash('sha256');
  hash.update([release(), process.version, process.arch].join('\n'));
  for (const path of paths.flatMap((one) => filesIn(root, one)).toSorted()) {
    const content = readFileSync(join(root, path));
    hash.update(`\n${path} ${content.length}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

const skipped = new Set(['node_modules', 'dist', '.tsbuild']);

function filesIn(root: string, path: string): string[] {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isFile()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => (skipped.has(name) ? [] : filesIn(root, join(path, name))));
}
