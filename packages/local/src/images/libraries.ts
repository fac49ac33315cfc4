/**
 * The shared libraries that a program needs to run somewhere else. Found by reading ELF files and the loader's cache; the program
 * itself is not started, as ldd(1) would.
 */
import { Unavailable } from '@podloom/api';
import { type Elf, type ImageEntry, readElf } from '@podloom/oci';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * The loader and every library, directly or indirectly needed by the given programs (or libraries), as entries of an image. All
 * libraries go to the folder of the C library: the loader searches that one without a configuration or cache of its own.
 */
export const sharedLibraries = (...programs: readonly string[]): ImageEntry[] => collect(programs, thisMachine);

/** The same for programs that lie below `root`, as those of `debianRoot` do. */
export const sharedLibrariesIn = (root: string, ...programs: readonly string[]): ImageEntry[] =>
  collect(programs, below(root));

/** Where libraries are looked for. */
interface Place {
  /** Possible files for the name of a library, best first. */
  candidates(name: string, wantedBy: string, runpath: readonly string[]): string[];
  /** The file behind a path. */
  fileAt(path: string): string;
  /** The folder of an image where the loader finds them. */
  folder(libc: string | undefined): string;
}

function collect(programs: readonly string[], place: Place): ImageEntry[] {
  const found = new Map<string, string>();
  const loaders = new Map<string, string>();
  const queue = programs.map((file) => ({ file, elf: readElf(file) }));
  for (let next = queue.shift(); next; next = queue.shift()) {
    const { interpreter } = next.elf;
    if (interpreter) loaders.set(interpreter, place.fileAt(interpreter));
    for (const name of next.elf.needed.filter((name) => !found.has(name))) {
      const file = findLibrary(name, next.file, next.elf, place);
      found.set(name, file);
      queue.push({ file, elf: readElf(file) });
    }
  }
  // A loader is also named as a library by the C library; it has its own place.
  for (const loader of loaders.keys()) found.delete(basename(loader));
  const folder = place.folder(found.get('libc.so.6'));
  const files = [
    ...[...found].map(([name, file]) => ({ path: join(folder, name), file })),
    ...[...loaders].map(([path, file]) => ({ path, file })),
  ];
  return files
    .map(({ path, file }) => ({ path: path.replace(/^\/+/, ''), file, mode: 0o755 }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function findLibrary(name: string, wantedBy: string, { machine, runpath }: Elf, place: Place): string {
  const candidates = place.candidates(name, wantedBy, runpath);
  const file = candidates.find((candidate) => existsSync(candidate) && readElf(candidate).machine === machine);
  if (!file) throw new Unavailable('LIBRARY_MISSING', `${wantedBy} needs ${name}, which is not on this machine`);
  return realpathSync(file);
}

const usualFolders = ['/lib64', '/usr/lib64', '/lib', '/usr/lib'];

const thisMachine: Place = {
  candidates(name, wantedBy, runpath) {
    const origin = dirname(realpathSync(wantedBy));
    return [
      ...runpath.map((folder) => join(folder.replace(/\$ORIGIN|\$\{ORIGIN\}/g, origin), name)),
      ...(cachedLibraries().get(name) ?? []),
      ...usualFolders.map((folder) => join(folder, name)),
    ];
  },
  fileAt: (path) => realpathSync(path),
  folder: (libc) => (libc ? dirname(cachedLibraries().get('libc.so.6')?.find(existsSync) ?? libc) : '/lib'),
};

/** Debian's folder of each architecture that we run on. */
const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';

function below(root: string): Place {
  const folders = [`/lib/${triplet}`, `/usr/lib/${triplet}`, ...usualFolders];
  const fileAt = (path: string): string => {
    const file = join(root, path);
    // Links in it are meant from its own root, not from ours.
    return lstatSync(file).isSymbolicLink() ? fileAt(resolve(dirname(path), readlinkSync(file))) : file;
  };
  return {
    candidates: (name) =>
      folders.map((folder) => join(folder, name)).flatMap((path) => (existsSync(join(root, path)) ? fileAt(path) : [])),
    fileAt,
    folder: () => `/lib/${triplet}`,
  };
}

let cache: Map<string, string[]> | undefined;

/** The 64-bit part of the loader's cache: a name may have several files, best first. */
function cachedLibraries(): Map<string, string[]> {
  if (cache) return cache;
  cache = new Map();
  const ldconfig = ['/sbin/ldconfig', '/usr/sbin/ldconfig'].find(existsSync);
  const listing = ldconfig ? execFileSync(ldconfig, ['-p'], { encoding: 'utf8', env: { LC_ALL: 'C' } }) : '';
  for (const [, name, flags, file] of listing.matchAll(/^\t(\S+) \(([^)]*)\) => (\S+)$/gm)) {
    if (/x86-64|AArch64/.test(flags!)) cache.set(name!, [...(cache.get(name!) ?? []), file!]);
  }
  return cache;
}
