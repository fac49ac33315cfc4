/**
 * Every process of a cluster, from the supervisor to the last container, is below one control group. That is how they are
 * found again: no list of pids that may be out of date, nothing that a process could slip out of by forking.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { waitFor } from '../process/wait.ts';

/**
 * Folders of the hierarchies that are mounted: one with version 2, one a controller with version 1. Where both are, version 1 has the
 * controllers, but a kubelet makes its groups in both.
 */
async function observeHierarchies(): Promise<{ version: 1 | 2; roots: string[] }> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  const mounted = (wanted: string) => mounts.flatMap(([, path, type]) => (path && type === wanted ? [path] : []));
  const [v1, v2] = [mounted('cgroup'), mounted('cgroup2')];
  if (v1.length + v2.length === 0) {
    throw new Unavailable('CGROUPS', 'No control groups are mounted below /sys/fs/cgroup; a kubelet needs them');
  }
  return { version: v1.length > 0 ? 1 : 2, roots: [...new Set([...v1, ...v2])] };
}

/** Makes the group of a cluster with a part for each node's pods and one for our own processes. */
export async function ensureCgroups(group: string, nodes: readonly string[]): Promise<void> {
  const { version, roots } = await observeHierarchies();
  for (const root of roots) {
    for (const path of [group, ...['daemons', ...nodes].map((part) => `${group}/${part}`)]) {
      await mkdir(join(root, path), { recursive: true });
      if (version === 1) await inheritCpuset(root, path);
    }
    if (version === 1) await weighPods(root, group, nodes);
    if (version === 2) await delegateControllers(root, group);
  }
}

/** In version 1 a new cpuset is empty and takes no process until it is told what it may use. */
async function inheritCpuset(root: string, path: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (!existsSync(join(root, path, file))) continue;
    const parent = await readFile(join(root, path, '..', file), 'utf8');
    await writeFile(join(root, path, file), parent.trim());
  }
}

/**
 * In version 1 our daemons are in no group of this controller: each of their threads would weigh as much as all pods of all nodes together. A kubelet gives
 * its pods a weight by the number of processors; here it is passed on to the groups above, so that it counts among the daemons as on a machine of its own.
 */
async function weighPods(root: string, group: string, nodes: readonly string[]): Promise<void> {
  if (!existsSync(join(root, group, 'cpu.shares'))) return;
  const node = 1024 * availableParallelism();
  await writeFile(join(root, group, 'cpu.shares'), String(node * nodes.length));
  for (const name of nodes) await writeFile(join(root, group, name, 'cpu.shares'), String(node));
}

async function delegateControllers(root: string, group: string): Promise<void> {
  for (const folder of [root, join(root, group)]) {
    const controllers = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).trim().split(' ').filter(Boolean);
    for (const controller of controllers) await writeFile(join(folder, 'cgroup.subtree_control'), `+${controller}`);
  }
}

/** The file that takes the pid of a process which is to be, with all that it will start, in the cluster's group. */
export async function cgroupDoor(group: string): Promise<string> {
  const { version, roots } = await observeHierarchies();
  const root = version === 2 ? roots[0] : (roots.find((path) => path.endsWith('/pids')) ?? roots[0]);
  return join(root ?? '', group, 'daemons', 'cgroup.procs');
}

/** Kills everything in the group except this process, and waits until it is gone. */
export async function killCgroup(group: string): Promise<void> {
  const { roots } = await observeHierarchies();
  await waitFor(
    async () => {
      const pids = new Set<number>();
      for (const folder of await foldersOf(roots, group)) {
        await thaw(folder);
        for (const pid of await pidsIn(folder)) pids.add(pid);
      }
      pids.delete(process.pid);
      for (const pid of pids) kill(pid);
      return pids.size === 0;
    },
    { what: `The end of all processes of ${group}`, timeoutMs: 60_000, everyMs: 20 },
  );
}

/** Removes the groups, which must be without processes. */
export async function removeCgroups(group: string): Promise<void> {
  const { roots } = await observeHierarchies();
  for (const folder of (await foldersOf(roots, group)).toReversed()) {
    // A group is busy for a moment after its last process went.
    await waitFor(async () => rmdir(folder).then(() => true, isStillBusy), {
      what: `The removal of ${folder}`,
      timeoutMs: 10_000,
    });
  }
}

function isStillBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return true;
  if (code === 'EBUSY') return false;
  throw error;
}

/** All folders of the group in all hierarchies, each before those below it. */
async function foldersOf(roots: readonly string[], group: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    found.push(folder);
    const entries = await readdir(folder, { withFileTypes: true }).catch(gone<[]>([]));
    for (const entry of entries) if (entry.isDirectory()) await visit(join(folder, entry.name));
  };
  for (const root of roots) if (existsSync(join(root, group))) await visit(join(root, group));
  return found;
}

async function pidsIn(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(gone(''));
  // 0 stands for a process that this one cannot see, and to kill it would be to kill ourselves.
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** A frozen process (a paused container) does not even notice SIGKILL in version 1. */
async function thaw(folder: string): Promise<void> {
  const file = join(folder, 'freezer.state');
  if (existsSync(file)) await writeFile(file, 'THAWED').catch(gone(undefined));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    gone(undefined)(error);
  }
}

/** Groups and processes may go while we look at them. */
function gone<T>(answer: T): (error: unknown) => T {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENODEV' || code === 'ESRCH') return answer;
    throw error;
  };
}
