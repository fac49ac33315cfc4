/** What the machine must have. Installing is not done here: that is the Makefile's, or the user's. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { InvalidInput, Unavailable } from '@podloom/api';
import type { ModuleName } from '../binaries/modules.ts';
import { widePath } from '../process/path.ts';

export const clusterModules: readonly ModuleName[] = ['pause', 'node', 'kubernetes', 'coredns'];

/** Commands and the Debian packages that have them. */
const requiredCommands: Record<string, string> = {
  ip: 'iproute2',
  nft: 'nftables',
  runc: 'runc',
  mount: 'mount',
  nsenter: 'util-linux',
  unshare: 'util-linux',
};

export function checkMachine(): void {
  if (process.platform !== 'linux') throw new InvalidInput('NOT_LINUX', 'A private cluster needs Linux');
  if (process.getuid?.() !== 0) {
    throw new InvalidInput('NOT_ROOT', 'A private cluster needs root: nodes are namespaces; run this as root');
  }
  const folders = widePath().split(':');
  const missing = Object.entries(requiredCommands).filter(
    ([command]) => !folders.some((dir) => isProgram(join(dir, command))),
  );
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, name]) => name))];
    throw new Unavailable(
      'MISSING_PACKAGES',
      `${missing.map(([command]) => command).join(', ')} not found; install the Debian packages: ${packages.join(' ')}`,
    );
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // Absent or not ours to run: either way not usable.
  }
}
