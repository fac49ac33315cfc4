/** Takes a cluster down, from any state: kill all, then remove what does not go with the processes. */
import { rm, rmdir } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { withLock } from '../process/lock.ts';
import { run } from '../process/run.ts';
import { waitFor } from '../process/wait.ts';
import { killCgroup, removeCgroups } from './cgroup.ts';
import { isLinked } from './link.ts';
import { type ClusterPlan, defaultName, parseClusterName, planCluster } from './plan.ts';
import { checkMachine } from './requirements.ts';
import { stateRoot } from './store.ts';

/** Returns whether there was anything to take down. */
export async function clusterDown({ name = defaultName }: { name?: string } = {}): Promise<boolean> {
  parseClusterName(name);
  checkMachine();
  return withLock(`cluster ${name}`, async () => {
    // What is removed follows from the name alone: it must also work when nothing was written down yet, or half.
    const plan = planCluster(stateRoot, { name, network: 0, nodes: 1 });
    const existed = existsSync(plan.dir) || isLinked(plan);
    await endProcesses(plan);
    await removeCgroups(plan.cgroup);
    await rm(plan.dir, { recursive: true, force: true, maxRetries: 5 });
    await rmdir(stateRoot).catch(ignoreOthers);
    return existed;
  });
}

/** The folder of all clusters stays while it has another, and may never have been made. */
function ignoreOthers(error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOTEMPTY' && code !== 'ENOENT') throw error;
}

/**
 * Ends every process of a cluster. Namespaces, mounts and links go with them, but the kernel keeps a network whose connections wait for
 * their last answers for a minute or two; without its link to the host nobody can notice.
 */
export async function endProcesses(plan: Pick<ClusterPlan, 'cgroup' | 'hostLink'>): Promise<void> {
  await killCgroup(plan.cgroup);
  if (isLinked(plan)) {
    await run('ip', ['link', 'delete', plan.hostLink]).catch((error: unknown) => {
      if (isLinked(plan)) throw error;
    });
  }
  await waitFor(async () => !isLinked(plan), { what: `The end of link ${plan.hostLink}`, timeoutMs: 10_000 });
}
