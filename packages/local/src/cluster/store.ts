/**
 * What is kept about a cluster: `cluster.json` says what it is and lives as long as the cluster; `state.json` says what its
 * supervisor last saw and means something only while that supervisor lives.
 */
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { type ClusterPlan, type ClusterSpec, planCluster } from './plan.ts';

/** Short, because paths of sockets below it must fit into 107 bytes. */
export const stateRoot = '/var/lib/podloom';

export interface ProcessState {
  /** As `kube-apiserver` or `n1/kubelet`. */
  name: string;
  state: 'running' | 'restarting';
  pid: number | null;
  restarts: number;
  /** When it came into this state, in ISO 8601. */
  since: string;
  /** How it last ended, if it did. */
  lastExit?: string;
}

export interface SupervisorState {
  pid: number;
  /** Boot and time of start: the same pid with another start is another process. */
  startTime: string;
  phase: 'starting' | 'ready';
  /** What is being done or waited for, for people. */
  step: string;
  /** Processes that hold namespaces: `control` and one for each node. */
  holders: Record<string, number>;
  processes: ProcessState[];
}

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

export async function writeState(dir: string, state: SupervisorState): Promise<void> {
  await writeJson(join(dir, 'state.json'), state);
}

/** The state that a living supervisor wrote; undefined where there is none, or only what a dead one left. */
export async function readState(dir: string): Promise<SupervisorState | undefined> {
  const state = await readJson<SupervisorState>(join(dir, 'state.json'));
  return state && processStartTime(state.pid) === state.startTime ? state : undefined;
}

/** Which boot, and field 22 of /proc/PID/stat, counted after the command's name because that may contain anything. */
export function processStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${bootId()} ${fields[19]}`;
  } catch (error) {
    return absent<undefined>(undefined)(error);
  }
}

/** Pids and ticks begin anew with each boot. */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
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
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return answer;
    throw error;
  };
}
