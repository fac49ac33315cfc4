/** Running pods that have nothing yet, with a listener in the network namespace of each: the kernel says when an address can be used. */
import { connectCri, podFinder } from '@podloom/agent';
import {
  ipPoolKind,
  podConfigKind,
  podConfigLabel,
  podNetworkKind,
  type IPPool,
  type PodConfig,
  type PodConfigSpec,
  type PodNetwork,
} from '@podloom/api';
import {
  isAlreadyExists,
  namespaces,
  pods,
  silentLog,
  startCache,
  type Cache,
  type Client,
  type Pod,
} from '@podloom/kube';
import { clusterStatus } from '@podloom/local';
import { monitor, open, type Netns } from '@podloom/netlink';
import { kernelWatch, type KernelWatch } from './kernel.ts';

export const namespace = 'bench';
export const linkPrefix = 'pc';
const image = 'podloom.local/pause:v1';

export type Part = 'operator' | 'agent' | 'apiserver' | 'etcd';

/** What no tenant watches. Watched while a sample is taken, it would be counted as our own work. */
export interface Inside extends AsyncDisposable {
  readonly networks: Cache<PodNetwork>;
  readonly pools: Cache<IPPool>;
}

export interface World extends AsyncDisposable {
  readonly client: Client;
  readonly pods: readonly string[];
  readonly kernel: KernelWatch;
  readonly configs: Cache<PodConfig>;
  /** Process ids, as this machine counts. */
  readonly processes: Readonly<Record<Part, readonly number[]>>;
  /** Gives pods the label that the PodConfig of this name chooses by; without a name, takes it away. */
  choose(pods: readonly string[], config: string | null): Promise<void>;
  create(config: string, attachments: number): Promise<void>;
  /** Deletes it, and waits for nothing. */
  withdraw(config: string): Promise<void>;
  /** Resolves when nothing is left of it, neither in the kernel nor in a pool. It must be the last. */
  remove(config: string): Promise<void>;
  lookInside(): Promise<Inside>;
}

export interface WorldOptions {
  readonly client: Client;
  readonly cluster: string;
  readonly podsPerNode: number;
  readonly progress: (text: string) => void;
}

export async function openWorld({ client, cluster, podsPerNode, progress }: WorldOptions): Promise<World> {
  await using undo = new AsyncDisposableStack();
  const stop = new AbortController();
  undo.defer(() => stop.abort());
  const common = { client, log: silentLog, signal: stop.signal };
  const { nodes, processes } = await clusterStatus({ name: cluster });
  const pidsOf = (part: string): number[] => processes.flatMap(({ name, pid }) => (name === part && pid ? pid : []));

  progress(`starting ${nodes.length * podsPerNode} pods`);
  await ensure(client.create(namespaces, { metadata: { name: namespace } }));
  const starting = new AbortController();
  undo.defer(() => starting.abort());
  const running = startCache<Pod>({ ...common, signal: starting.signal, resource: pods, namespace });
  const drafts = Array.from({ length: podsPerNode }, (_, i) => nodes.map((node) => draft(node.name, i))).flat();
  await Promise.all(drafts.map((pod) => ensure(client.create(pods, pod, { namespace }))));
  await until(running, () => running.list().filter(isRunning).length === drafts.length);

  progress('listening in their namespaces');
  const opened: { name: string; netns: Netns }[] = [];
  undo.defer(() => opened.forEach(({ netns }) => netns.close()));
  const found = { operator: [] as number[], agent: [] as number[] };
  const { items: productPods } = await client.list(pods, { namespace: 'podloom-system' });
  for (const { name, hostRoot, paths } of nodes) {
    const cri = connectCri(`${hostRoot ?? ''}${paths.containerdSocket}`);
    using _ = { [Symbol.dispose]: () => cri.close() };
    const finder = podFinder(cri);
    const find = async (pod: Pod) => {
      const process = await finder.find(pod.metadata.uid ?? '');
      if (!process) throw new Error(`The runtime of ${name} does not know pod ${pod.metadata.name}`);
      return process;
    };
    for (const pod of running.list().filter(({ spec }) => spec?.nodeName === name)) {
      opened.push({ name: pod.metadata.name ?? '', netns: open({ pid: (await find(pod)).netnsPid }) });
    }
    for (const part of ['operator', 'agent'] as const) {
      const isPart = ({ metadata, spec }: Pod): boolean =>
        spec?.nodeName === name &&
        metadata.labels?.['app.kubernetes.io/component'] === part &&
        metadata.deletionTimestamp === undefined;
      for (const pod of productPods.filter(isPart)) found[part].push((await find(pod)).pid);
    }
  }
  starting.abort();
  const kernel = kernelWatch(linkPrefix);
  const listening = undo.use(monitor<string>(kernel.hear));
  for (const { name, netns } of opened) listening.add(name, netns, ['link', 'address']);

  const configs = startCache<PodConfig>({ ...common, resource: podConfigKind.resource, namespace });
  await configs.waitForSync();
  const lookInside = async (): Promise<Inside> => {
    const looking = new AbortController();
    const signal = AbortSignal.any([stop.signal, looking.signal]);
    const networks = startCache<PodNetwork>({ ...common, signal, resource: podNetworkKind.resource, namespace });
    const pools = startCache<IPPool>({ ...common, signal, resource: ipPoolKind.resource, namespace });
    await Promise.all([networks.waitForSync(), pools.waitForSync()]);
    return {
      networks,
      pools,
      async [Symbol.asyncDispose]() {
        looking.abort();
        await Promise.all([networks.ended, pools.ended]);
      },
    };
  };
  const names = drafts.map(({ metadata }) => metadata.name);
  const withdraw = (config: string) => client.delete(podConfigKind.resource, config, { namespace });
  const owned = undo.move();
  return {
    client,
    pods: names,
    kernel,
    configs,
    lookInside,
    processes: { ...found, apiserver: pidsOf('kube-apiserver'), etcd: pidsOf('etcd') },
    async choose(chosen, config) {
      const patch = { metadata: { labels: { [podConfigLabel]: config } } };
      await Promise.all(chosen.map((pod) => client.patch(pods, pod, patch, { namespace, type: 'merge' })));
    },
    async create(config, attachments) {
      await client.create(
        podConfigKind.resource,
        { metadata: { name: config, namespace }, spec: specOf(attachments) },
        { namespace },
      );
    },
    withdraw,
    async remove(config) {
      await withdraw(config);
      await kernel.until(names, 0);
      await until(configs, () => configs.get(config, namespace) === undefined);
      await using inside = await lookInside();
      await until(inside.networks, () => inside.networks.size === 0);
      await until(inside.pools, () => !holdsAddress(inside));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Whether someone has an address, or this pod has. */
export const holdsAddress = ({ pools }: Inside, pod?: string): boolean =>
  pools
    .list()
    .some(({ status }) =>
      status?.allocations?.some(
        ({ podName, releasedAt }) => releasedAt === undefined && (pod === undefined || podName === pod),
      ),
    );

/** Ranges so large that no address has to cool down before it is needed again. */
function specOf(attachments: number): PodConfigSpec {
  const networkAttachments = Array.from({ length: attachments }, (_, i) => ({
    name: `${linkPrefix}${i}`,
    linkType: 'veth' as const,
    master: `benchbr${i}`,
    cidr: `172.${16 + i}.0.0/20`,
  }));
  return { networkAttachments };
}

const draft = (nodeName: string, i: number) => ({
  metadata: { name: `${nodeName}-${i}`, namespace },
  spec: {
    nodeName,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'pause', image, imagePullPolicy: 'IfNotPresent' as const }],
  },
});

/** They go with the cluster; who has one that stays has them from the last run. */
async function ensure(creating: Promise<unknown>): Promise<void> {
  try {
    await creating;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

const isRunning = ({ status }: Pod): boolean => status?.phase === 'Running';

const patienceMs = 300_000;

/** Resolves with the moment at which it was true, as the cache heard of it. */
export function until(cache: { subscribe(listener: () => void): () => void }, isTrue: () => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    if (isTrue()) {
      resolve(performance.now());
      return;
    }
    const timer = setTimeout(() => {
      undo();
      reject(new Error(`Not so after ${patienceMs / 1000} s: ${isTrue.toString()}`));
    }, patienceMs);
    const undo = cache.subscribe(() => {
      if (!isTrue()) return;
      undo();
      clearTimeout(timer);
      resolve(performance.now());
    });
  });
}
