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
  /** Those that run, as many on each node. */
  readonly pods: readonly string[];
  readonly kernel: KernelWatch;
  readonly configs: Cache<PodConfig>;
  /** Process ids, as this machine counts. */
  readonly processes: Readonly<Record<Part, readonly number[]>>;
  /** Starts more pods, until so many run on each node. */
  grow(podsPerNode: number): Promise<void>;
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
  readonly progress: (text: string) => void;
}

/** Makes the namespace of this run, and refuses to share one: pods that are there already are looked at all the time, and would be measured as well. */
export async function claimNamespace(client: Client, kubeconfig: string): Promise<void> {
  try {
    await client.create(namespaces, { metadata: { name: namespace } });
  } catch (cause) {
    if (!isAlreadyExists(cause)) throw cause;
    const remove = `kubectl --kubeconfig ${kubeconfig} delete namespace ${namespace}`;
    throw new Error(`Namespace ${namespace} was left by an earlier run; remove it with: ${remove}`, { cause });
  }
}

/** In a namespace that was claimed. */
export async function openWorld({ client, cluster, progress }: WorldOptions): Promise<World> {
  await using undo = new AsyncDisposableStack();
  const stop = new AbortController();
  undo.defer(() => stop.abort());
  const common = { client, log: silentLog, signal: stop.signal };
  const { nodes, processes } = await clusterStatus({ name: cluster });
  const pidsOf = (part: string): number[] => processes.flatMap(({ name, pid }) => (name === part && pid ? pid : []));
  const runtimes = new Map(
    nodes.map(({ name, hostRoot, paths }) => {
      const cri = connectCri(`${hostRoot ?? ''}${paths.containerdSocket}`);
      undo.defer(() => cri.close());
      return [name, podFinder(cri)];
    }),
  );
  const processOf = async ({ metadata, spec }: Pod) => {
    const process = await runtimes.get(spec?.nodeName ?? '')?.find(metadata.uid ?? '');
    if (!process) throw new Error(`The runtime of ${spec?.nodeName} does not know pod ${metadata.name}`);
    return process;
  };
  const { items: productPods } = await client.list(pods, { namespace: 'podloom-system' });
  const pidsOfProduct = async (part: string): Promise<number[]> => {
    const isPart = ({ metadata }: Pod): boolean =>
      metadata.labels?.['app.kubernetes.io/component'] === part && metadata.deletionTimestamp === undefined;
    return (await Promise.all(productPods.filter(isPart).map(processOf))).map(({ pid }) => pid);
  };
  const [operator, agent] = await Promise.all([pidsOfProduct('network-operator'), pidsOfProduct('agent')]);

  const kernel = kernelWatch(linkPrefix);
  const opened: Netns[] = [];
  undo.defer(() => opened.forEach((netns) => netns.close()));
  const listening = undo.use(monitor<string>(kernel.hear));
  const names: string[] = [];
  const grow = async (podsPerNode: number): Promise<void> => {
    const all = Array.from({ length: podsPerNode }, (_, i) => nodes.map(({ name }) => draft(name, i))).flat();
    const more = all.slice(names.length);
    if (more.length === 0) return;
    progress(`starting ${more.length} pods`);
    const starting = new AbortController();
    using _ = { [Symbol.dispose]: () => starting.abort() };
    const running = startCache<Pod>({ ...common, signal: starting.signal, resource: pods, namespace });
    await Promise.all(more.map((pod) => client.create(pods, pod, { namespace })));
    await until(running, () => running.list().filter(isRunning).length >= all.length);
    progress('listening in their namespaces');
    for (const { metadata } of more) {
      const netns = open({ pid: (await processOf(running.get(metadata.name, namespace)!)).netnsPid });
      opened.push(netns);
      listening.add(metadata.name, netns, ['link', 'address']);
      names.push(metadata.name);
    }
  };

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
  const withdraw = (config: string) => client.delete(podConfigKind.resource, config, { namespace });
  const owned = undo.move();
  return {
    client,
    pods: names,
    kernel,
    configs,
    lookInside,
    grow,
    processes: { operator, agent, apiserver: pidsOf('kube-apiserver'), etcd: pidsOf('etcd') },
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
