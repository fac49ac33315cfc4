/**
 * Programs of Debian packages without installing them on this machine, for images: an SSH server must not begin to serve here because an image needs one.
 * Packages and all that they depend on are downloaded by apt, which checks their signatures, and unpacked into a folder of the cache. What installing
 * would run is not run.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import { cacheDir } from '../binaries/once.ts';
import { run } from '../process/run.ts';

/**
 * A root file system of these packages, made once a machine: whoever wants newer versions removes `debian` from the cache folder. Nothing but these packages counts
 * as there, so it is the same whatever is installed here.
 */
export async function debianRoot(packages: readonly string[]): Promise<string> {
  const bad = packages.find((name) => !/^[a-z0-9][a-z0-9.+-]+$/.test(name));
  if (bad !== undefined) throw new InvalidInput('DEBIAN_PACKAGE', `"${bad}" cannot be the name of a Debian package`);
  const cache = join(cacheDir(), 'debian');
  const made = join(cache, await keyOf(packages));
  if (existsSync(made)) return made;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'partial-'));
  try {
    const root = join(folder, 'root');
    await mkdir(root);
    for (const archive of await download(packages, folder)) await run('dpkg-deb', ['-x', archive, root]);
    await rename(root, made).catch((error: unknown) => {
      // Somebody else was quicker: the same packages.
      if (!existsSync(made)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return made;
}

/** Another release of Debian has other packages. */
async function keyOf(packages: readonly string[]): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const version = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1] ?? 'unknown';
  const names = [...packages].toSorted().join(' ');
  return `${version}-${createHash('sha256').update(names).digest('hex').slice(0, 12)}`;
}

/** The packages with all that they depend on, as if this machine had nothing installed. */
async function download(packages: readonly string[], folder: string): Promise<string[]> {
  const archives = join(folder, 'archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  await writeFile(join(folder, 'status'), '');
  const options = {
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache::archives': archives,
    // Its own user may not write into our folder.
    'APT::Sandbox::User': 'root',
  };
  const apt = (...words: string[]): Promise<string> =>
    run('apt-get', [...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]), ...words]);
  const get = (): Promise<string> =>
    apt('-qq', '-y', '--download-only', '--no-install-recommends', 'install', ...packages);
  // Lists may be missing, or name files that are no longer there.
  await get().catch(async () => {
    await run('apt-get', ['-qq', 'update']);
    await get();
  });
  const names = (await readdir(archives)).filter((name) => name.endsWith('.deb')).toSorted();
  return names.map((name) => join(archives, name));
}
