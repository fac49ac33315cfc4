/** What there is to know about a cluster, as plain data. */
import { join } from 'node:path';
import { InvalidInput, PodloomError, Unavailable } from '@podloom/api';
import { createClient, loadConfig, nodes as nodeResource } from '@podloom/kube';
import { nodePaths } from '../config/node.ts';
import type { PartName, PartState } from '../parts/part.ts';
import { parts } from '../parts/parts.ts';
import { isLinked } from './link.ts';
import { type ClusterPlan, defaultName, parseClusterName } from './plan.ts';
import { type ProcessState, readState, type SupervisorState } from './state.ts';
import { readAllPlans, readPlan } from './store.ts';

export interface NodeStatus {
  name: string;
  address: string;
  podRange: string;
  /** Undefined where the API server does not answer. */
  ready: boolean | undefined;
  /** Holds the node's namespaces open; null when the cluster does not run. */
  pid: number | null;
  /** Sockets and folders as software on the node finds them. */
  paths: typeof nodePaths;
  /** The node's file system as seen from this machine: `hostRoot` + a path above. */
  hostRoot: string | null;
}

export interface ClusterStatus {
  name: string;
  /** `stopped`: its data is there but nothing keeps it running; `clusterUp` brings it back. */
  phase: 'starting' | 'ready' | 'stopped';
  step: string;
  supervisorPid: number | null;
  /** Whether this machine has a way into the cluster. Without it, its addresses lead elsewhere: connect to none. */
  linked: boolean;
  kubeconfig: string;
  dir: string;
  addresses: {
    range: string;
    apiServer: string;
    host: string;
    podRange: string;
    serviceRange: string;
    dns: string;
  };
  nodes: NodeStatus[];
  processes: ProcessState[];
  parts: PartStatus[];
}

export interface PartStatus {
  name: PartName;
  state: PartState['state'] | 'stopped';
  /** Why it failed. */
  reason: string | undefined;
  /** What people and programs need to use it: addresses, names, files. */
  facts: Readonly<Record<string, string>>;
}

export async function clusterStatus({ name = defaultName }: { name?: string } = {}): Promise<ClusterStatus> {
  const { plan, state } = await find(name);
  const linked = isLinked(plan);
  const ready = state && linked ? await readyNodes(plan) : undefined;
  return {
    name,
    phase: state?.phase ?? 'stopped',
    step: state?.step ?? 'Not running',
    supervisorPid: state?.pid ?? null,
    linked,
    kubeconfig: kubeconfigOf(plan),
    dir: plan.dir,
    addresses: {
      range: plan.range,
      apiServer: `https://${plan.controlAddress}:6443`,
      host: plan.hostAddress,
      podRange: plan.podRange,
      serviceRange: plan.serviceRange,
      dns: plan.dnsAddress,
    },
    nodes: plan.members.map(({ name: node, address, podRange }) => {
      const pid = state?.holders[node] ?? null;
      return {
        name: node,
        address,
        podRange,
        ready: ready && ready.has(node),
        pid,
        paths: nodePaths,
        hostRoot: pid === null ? null : `/proc/${pid}/root`,
      };
    }),
    processes: state?.processes ?? [],
    parts: (plan.parts ?? []).map((part) => {
      const seen = state?.parts?.find((one) => one.name === part);
      const facts = parts[part].facts(plan);
      return { name: part, state: seen?.state ?? (state ? 'starting' : 'stopped'), reason: seen?.reason, facts };
    }),
  };
}

/** Names of all clusters on this machine, running or not. */
export async function clusterNames(): Promise<string[]> {
  return (await readAllPlans()).map((plan) => plan.name).toSorted();
}

/** Path of the administrator's kubeconfig. */
export async function clusterKubeconfig({ name = defaultName }: { name?: string } = {}): Promise<string> {
  return kubeconfigOf((await find(name)).plan);
}

/** What is written down about a cluster, and what its supervisor says if it lives. */
export async function find(name: string): Promise<{ plan: ClusterPlan; state: SupervisorState | undefined }> {
  const plan = await readPlan(parseClusterName(name));
  if (!plan) throw new InvalidInput('NO_CLUSTER', `There is no cluster ${name}; make it with: podloom cluster up`);
  return { plan, state: await readState(plan.dir) };
}

/** As `find`, for what needs the cluster to run. */
export async function findRunning(name: string): Promise<{ plan: ClusterPlan; state: SupervisorState }> {
  const { plan, state } = await find(name);
  if (!state)
    throw new Unavailable('CLUSTER_STOPPED', `Cluster ${name} is not running; start it with: podloom cluster up`);
  return { plan, state };
}

function kubeconfigOf(plan: ClusterPlan): string {
  return join(plan.pki, 'admin.kubeconfig');
}

const answerWithinMs = 3_000;

async function readyNodes(plan: ClusterPlan): Promise<Set<string> | undefined> {
  const client = createClient(await loadConfig({ path: kubeconfigOf(plan) }));
  try {
    const { items } = await client.list(nodeResource, { signal: AbortSignal.timeout(answerWithinMs) });
    const ready = items.filter((node) =>
      node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
    );
    return new Set(ready.flatMap((node) => node.metadata.name ?? []));
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
    if (isTimeout || error instanceof PodloomError) return undefined;
    throw error;
  } finally {
    await client.close();
  }
}
