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
import { binaries } from '../binaries/build.ts';
import { type BuildProgress, cacheDir } from '../binaries/once.ts';
import { pauseImageName } from '../config/node.ts';
import { pauseImage } from '../images/pause.ts';
import type { PartName } from '../parts/part.ts';
import { modulesOf, partCertificates, parts } from '../parts/parts.ts';
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
  /** Parts that it is to have besides those that it has; also for a cluster that runs. */
  with?: readonly PartName[];
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
  /** All that it has. */
  parts: readonly PartName[];
}

export async function clusterUp(options: UpOptions = {}): Promise<UpResult> {
  const { progress, signal } = options;
  const name = parseClusterName(options.name ?? defaultName);
  if (options.nodes !== undefined) parseNodeCount(options.nodes);
  checkMachine();
  const wanted = await wantedParts(name, options.with ?? []);
  const work = { ...(progress && { progress }), ...(signal && { signal }) };
  const built = await binaries({ modules: [...clusterModules, ...modulesOf(wanted)], ...work });
  const pause = await pauseArchive(built.path('pause'));
  for (const part of wanted) await parts[part].prepare({ built, ...work });

  const { plan, started, supervisorPid } = await withLock(
    `cluster ${name}`,
    async () => {
      const plan = await ensurePlan(name, options);
      await ensurePki(plan.pki, pkiRequest(plan));
      const state = await readState(plan.dir);
      if (state && !state.parts && plan.parts) throw olderSupervisor(plan);
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
  await waitForParts(plan, supervisorPid, progress, signal);
  return {
    name,
    kubeconfig: join(plan.pki, 'admin.kubeconfig'),
    nodes: plan.members.map((node) => node.name),
    started,
    throwAway: plan.throwAway ?? false,
    parts: plan.parts ?? [],
  };
}

/** Those that it has come back, too, and what they need may have gone from the cache. */
async function wantedParts(name: string, more: readonly PartName[]): Promise<PartName[]> {
  return [...new Set([...((await readPlan(name))?.parts ?? []), ...more])];
}

function olderSupervisor({ name }: ClusterPlan): Conflict {
  const way = `podloom cluster down --name ${name}, then up again`;
  return new Conflict('CLUSTER_OLDER', `Cluster ${name} was started by an older version that knows no parts: ${way}`);
}

/** Chosen under one lock for all clusters, so that two that start together do not choose the same range. */
async function ensurePlan(
  name: string,
  { nodes, throwAway = false, with: more = [] }: UpOptions,
): Promise<ClusterPlan> {
  const existing = await readPlan(name);
  if (existing) {
    if (nodes !== undefined && nodes !== existing.nodes) {
      throw new Conflict(
        'CLUSTER_NODES',
        `Cluster ${name} has ${existing.nodes} nodes; take it down first to make it one of ${nodes}`,
      );
    }
    const missing = more.filter((part) => !existing.parts?.includes(part));
    return missing.length > 0 ? addParts(existing, missing) : existing;
  }
  return withLock('cluster ranges', async () => {
    const others = await readAllPlans();
    const taken = [...(await observeRanges()), ...others.map((plan) => plan.range)];
    const spec = { name, network: chooseNetwork(taken), nodes: nodes ?? defaultNodes, throwAway };
    return writeSpec({ ...spec, ...(more.length > 0 && { parts: more }) });
  });
}

async function addParts({ name, network, nodes, throwAway, parts: before = [] }: ClusterPlan, more: PartName[]) {
  return writeSpec({
    name,
    network,
    nodes,
    ...(throwAway !== undefined && { throwAway }),
    parts: [...before, ...more],
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
    others: partCertificates(plan),
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

async function waitForParts(
  plan: ClusterPlan,
  pid: number,
  progress?: (event: UpProgress) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (const name of plan.parts ?? []) {
    let staleAttempts: number | undefined;
    let told = false;
    await waitFor(
      async () => {
        const state = await readState(plan.dir);
        if (state?.pid !== pid) throw await failure(plan);
        const part = state.parts?.find((one) => one.name === name);
        if (part?.state === 'ready') return true;
        if (!told) progress?.({ kind: 'step', text: `Starting ${name}` });
        told = true;
        // A failure from before counts for nothing: what was wrong may have been put right, and it is tried again.
        staleAttempts ??= part?.state === 'failed' ? part.attempts : 0;
        if (part?.state === 'failed' && part.attempts > staleAttempts) throw new PartFailed(name, part.reason);
        return false;
      },
      { what: `The start of ${name}`, timeoutMs: 300_000, everyMs: 100, signal },
    );
  }
}

class PartFailed extends Unavailable {
  constructor(name: string, reason = 'for an unknown reason') {
    super('PART', `The cluster runs, but ${name} does not: ${reason}`);
  }
}

async function failure(plan: ClusterPlan): Promise<Unavailable> {
  const text = await readFile(join(plan.logs, 'supervisor.log'), 'utf8').catch(() => '');
  const reason =
    text.trim().split('\n').slice(-15).join('\n') || 'its supervisor was killed, as by taking the cluster down';
  return new Unavailable('SUPERVISOR', `The cluster did not start: ${reason}`);
}
