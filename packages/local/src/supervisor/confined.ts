/**
 * Programs of the parts take requests from pods, so each runs as a user without rights who sees, of all that a cluster has, only the
 * folders that the program is given. They are mounted where no one else looks, because the cluster's own folder is root's alone.
 */
import { chown, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const place = '/run/part';

/** Where a confined program finds a folder that it was given under this name. */
export function seenAs(name: string, ...path: string[]): string {
  return join(place, name, ...path);
}

export interface Confined {
  /** A number that no account of the machine has; another for each program, so that none can reach into another. */
  user: number;
  /** Named as in `seenAs`. What the program writes must belong to it. */
  folders: Readonly<Record<string, string>>;
  command: readonly [string, ...string[]];
}

/** Arguments of unshare that run a program so. What it writes to /run and /tmp ends with it. */
export function confined({ user, folders, command }: Confined): string[] {
  const script = `set -eu
mount -t tmpfs -o mode=755 tmpfs /run
while [ "$1" != -- ]; do
  mkdir -p "${place}/$1"
  mount --bind "$2" "${place}/$1"
  shift 2
done
shift
mount -t tmpfs -o mode=1777 tmpfs /tmp
cd /
exec setpriv --reuid ${user} --regid ${user} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"`;
  const named = Object.entries(folders).flat();
  return ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ...named, '--', ...command];
}

/** Makes a folder that belongs to such a user, with files that only the user and root can read. */
export async function ownFolder(
  user: number,
  dir: string,
  files: Readonly<Record<string, string>> = {},
): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chown(dir, user, user);
  for (const [name, text] of Object.entries(files)) {
    const path = join(dir, name);
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await chown(`${path}.new`, user, user);
    await rename(`${path}.new`, path);
  }
}
