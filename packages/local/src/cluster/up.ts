/**
 * Brings a cluster up. Whatever was before (nothing, a running cluster, the remains of a killed one, a folder from before a reboot), the
 * way is the same: if its supervisor lives there is nothing to do, else everything that is left of it is ended and it starts from
 * its data.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Conflict, Unavailable } from '@podloom/api';
import { binaries, type BuildProgress, cacheDir } from '../binaries/build.ts';
import { pauseImageName } from '../config/node.ts';
import { pauseImage } from '../images/pause.ts';
import { ensurePki } from '../pki/files.ts';
import { withLock } from '../process/lock.ts';
import { widePath } from '../process/path.ts';
import { waitFor } from '../process/wait.ts';
import { cgroupDoor, ensureCgroups } from './cgroup.ts';
import { endProcesses } from './down.ts';
import {
  apiServiceAddress,
  type ClusterPlan,
  defaultName,
  defaultNodes,
  parseClusterName,
  parseNodeCount,
} from './plan.ts';
import { chooseNetwork, observeRanges } from './ranges.ts';
import { checkMachine, clusterModules } from './requirements.ts';
import { readState } from './state.ts';
import { readAllPlans, readPlan, writeSpec } from './store.ts';

export type UpProgress = BuildProgress | { kind: 'step'; text: string };

export interface UpOptions {
  name?: string;
  nodes?: number;
  /** For a new cluster: see `ClusterSpec`. Tests and benchmarks have those, which are gone before anybody misses their data. */
  throwAway?: boolean;
  progress?: (event: UpProgress) => void;
  /** Stops the waiting, not the cluster: `clusterDown` does that. */
  signal?: AbortSignal;
}

export interface UpResult {
  name: string;
  kubeconfig: string;
  nodes: string[];
  /** False where the cluster was running already. */
  started: boolean;
  /** As it was made, whatever was asked for now. */
  throwAway: boolean;
}

export async function clusterUp(options: UpOptions = {}): Promise<UpResult> {
  const { progress, signal } = options;
  const name = parseClusterName(options.name ?? defaultName);
  if (options.nodes !== undefined) parseNodeCount(options.nodes);
  checkMachine();
  const built = await binaries({ modules: clusterModules, ...(progress && { progress }), ...(signal && { signal }) });
  const pause = await pauseArchive(built.path('pause'));

  const { plan, started, supervisorPid } = await withLock(
    `cluster ${name}`,
    async () => {
      const plan = await ensurePlan(name, options);
      await ensurePki(plan.pki, pkiRequest(plan));
      const state = await readState(plan.dir);
      if (state) return { plan, started: false, supervisorPid: state.pid };
      await endProcesses(plan);
      await ensureCgroups(
        plan.cgroup,
        plan.members.map((node) => node.name),
      );
      return { plan, started: true, supervisorPid: await startSupervisor(plan, pause) };
    },
    signal,
  );

  await waitUntilReady(plan, supervisorPid, progress, signal);
  return {
    name,
    kubeconfig: join(plan.pki, 'admin.kubeconfig'),
    nodes: plan.members.map((node) => node.name),
    started,
    throwAway: plan.throwAway ?? false,
  };
}

/** Chosen under one lock for all clusters, so that two that start together do not choose the same range. */
async function ensurePlan(name: string, { nodes, throwAway = false }: UpOptions): Promise<ClusterPlan> {
  const existing = await readPlan(name);
  if (existing) {
    if (nodes !== undefined && nodes !== existing.nodes) {
      throw new Conflict(
        'CLUSTER_NODES',
        `Cluster ${name} has ${existing.nodes} nodes; take it down first to make it one of ${nodes}`,
      );
    }
    return existing;
  }
  return withLock('cluster ranges', async () => {
    const others = await readAllPlans();
    const taken = [...(await observeRanges()), ...others.map((plan) => plan.range)];
    return writeSpec({ name, network: chooseNetwork(taken), nodes: nodes ?? defaultNodes, throwAway });
  });
}

function pkiRequest(plan: ClusterPlan) {
  return {
    server: `https://${plan.controlAddress}:6443`,
    apiServerNames: [
      plan.controlAddress,
      apiServiceAddress(plan),
      '127.0.0.1',
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ],
    nodes: plan.members,
  };
}

async function pauseArchive(program: string): Promise<string> {
  const out = join(cacheDir(), 'images', 'pause.tar');
  await mkdir(join(cacheDir(), 'images'), { recursive: true });
  await withLock(out, async () => pauseImage({ out, name: pauseImageName, program }));
  return out;
}

/**
 * In the cluster's group from its first moment, so that `down` finds it whenever we are interrupted. Returns when it has made itself known: before
 * that, another `up` would take it for what is left of a dead cluster.
 */
async function startSupervisor(plan: ClusterPlan, pause: string): Promise<number> {
  await mkdir(plan.logs, { recursive: true });
  const log = openSync(join(plan.logs, 'supervisor.log'), 'w', 0o600);
  const main = join(import.meta.dirname, '..', 'supervisor', 'main.ts');
  const enter = ['-c', 'echo $$ > "$1" && shift && exec "$@"', 'sh', await cgroupDoor(plan.cgroup)];
  const child = spawn('sh', [...enter, process.execPath, main, plan.name, pause], {
    detached: true,
    cwd: '/',
    stdio: ['ignore', log, log],
    env: supervisorEnv(),
  });
  closeSync(log);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
  const pid = child.pid ?? 0;
  await waitFor(
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw await failure(plan);
      return (await readState(plan.dir))?.pid === pid;
    },
    { what: 'A sign of the supervisor', timeoutMs: 60_000 },
  );
  return pid;
}

/** Nothing of the shell that happened to start it, such as proxies, reaches the cluster. */
function supervisorEnv(): Record<string, string> {
  const { HOME = '/root', XDG_CACHE_HOME } = process.env;
  return { PATH: widePath(), HOME, ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }) };
}

async function waitUntilReady(
  plan: ClusterPlan,
  pid: number,
  progress?: (event: UpProgress) => void,
  signal?: AbortSignal,
): Promise<void> {
  let lastStep = '';
  await waitFor(
    async () => {
      const state = await readState(plan.dir);
      if (state?.pid !== pid) throw await failure(plan);
      if (state.step !== lastStep) {
        lastStep = state.step;
        progress?.({ kind: 'step', text: state.step });
      }
      return state.phase === 'ready';
    },
    { what: `A ready cluster ${plan.name}`, timeoutMs: 300_000, signal },
  );
}

async function failure(plan: ClusterPlan): Promise<Unavailable> {
  const text = await readFile(join(plan.logs, 'supervisor.log'), 'utf8').catch(() => '');
  const reason =
    text.trim().split('\n').slice(-15).join('\n') || 'its supervisor was killed, as by taking the cluster down';
  return new Unavailable('SUPERVISOR', `The cluster did not start: ${reason}`);
}
