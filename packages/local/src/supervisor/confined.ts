/**
 * Programs of the parts take requests from pods, so they run as nobody: a user without rights who sees, of all that a cluster has, only the
 * folders that the program is given. They are mounted where no one else looks, because the cluster's own folder is root's alone.
 */
import { chown, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** As in the images of the project. */
const nobody = 65_532;
const place = '/run/part';

/** Where a confined program finds a folder that it was given under this name. */
export function seenAs(name: string, ...path: string[]): string {
  return join(place, name, ...path);
}

/** Arguments of unshare that run a program so. Folders are named as in `seenAs`; each ends up writable for nobody only if nobody owns it. */
export function confined(folders: Readonly<Record<string, string>>, command: readonly [string, ...string[]]): string[] {
  const script = `set -eu
mount -t tmpfs -o mode=755 tmpfs /run
while [ "$1" != -- ]; do
  mkdir -p "${place}/$1"
  mount --bind "$2" "${place}/$1"
  shift 2
done
shift
cd /
exec setpriv --reuid ${nobody} --regid ${nobody} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"`;
  const named = Object.entries(folders).flat();
  return ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ...named, '--', ...command];
}

/** Makes a folder that belongs to nobody, with files that only nobody and root can read. */
export async function ownFolder(dir: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chown(dir, nobody, nobody);
  for (const [name, text] of Object.entries(files)) {
    const path = join(dir, name);
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await chown(`${path}.new`, nobody, nobody);
    await rename(`${path}.new`, path);
  }
}
