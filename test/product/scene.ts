/** One test's own namespace. At its end nothing of ours may be left on any node. */
import { expect, onTestFinished } from 'vitest';
import { manifest, type Commands } from '../chart/installed.ts';
import { eventually } from '../setup/eventually.ts';
import { type Link, type Nodes, readLinks } from './nodes.ts';
import type { Condition, Pod, PodNetwork, Source } from './objects.ts';

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
  /** Returns when the address has answered the pod: a first packet may be lost. */
  reaches(pod: string, address: string): Promise<void>;
  /** Ends the pod's container from within. */
  endContainer(pod: string): Promise<void>;
  /** Those in a pod, besides the cluster's own. */
  links(pod: string): Promise<Link[]>;
  /** Returns when the object says that it is as declared, in its present generation. */
  ready(object: string): Promise<Source>;
  condition(object: string, type: string): Promise<Condition | undefined>;
  /** Returns when whatever is made from now on is younger than the object. Ages are whole seconds; within one kind and name decide. */
  older(object: string): Promise<void>;
  network(pod: string): Promise<PodNetwork>;
  /** What must stay: uid and restarts of every pod. */
  lives(): Promise<string[]>;
  /** No PodNetwork, and no address in use. */
  holdsNothing(): Promise<void>;
  /** Nothing of ours in the namespace, in its pods or on any node. */
  clean(): Promise<void>;
}

export async function openScene(commands: Commands, nodes: Nodes, name: string): Promise<Scene> {
  const namespace = `e2e-${name}`;
  const kube = (...args: string[]): Promise<string> => commands.kube(['-n', namespace, ...args]);
  const get = async <T>(...args: string[]): Promise<T> => JSON.parse(await kube('get', ...args, '--output=json')) as T;
  await commands.kube(['create', 'namespace', namespace]);
  await commands.kube(['label', 'namespace', namespace, 'podloom-test=scene']);
  onTestFinished(async () => {
    await commands.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await eventually(async () => expect(await nodes.ours()).toEqual([]));
  });
  const scene: Scene = {
    namespace,
    kube,
    get,
    apply: async (...objects) => {
      await commands.kube(['apply', '--namespace', namespace, '--filename=-'], manifest(...objects));
    },
    pods: async () => (await get<{ items: Pod[] }>('pods')).items,
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
      }),
    inPod: (pod, ...command) => kube('exec', pod, '--', ...command),
    reaches: (pod, address) =>
      eventually(async () =>
        expect(await scene.inPod(pod, 'ping', '-c', '1', '-W', '5', address)).toContain('1 received'),
      ),
    async endContainer(pod) {
      const { code, stderr } = await commands.kubectl(['-n', namespace, 'exec', pod, '--', 'sh', '-c', 'kill 1']);
      // With process 1 the shell goes, too: whether it can say that all went well is a race.
      if (code !== 0) expect(stderr).toContain('exit code 137');
    },
    links: async (pod) =>
      readLinks(await kube('exec', pod, '--', 'ip', '-j', '-d', 'address')).filter(
        ({ name }) => name !== 'lo' && name !== 'eth0',
      ),
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
    async older(object) {
      const { creationTimestamp } = (await get<Source>(object)).metadata;
      await eventually(async () => expect(Date.now()).toBeGreaterThan(Date.parse(creationTimestamp) + 1_000));
    },
    network: (pod) => get<PodNetwork>('podnetwork', pod),
    lives: async () =>
      (await scene.pods()).map(
        ({ metadata, status }) =>
          `${metadata.name} ${metadata.uid} ${status.containerStatuses?.map(({ restartCount }) => restartCount).join()}`,
      ),
    async holdsNothing() {
      expect(await kube('get', 'podnetworks', '--output=name')).toBe('');
      expect(await kube('get', 'ippools', '--output=jsonpath={.items[?(@.status.used>0)].metadata.name}')).toBe('');
    },
    clean: () =>
      eventually(async () => {
        await scene.holdsNothing();
        expect(await nodes.ours()).toEqual([]);
        for (const { metadata } of await scene.pods()) expect(await scene.links(metadata.name)).toEqual([]);
      }),
  };
  return scene;
}
