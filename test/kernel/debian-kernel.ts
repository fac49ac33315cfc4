/**
 * Gets Debian's cloud kernel into the user's cache without installing it: the package is downloaded by apt, which checks its
 * signature, and unpacked. Its modules are loaded on demand inside the machine, by the kmod of the same distribution, so no list of
 * modules has to be kept.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

export interface DebianKernel {
  readonly release: string;
  readonly image: string;
  /** Program that the guest kernel calls when it misses a module. */
  readonly modprobe: string;
}

/** netkit, the youngest link type that the tier is for, came with 6.7. */
const oldestRelease = [6, 7];

/** The newest release of the cache, or else the newest that apt offers: a run does not change kernels behind one's back. */
export function debianKernel(): DebianKernel {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'podloom', 'kernel');
  mkdirSync(cache, { recursive: true });
  const release = newestRelease(readdirSync(cache)) ?? download(cache);
  const folder = join(cache, release);
  return { release, image: join(folder, 'vmlinux'), modprobe: join(folder, 'modprobe') };
}

/** The newest release that is new enough, among names that may be anything else. */
export function newestRelease(names: readonly string[]): string | undefined {
  return names
    .filter(
      (name) =>
        /^\d+\.\d+\.\d+[-+.~\w]*-cloud-amd64$/.test(name) && compareReleases(name, oldestRelease.join('.')) >= 0,
    )
    .toSorted(compareReleases)
    .at(-1);
}

function compareReleases(a: string, b: string): number {
  const [left, right] = [a, b].map((release) => (release.match(/\d+/g) ?? []).map(Number));
  const differing = left!.findIndex((part, index) => part !== right![index]);
  return differing === -1 ? 0 : left![differing]! - (right![differing] ?? -1);
}

function download(cache: string): string {
  const prefix = 'linux-image-';
  // Lists may be missing, or name files that are no longer there. This happens once a machine.
  if (process.getuid?.() === 0) execFileSync('apt-get', ['-qq', 'update'], { stdio: 'inherit' });
  const offered = execFileSync('apt-cache', ['pkgnames', prefix], { encoding: 'utf8' }).split('\n');
  const release = newestRelease(offered.map((name) => name.slice(prefix.length)));
  if (release === undefined) {
    throw new Error(
      `apt offers no cloud kernel of ${oldestRelease.join('.')} or newer; run "apt-get update", or add bookworm-backports`,
    );
  }
  const folder = mkdtempSync(join(cache, 'partial-'));
  try {
    unpack(`${prefix}${release}`, folder);
    unpack('kmod', folder);
    writeFileSync(join(folder, 'vmlinux'), elfOf(readFileSync(join(folder, 'boot', `vmlinuz-${release}`))));
    prepareModules(folder, join(cache, release), release);
    renameSync(folder, join(cache, release));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return release;
}

function unpack(name: string, folder: string): void {
  execFileSync('apt-get', ['-qq', '-o', 'APT::Sandbox::User=root', 'download', name], {
    cwd: folder,
    stdio: 'inherit',
  });
  const file = readdirSync(folder).find((entry) => entry.endsWith('.deb'));
  if (file === undefined) throw new Error(`apt-get downloaded no ${name}`);
  execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: folder });
  rmSync(join(folder, file));
}

/** `folder` is where the files are now, `home` where they will be when the machine runs. */
function prepareModules(folder: string, home: string, release: string): void {
  for (const program of ['bin/kmod', 'usr/bin/kmod'].map((path) => join(folder, path))) {
    if (existsSync(program)) cpSync(program, join(folder, 'kmod'));
  }
  // Since Debian 13 the package has usr/lib only, while kmod keeps to lib.
  if (!existsSync(join(folder, 'lib'))) symlinkSync('usr/lib', join(folder, 'lib'));
  // kmod does what its name says at the moment; the package's own links are absolute and lead out of the cache.
  mkdirSync(join(folder, 'tools'));
  for (const name of ['depmod', 'modprobe']) symlinkSync('../kmod', join(folder, 'tools', name));
  execFileSync(join(folder, 'tools', 'depmod'), ['-b', folder, release]);
  writeFileSync(join(folder, 'modprobe'), `#!/bin/sh\nexec '${home}/tools/modprobe' -d '${home}' "$@"\n`, {
    mode: 0o755,
  });
}

/**
 * Takes the bare ELF kernel out of a bzImage: QEMU starts it directly (PVH), which saves seconds of decompression in emulation.
 * The places are those of the kernel's "Linux/x86 Boot Protocol".
 */
export function elfOf(image: Buffer): Buffer {
  const setupSectors = image.readUInt8(0x1f1);
  const start = (setupSectors + 1) * 512 + image.readUInt32LE(0x248);
  const sizeTrailer = 4;
  return zstdDecompressSync(image.subarray(start, start + image.readUInt32LE(0x24c) - sizeTrailer));
}
