/**
 * The product on a real cluster as its users see it: kubectl, the inside of a pod, and the network of a node. Every test plays in a namespace of
 * its own, and at its end nothing of ours may be left on any node.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clusterLoad, clusterNames, clusterStatus, toolsImage, type NodeStatus } from '@podloom/local';
import { expect, inject, onTestFinished, vi } from 'vitest';
import { commandsFor, manifest, type Commands } from '../chart/installed.ts';
import { ensureImage, ensureProduct } from '../chart/product.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
/** IFLA_GROUP of every link of ours, and the protocol of our rules and routes, as `ip` prints them. */
const group = '1886348396';
const protocol = '149';

export const systemNamespace = 'podloom-system';

/** Facts come within seconds; on a machine that does much else, within many. */
export const eventually = <T>(check: () => Promise<T>, timeout = 60_000): Promise<T> =>
  vi.waitFor(check, { timeout, interval: 100 });

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation?: number };
}

export interface Pod extends Named {
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly restartCount: number;
      readonly containerID?: string;
    }[];
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

export interface Source extends Named {
  readonly status?: {
    readonly phase?: string;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly podConfigurations?: readonly { readonly podName: string; readonly configList: readonly string[] }[];
    readonly PodNetworkConfigs?: readonly { readonly podName: string; readonly configList: readonly string[] }[];
  };
}

export interface PodNetwork extends Named {
  readonly spec: { readonly podUid: string; readonly nodeName: string };
  readonly status?: {
    readonly podPid?: number;
    readonly interfaces?: readonly { readonly name: string; readonly hostName: string; readonly state: string }[];
    readonly primary?: { readonly before?: object; readonly applied?: object };
  };
}

/** A link in a pod, besides the cluster's own. */
export interface Link {
  readonly name: string;
  readonly mtu: number;
  readonly mac: string;
  readonly alias: string;
  /** Without the link-local ones, which the kernel gives. */
  readonly addresses: readonly string[];
}

interface IpLink {
  readonly ifname: string;
  readonly mtu: number;
  readonly address: string;
  readonly ifalias?: string;
  readonly group?: string;
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[];
}

export interface World extends Commands {
  readonly kubeconfig: string;
  /** A command in the network of a node; the text that it printed. */
  onNode(node: string, ...command: string[]): Promise<string>;
  /** A command in the network of a pod, with all the rights that its own processes do not have. */
  asRootIn(network: PodNetwork, ...command: string[]): Promise<string>;
  readonly nodes: readonly string[];
  /** The real command line. */
  podloom(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** What others have in the node's network: it must be the same whatever we do. */
  foreign(node: string): Promise<Record<string, string[]>>;
  /** Links, rules and routes of ours, on all nodes. */
  ours(): Promise<string[]>;
  scene(name: string): Promise<Scene>;
  pods(namespace: string): Promise<Pod[]>;
  /** Waits for the namespaces of all scenes: the next file finds the nodes as this one did. */
  end(): Promise<void>;
  /** Finds the first process of each pod; what it returns is SIGKILL for them, at once. */
  aim(pods: readonly Pod[]): () => void;
}

export interface Scene {
  readonly namespace: string;
  apply(...objects: object[]): Promise<void>;
  kube(...args: string[]): Promise<string>;
  get<T>(...args: string[]): Promise<T>;
  pods(): Promise<Pod[]>;
  /** Makes the pods and returns when they run. */
  start(...pods: object[]): Promise<Pod[]>;
  running(count: number): Promise<Pod[]>;
  inPod(pod: string, ...command: string[]): Promise<string>;
  links(pod: string): Promise<Link[]>;
  /** Returns when the object says that it is as declared, in its present generation. */
  ready(object: string): Promise<Source>;
  condition(object: string, type: string): Promise<Condition | undefined>;
  network(pod: string): Promise<PodNetwork>;
  /** What must stay: uid and restarts of every pod. */
  lives(): Promise<string[]>;
  /** Nothing of ours in the namespace, in its pods or on any node. */
  clean(): Promise<void>;
}

const cluster = inject('clusterName') || (await clusterOf(inject('kubeconfig')));

/** Looking at nodes needs a private cluster. */
export const isPrivate = cluster !== '';

async function clusterOf(kubeconfig: string): Promise<string> {
  const text = readFileSync(kubeconfig, 'utf8');
  for (const name of await clusterNames()) {
    if (text.includes((await clusterStatus({ name })).addresses.apiServer)) return name;
  }
  return '';
}

const enter = async (pid: number, ...command: string[]): Promise<string> =>
  (await run('nsenter', ['--target', String(pid), '--net', '--', ...command], { maxBuffer: 64 << 20 })).stdout;

export async function openWorld(): Promise<World> {
  const kubeconfig = inject('kubeconfig');
  const commands = await commandsFor(kubeconfig);
  if (inject('clusterName') === '') {
    const { out } = await toolsImage({ out: join(root, 'dist/tools-test.tar'), name: inject('toolsImage') });
    await clusterLoad({ name: cluster, archive: out });
    await ensureImage();
    await clusterLoad({ name: cluster, archive: join(root, 'dist/podloom-image.tar') });
  }
  await ensureProduct();
  const { nodes } = await clusterStatus({ name: cluster });
  const pids = new Map(nodes.map(({ name, pid }: NodeStatus) => [name, pid ?? 0]));
  const world: World = {
    ...commands,
    kubeconfig,
    nodes: [...pids.keys()],
    onNode: (node, ...command) => enter(pids.get(node) ?? 0, ...command),
    asRootIn: ({ status }, ...command) => enter(status?.podPid ?? 0, ...command),
    podloom: (...args) =>
      new Promise((resolve) => {
        const env = { ...process.env, KUBECONFIG: kubeconfig };
        execFile(join(root, 'podloom'), args, { env }, (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
        );
      }),
    async foreign(node) {
      const lines = async (...command: string[]): Promise<string[]> =>
        (await world.onNode(node, ...command))
          .replaceAll(/counter packets \d+ bytes \d+/g, 'counter')
          .split('\n')
          .filter((line) => line !== '' && !line.includes(`proto ${protocol}`));
      return {
        links: (await lines('ip', '-o', 'link')).filter((line) => !line.includes(`group ${group}`)),
        mainTable: await lines('ip', 'route', 'show', 'table', 'main'),
        mainTable6: await lines('ip', '-6', 'route', 'show', 'table', 'main'),
        rules: await lines('ip', '-d', 'rule'),
        rules6: await lines('ip', '-d', '-6', 'rule'),
        nft: await lines('nft', 'list', 'ruleset'),
      };
    },
    async ours() {
      const found = await Promise.all(
        world.nodes.map(async (node) => {
          const [links, ...routing] = await Promise.all([
            world.onNode(node, 'ip', '-o', 'link'),
            ...['-4', '-6'].flatMap((family) => [
              world.onNode(node, 'ip', family, '-d', 'rule'),
              world.onNode(node, 'ip', family, 'route', 'show', 'table', 'all'),
            ]),
          ]);
          const marked = [
            ...(links ?? '').split('\n').filter((line) => line.includes(`group ${group}`)),
            ...routing.flatMap((text) => text.split('\n')).filter((line) => line.includes(`proto ${protocol}`)),
          ];
          return marked.map((line) => `${node} ${line}`);
        }),
      );
      return found.flat();
    },
    pods: async (namespace) => (await commands.get<{ items: Pod[] }>('pods', '-n', namespace)).items,
    aim(pods) {
      const groups = new Map(
        readdirSync('/proc').flatMap((entry) => (/^\d+$/.test(entry) ? [[groupOf(entry), entry]] : [])),
      );
      const pids = pods.map(({ status }) => {
        const id = status.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? 'none';
        const [, pid] = [...groups].find(([group]) => group.includes(id)) ?? [];
        if (pid === undefined) throw new Error(`No process of container ${id}`);
        return Number(pid);
      });
      return () => pids.forEach((pid) => process.kill(pid, 'SIGKILL'));
    },
    async end() {
      await commands.kube(['delete', 'namespace', '--selector=podloom-test=scene', '--wait', '--timeout=180s']);
    },
    scene: (name) => openScene(world, name),
  };
  return world;
}

/** A process may go while it is looked at. */
function groupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}

async function openScene(world: World, name: string): Promise<Scene> {
  const namespace = `e2e-${name}`;
  const kube = (...args: string[]): Promise<string> => world.kube(['-n', namespace, ...args]);
  const get = async <T>(...args: string[]): Promise<T> => JSON.parse(await kube('get', ...args, '--output=json')) as T;
  await world.kube(['create', 'namespace', namespace]);
  await world.kube(['label', 'namespace', namespace, 'podloom-test=scene']);
  onTestFinished(async () => {
    await world.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await eventually(async () => expect(await world.ours()).toEqual([]));
  });
  const scene: Scene = {
    namespace,
    kube,
    get,
    apply: async (...objects) => {
      await world.kube(['apply', '--namespace', namespace, '--filename=-'], manifest(...objects));
    },
    pods: () => world.pods(namespace),
    async start(...pods) {
      await scene.apply(...pods);
      return scene.running(pods.length);
    },
    running: (count) =>
      eventually(async () => {
        const found = await scene.pods();
        const up = found.filter(({ status }) => status.containerStatuses?.every(({ ready }) => ready) ?? false);
        expect(up).toHaveLength(count);
        return up;
      }, 120_000),
    inPod: (pod, ...command) => kube('exec', pod, '--', ...command),
    async links(pod) {
      const found = JSON.parse(await kube('exec', pod, '--', 'ip', '-j', '-d', 'address')) as IpLink[];
      return found
        .filter(({ ifname }) => ifname !== 'lo' && ifname !== 'eth0')
        .map(({ ifname, mtu, address, ifalias = '', addr_info: addresses }) => ({
          name: ifname,
          mtu,
          mac: address,
          alias: ifalias,
          addresses: addresses
            .filter(({ scope }) => scope !== 'link')
            .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
        }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    ready: (object) =>
      eventually(async () => {
        const found = await get<Source>(object);
        expect(found.status?.conditions ?? []).toContainEqual(
          expect.objectContaining({ type: 'Ready', status: 'True', observedGeneration: found.metadata.generation }),
        );
        return found;
      }),
    condition: async (object, type) =>
      (await get<Source>(object)).status?.conditions?.find((condition) => condition.type === type),
    network: (pod) => get<PodNetwork>('podnetwork', pod),
    lives: async () =>
      (await scene.pods()).map(
        ({ metadata, status }) =>
          `${metadata.name} ${metadata.uid} ${status.containerStatuses?.map(({ restartCount }) => restartCount).join()}`,
      ),
    clean: () =>
      eventually(async () => {
        expect(await kube('get', 'podnetworks,ippools', '--output=name')).toBe('');
        expect(await world.ours()).toEqual([]);
        for (const { metadata } of await scene.pods()) expect(await scene.links(metadata.name)).toEqual([]);
      }),
  };
  return scene;
}

/** A pod without any right, on the first node where not said otherwise: a bridge connects the pods of its node. */
export const pod = (name: string, labels: Record<string, string> = {}, nodeName = 'n1'): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: podSpec(nodeName),
});

export const podSpec = (nodeName: string): object => ({
  nodeName,
  terminationGracePeriodSeconds: 1,
  containers: [
    {
      name: 'main',
      image: inject('toolsImage'),
      imagePullPolicy: 'Never',
      securityContext: { allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: { drop: ['ALL'] } },
    },
  ],
});

export const podConfig = (name: string, ...networkAttachments: object[]): object => ({
  apiVersion: 'podconfig.opdev.io/v1alpha1',
  kind: 'PodConfig',
  metadata: { name },
  spec: { networkAttachments },
});

export const podNetworkConfig = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetworkConfig',
  metadata: { name },
  spec,
});

export const additionalNetwork = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'AdditionalNetwork',
  metadata: { name },
  spec,
});

export const primaryNetwork = (name: string, spec: object): object => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PrimaryNetwork',
  metadata: { name },
  spec,
});
