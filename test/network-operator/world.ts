/**
 * A real API server with our networkKinds, a namespace of the test's own, operators that serve only it, and an agent that does what is told without a
 * kernel: it answers each PodNetwork of the nodes that it is given. There is no kubelet, no scheduler and no garbage collector.
 */
import { randomUUID } from 'node:crypto';
import {
  type IPPool,
  type PodConfig,
  type PodNetwork,
  customResourceDefinition,
  ipPoolKind,
  networkKinds,
  podConfigKind,
  podNetworkKind,
} from '@podloom/api';
import {
  type Client,
  type Pod,
  createClient,
  coreEvents,
  customResourceDefinitions,
  isNotFound,
  loadConfig,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
} from '@podloom/kube';
import { sourceTypes } from '@podloom/network';
import { inject, onTestFinished, vi } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { type OperatorChanges, type RunningOperator, startOperator } from './operator.ts';

export interface World {
  readonly client: Client;
  readonly namespace: string;
  readonly node: string;
  operator(options?: OperatorChanges): Promise<RunningOperator>;
  agent(node?: string): Promise<Agent>;
  pod(
    name: string,
    labels?: Record<string, string>,
    more?: { node?: string; hostNetwork?: boolean; phase?: 'Pending' | 'Running' },
  ): Promise<Pod>;
  /** As the kubelet does at the end of a pod's life. */
  removePod(name: string): Promise<void>;
  relabel(name: string, labels: Record<string, string | null>): Promise<void>;
  config(name: string, attachments: readonly object[], more?: object): Promise<void>;
  removeConfig(name: string): Promise<void>;
  getConfig(name: string): Promise<PodConfig | undefined>;
  networkOf(pod: string): Promise<PodNetwork | undefined>;
  networks(): Promise<PodNetwork[]>;
  pools(): Promise<IPPool[]>;
  /** How many addresses of all pools are in use. */
  used(): Promise<number>;
  addressesOf(pod: string): Promise<string[]>;
}

let installed: Promise<void> | undefined;

async function installKinds(client: Client): Promise<void> {
  for (const kind of networkKinds) {
    await client.apply(customResourceDefinitions, customResourceDefinition(kind), {
      fieldManager: 'test',
      force: true,
    });
  }
  for (const { resource } of networkKinds) {
    await vi.waitFor(() => client.list(resource, { limit: 1 }), { timeout: 120_000 });
  }
}

export async function world(): Promise<World> {
  const config = await loadConfig({ path: inject('kubeconfig') });
  const namespace = `op-${randomUUID().slice(0, 8)}`;
  const client = createClient({ ...config, namespace });
  await (installed ??= installKinds(client));
  const node = `node-${namespace}`;
  await client.create(namespaces, { metadata: { name: namespace } });
  await client.create(serviceAccounts, { metadata: { name: 'default', namespace } });
  await client.create(nodes, { metadata: { name: node } });
  const stops: (() => Promise<void>)[] = [];
  onTestFinished(async () => {
    for (const stop of stops.toReversed()) await stop();
    await removeFinalizers(client, namespace);
    await ignoreMissing(() => client.delete(nodes, node));
    await client.delete(namespaces, namespace);
    // Clients are left to the end of the process: closing one on which a watch was just aborted throws out of nowhere.
  });

  const pools = async (): Promise<IPPool[]> => (await client.list(ipPoolKind.resource, { namespace })).items;
  const networkOf = (pod: string): Promise<PodNetwork | undefined> =>
    orMissing(() => client.get(podNetworkKind.resource, pod, { namespace }));

  return {
    client,
    namespace,
    node,
    async operator(changes = {}) {
      const running = await startOperator(config, namespace, changes);
      stops.push(() => running.stop());
      return running;
    },
    async agent(onNode = node) {
      const stop = new AbortController();
      const running = startAgent(client, namespace, onNode, stop.signal);
      stops.push(async () => {
        stop.abort();
        await running.ended;
      });
      return running;
    },
    async pod(name, labels = {}, { node: onNode = node, hostNetwork, phase = 'Running' } = {}) {
      const spec = {
        nodeName: onNode,
        containers: [{ name: 'main', image: 'none' }],
        ...(hostNetwork && { hostNetwork }),
      };
      const pod = await client.create(pods, { metadata: { name, namespace, labels }, spec });
      if (phase === 'Pending') return pod;
      return await client.patch(pods, name, { status: { phase } }, { type: 'merge', namespace, subresource: 'status' });
    },
    removePod: (name) => client.delete(pods, name, { namespace, gracePeriodSeconds: 0 }),
    relabel: async (name, labels) =>
      void (await client.patch(pods, name, { metadata: { labels } }, { type: 'merge', namespace })),
    async config(name, attachments, more = {}) {
      const object = { metadata: { name, namespace }, spec: { networkAttachments: attachments, ...more } };
      await client.apply(podConfigKind.resource, object as never, { fieldManager: 'tenant', namespace, force: true });
    },
    removeConfig: (name) => client.delete(podConfigKind.resource, name, { namespace }),
    getConfig: (name) => orMissing(() => client.get(podConfigKind.resource, name, { namespace })),
    networkOf,
    networks: async () => (await client.list(podNetworkKind.resource, { namespace })).items,
    pools,
    used: async () => (await pools()).reduce((sum, { status }) => sum + (status?.used ?? 0), 0),
    addressesOf: async (pod) => (await networkOf(pod))?.spec.interfaces.flatMap(({ addresses }) => addresses) ?? [],
  };
}

async function removeFinalizers(client: Client, namespace: string): Promise<void> {
  for (const { resource } of sourceTypes.map(({ kind }) => kind)) {
    const { items } = await client.list(resource, { namespace });
    for (const { metadata } of items) {
      const patch = { metadata: { finalizers: null } };
      await ignoreMissing(() => client.patch(resource, metadata.name ?? '', patch, { type: 'merge', namespace }));
    }
  }
}

const ignoreMissing = async (call: () => Promise<unknown>): Promise<void> => void (await orMissing(call));

async function orMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Reasons of the Events about an object. */
export async function eventsOf(client: Client, namespace: string, name: string): Promise<string[]> {
  const { items } = await client.list(coreEvents, { namespace, fieldSelector: `involvedObject.name=${name}` });
  return items.map(({ reason = '' }) => reason);
}
