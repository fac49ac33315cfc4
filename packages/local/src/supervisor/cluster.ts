/** The parts of a cluster, in the order in which they can start. */
import { join } from 'node:path';
import { PodloomError } from '@podloom/api';
import { type Client, createClient, loadConfig, nodes as nodeResource } from '@podloom/kube';
import type { Binaries } from '../binaries/build.ts';
import { isLinked } from '../cluster/link.ts';
import type { ClusterPlan, NodePlan } from '../cluster/plan.ts';
import type { SupervisorState } from '../cluster/state.ts';
import {
  apiServerArgs,
  authenticationFile,
  controllerManagerArgs,
  etcdArgs,
  schedulerArgs,
} from '../config/control-plane.ts';
import { dnsReadyPort, kubeletArgs, kubeletSysctls, nodePaths } from '../config/node.ts';
import { run } from '../process/run.ts';
import { waitFor } from '../process/wait.ts';
import { writeFiles } from './files.ts';
import { Launcher } from './launcher.ts';
import { buildFileSystem, buildNetwork, enterNode, networkOnly, startHolder, wholeNode } from './namespaces.ts';
import { applyObjects } from './objects.ts';

export interface StartOptions {
  plan: ClusterPlan;
  built: Binaries;
  pauseArchive: string;
  signal: AbortSignal;
  /** Told what is done next. */
  step: (text: string) => void;
  /** Told when holders or processes changed. */
  changed: (change: Partial<Pick<SupervisorState, 'holders' | 'processes'>>) => void;
}

const patience = { timeoutMs: 120_000 };

export interface RunningCluster {
  /** Resolves when a namespace is lost and all must start anew. */
  lost: Promise<string>;
  launcher: Launcher;
}

/** Returns when all nodes are ready. */
export async function startCluster(options: StartOptions): Promise<RunningCluster> {
  const { plan, built, signal, step, changed } = options;
  const startedAt = Date.now();

  step('Making namespaces and links');
  await writeFiles(plan, built);
  const pause = built.path('pause');
  const [control, ...nodeHolders] = await Promise.all([
    startHolder('control', networkOnly, pause),
    ...plan.members.map(async (node) => startHolder(node.name, wholeNode, pause)),
  ]);
  const nodes = new Map(nodeHolders.map((holder) => [holder.name, holder]));
  const holders = Object.fromEntries([control, ...nodeHolders].map(({ name, pid }) => [name, pid]));
  changed({ holders, processes: [] });
  const launcher = new Launcher({
    plan,
    built,
    control,
    nodes,
    signal,
    changed: (processes) => changed({ processes }),
  });
  await Promise.all([
    buildNetwork(plan, control, nodes),
    ...plan.members.map(async (node) => buildFileSystem(plan, node, launcher.pidOf(node))),
  ]);
  const inControl = (name: string, args: readonly string[]) => launcher.inControl(name, [built.path(name), ...args]);

  step('Starting etcd, the API server and containerd');
  const { pki } = plan;
  const unsafeNoFsync = plan.throwAway ?? false;
  const etcd = { dataDir: join(plan.dir, 'etcd'), pki, clientPort: 2379, peerPort: 2380, unsafeNoFsync };
  const authentication = authenticationFile(plan.dir);
  const api = {
    authentication,
    pki,
    etcdPort: 2379,
    address: plan.controlAddress,
    port: 6443,
    serviceRange: plan.serviceRange,
  };
  inControl('etcd', etcdArgs(etcd));
  inControl('kube-apiserver', apiServerArgs(api));
  for (const node of plan.members) {
    launcher.onNode(node, 'containerd', [built.path('containerd'), '--config', join(node.dir, 'containerd.toml')]);
  }
  const client = createClient(await loadConfig({ path: join(pki, 'admin.kubeconfig') }));
  try {
    await Promise.all([
      waitFor(async () => answers(plan, async () => isReady(client)), {
        what: 'A ready API server',
        ...patience,
        signal,
      }),
      ...plan.members.map(async (node) => loadImage(built, launcher.pidOf(node), options.pauseArchive, signal)),
    ]);

    step('Starting controllers, kubelets and proxies');
    const volumePlugins = join(plan.dir, 'volume-plugins');
    inControl('kube-controller-manager', controllerManagerArgs({ pki, podRange: plan.podRange, volumePlugins }));
    inControl('kube-scheduler', schedulerArgs(pki));
    for (const node of plan.members) {
      const kubelet = [built.path('kubelet'), ...kubeletArgs(plan, node)];
      launcher.onNode(node, 'kubelet', ['unshare', ...withOwnSysctls(node), ...kubelet]);
      launcher.onNode(node, 'kube-proxy', [built.path('kube-proxy'), `--config=${join(node.dir, 'proxy.json')}`]);
    }
    await waitFor(async () => answers(plan, async () => applyObjects(client, plan)), {
      what: 'The objects for DNS',
      ...patience,
      signal,
    });
    inControl('coredns', ['-conf', join(plan.dir, 'Corefile')]);

    step('Waiting for the nodes and DNS');
    await waitFor(async () => answers(plan, async () => isDnsReady(plan)), {
      what: 'A ready CoreDNS',
      ...patience,
      signal,
    });
    await waitFor(async () => answers(plan, async () => areNodesReady(client, plan, startedAt)), {
      what: 'Ready nodes',
      ...patience,
      signal,
    });
  } finally {
    await client.close();
  }
  const ended = [control, ...nodeHolders].map(async (holder) => holder.ended.then(() => holder.name));
  return { lost: Promise.race(ended), launcher };
}

/**
 * Arguments of unshare that run what follows with files in place of the machine's own settings that a kubelet changes. In a mount namespace below the node's
 * that shares all other mounts: the volumes that a kubelet mounts must reach the containers.
 */
function withOwnSysctls(node: NodePlan): string[] {
  const script = `set -eu
dir=$1
shift
mount --make-rprivate /proc
for file in ${Object.keys(kubeletSysctls).join(' ')}; do
  if [ -e "/proc/sys/$file" ]; then mount --bind "$dir/$file" "/proc/sys/$file"; fi
done
exec "$@"`;
  return ['--mount', '--propagation', 'unchanged', 'sh', '-c', script, 'sh', join(node.dir, 'sysctl')];
}

async function isReady(client: Client): Promise<boolean> {
  const { status } = await client.request('/readyz');
  return status === 200;
}

async function isDnsReady({ controlAddress }: ClusterPlan): Promise<boolean> {
  return fetch(`http://${controlAddress}:${dnsReadyPort}/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Ready as said by a kubelet of this start, not as remembered from before. */
async function areNodesReady(client: Client, plan: ClusterPlan, startedAt: number): Promise<boolean> {
  const { items } = await client.list(nodeResource);
  const ready = items.filter((node) =>
    node.status?.conditions?.some(
      ({ type, status, lastHeartbeatTime }) =>
        // The API has whole seconds.
        type === 'Ready' && status === 'True' && Date.parse(String(lastHeartbeatTime)) >= startedAt - 1000,
    ),
  );
  return plan.members.every(({ name }) => ready.some((node) => node.metadata.name === name));
}

/** As `soon`, for what goes over the network: without the control plane's namespace there is no way to it any more. */
async function answers(plan: ClusterPlan, look: () => Promise<unknown>): Promise<boolean> {
  return isLinked(plan) && soon(look);
}

/** While things start, a call that fails is one to be tried again: the answer is "not yet". */
async function soon(look: () => Promise<unknown>): Promise<boolean> {
  try {
    return (await look()) !== false;
  } catch (error) {
    if (error instanceof PodloomError) return false;
    throw error;
  }
}

/** Gives an image to one node's containerd, as soon as that answers. */
export async function loadImage(built: Binaries, pid: number, archive: string, signal: AbortSignal): Promise<void> {
  const ctr = [built.path('ctr'), '--address', nodePaths.containerdSocket, '--namespace', 'k8s.io'];
  const enter = enterNode(pid);
  await waitFor(async () => soon(async () => run('nsenter', [...enter, ...ctr, 'version'])), {
    what: 'An answer from containerd',
    ...patience,
    signal,
  });
  await run('nsenter', [...enter, ...ctr, 'images', 'import', archive]);
}
