/**
 * A private cluster does not end with the process that made it, and a process of tests may end before its teardown: Vitest exits at a signal, and
 * SIGKILL asks nobody.
 */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { clusterDown } from '@podloom/local';

const podloom = join(import.meta.dirname, '../../packages/cli/src/main.ts');

/**
 * To be called before the cluster is made. Returns its teardown, which takes the folder away as well; if this process dies without having called it,
 * a shell outside does the same. Nothing is ever written to that shell: its input ends when this process does.
 */
export function guardCluster(name: string, folder = ''): () => Promise<void> {
  const down = [process.execPath, podloom, 'cluster', 'down', '--name', name];
  const guard = spawn('sh', ['-c', 'read -r _; "$@"; rm -rf -- "$0"', folder, ...down], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  return async () => {
    await clusterDown({ name });
    if (folder !== '') await rm(folder, { recursive: true, force: true });
    guard.kill();
  };
}
