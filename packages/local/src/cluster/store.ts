/** What is written down about a cluster: `cluster.json` says what it is and lives as long as the cluster. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { type ClusterPlan, type ClusterSpec, planCluster } from './plan.ts';

/** Short, because paths of sockets below it must fit into 107 bytes. */
export const stateRoot = '/var/lib/podloom';

export async function readPlan(name: string): Promise<ClusterPlan | undefined> {
  const spec = await readJson<ClusterSpec>(join(stateRoot, name, 'cluster.json'));
  return spec && planCluster(stateRoot, spec);
}

export async function writeSpec(spec: ClusterSpec): Promise<ClusterPlan> {
  const plan = planCluster(stateRoot, spec);
  await mkdir(plan.dir, { recursive: true, mode: 0o700 });
  await writeJson(join(plan.dir, 'cluster.json'), spec);
  return plan;
}

/** The plans of all clusters on this machine. */
export async function readAllPlans(): Promise<ClusterPlan[]> {
  const names = await readdir(stateRoot).catch(absent<string[]>([]));
  const plans = await Promise.all(names.map(readPlan));
  return plans.filter((plan) => plan !== undefined);
}

async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch(absent<undefined>(undefined));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new Unavailable('STATE_FILE', `${path} is damaged; take the cluster down and up again`, { cause });
  }
}

/** Readers never see half a file. */
async function writeJson(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** A handler for errors that takes "not there" for an answer and nothing else. */
function absent<T>(answer: T): (error: unknown) => T {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return answer;
    throw error;
  };
}
