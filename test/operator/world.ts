/**
 * A real API server with our kinds, a namespace of the test's own, operators that serve only it, and an agent that does what is told without a
 * kernel: it answers each PodNetwork of the nodes that it is given. There is no kubelet, no scheduler and no garbage collector.
 */
import { randomUUID } from 'node:crypto';
import {
  type IPPool,
  type Kind,
  type PodConfig,
  type PodNetwork,
  additionalNetworkKind,
  bridgeKind,
  customResourceDefinition,
  Unavailable,
  ipPoolKind,
  kinds,
  networkGrantKind,
  podConfigKind,
  podNetworkConfigKind,
  podNetworkKind,
  primaryNetworkKind,
} from '@podloom/api';
import {
  type Client,
  type Clock,
  type ClusterConfig,
  type Metrics,
  type Pod,
  createClient,
  createLog,
  coreEvents,
  createMetrics,
  customResourceDefinitions,
  isApiError,
  isNotFound,
  loadConfig,
  namespaces,
  nodes,
  pods,
  serviceAccounts,
  startCache,
  systemClock,
  toTime,
} from '@podloom/kube';
import { operatorSettings, runOperator } from '@podloom/operator';
import { inject, onTestFinished, vi } from 'vitest';

export interface RunningOperator {
  readonly metrics: Metrics;
  /** As a process that is told to stop. */
  stop(): Promise<void>;
  /** As kill -9: nothing that it would still write arrives. */
  kill(): Promise<void>;
}

export interface OperatorChanges {
  /** Stands between the operator and the server. */
  readonly wrap?: (client: Client) => Client;
  readonly settings?: Record<string, string>;
  readonly clock?: Clock;
}

export interface Agent {
  /** From now on it answers nothing, until it is resumed. */
  pause(): void;
  resume(): void;
}

export interface World {
  readonly client: Client;
  readonly namespace: string;
  readonly node: string;
  operator(options?: OperatorChanges): Promise<RunningOperator>;
  agent(node?: string): Promise<Agent>;
  pod(name: string, labels?: Record<string, string>, more?: { node?: string; hostNetwork?: boolean }): Promise<Pod>;
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
  for (const kind of kinds) {
    await client.apply(customResourceDefinitions, customResourceDefinition(kind), {
      fieldManager: 'test',
      force: true,
    });
  }
  for (const { resource } of kinds) {
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
    async pod(name, labels = {}, { node: onNode = node, hostNetwork } = {}) {
      const spec = {
        nodeName: onNode,
        containers: [{ name: 'main', image: 'none' }],
        ...(hostNetwork && { hostNetwork }),
      };
      await client.create(pods, { metadata: { name, namespace, labels }, spec });
      return await client.patch(
        pods,
        name,
        { status: { phase: 'Running' } },
        { type: 'merge', namespace, subresource: 'status' },
      );
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

async function startOperator(
  config: ClusterConfig,
  namespace: string,
  { wrap = (one) => one, settings: given = {}, clock }: OperatorChanges,
): Promise<RunningOperator> {
  const stop = new AbortController();
  const client = createClient({ ...config, namespace });
  const metrics = createMetrics();
  const level = process.env['LOG'] === undefined ? 'silent' : 'debug';
  const settings = operatorSettings.read({
    args: [],
    env: {},
    file: { namespace, onlyNamespace: namespace, identity: randomUUID().slice(0, 4), ...given },
  });
  const ended = runOperator(settings, {
    client: wrap(
      seeingWrites(ownGrants(client, namespace), () =>
        isDead ? Promise.reject(new Unavailable('TEST', 'Killed')) : undefined,
      ),
    ),
    log: createLog({ name: 'operator', level }),
    signal: stop.signal,
    metrics,
    force: () => undefined,
    clock,
  });
  let isOver = false;
  let isDead = false;
  const finish = async () => {
    if (isOver) return;
    isOver = true;
    stop.abort();
    // One that had ended by itself, or cannot end in order, is why a test waited in vain.
    await ended.catch((error: unknown) => (isDead ? undefined : Promise.reject(error)));
  };
  ended.catch(() => undefined);
  return {
    metrics,
    stop: finish,
    async kill() {
      // From here on nothing is sent any more: not even the Lease is given back.
      isDead = true;
      await finish();
    },
  };
}

/** Answers each PodNetwork as a perfect node would: everything attached, what is not asked for gone. */
function startAgent(
  client: Client,
  namespace: string,
  node: string,
  signal: AbortSignal,
): Agent & { ended: Promise<void> } {
  const log = createLog({ name: 'agent', level: 'silent' });
  const fieldSelector = `spec.nodeName=${node}`;
  const cache = startCache({ client, resource: podNetworkKind.resource, namespace, fieldSelector, log, signal });
  let isPaused = false;
  let pid = 1_000;
  const pids = new Map<string, number>();
  const pending = new Set<Promise<void>>();

  async function answer(network: PodNetwork): Promise<void> {
    const { name = '', generation, uid = '' } = network.metadata;
    if (network.status?.observedGeneration === generation) return;
    pids.set(uid, pids.get(uid) ?? (pid += 1));
    const { primary } = network.spec;
    const status = {
      observedGeneration: generation,
      podPid: pids.get(uid),
      interfaces: network.spec.interfaces.map(({ key, namePrefix, name, addresses, bridge }) => ({
        key,
        name: name ?? `${namePrefix}${pids.get(uid)}`,
        hostName: `h${namePrefix}${pids.get(uid)}`,
        addresses,
        bridgeDevice: bridge?.device,
        state: 'Attached',
        since: toTime(Date.now()),
      })),
      ...(primary && {
        primary: { before: { mtuBytes: 1450 }, applied: { ...(primary.mtuBytes && { mtuBytes: primary.mtuBytes }) } },
      }),
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Attached',
          message: '',
          lastTransitionTime: toTime(Date.now()),
          observedGeneration: generation,
        },
      ],
    };
    try {
      await client.apply(podNetworkKind.resource, { metadata: { name, namespace, uid }, status } as never, {
        fieldManager: 'agent',
        namespace,
        subresource: 'status',
        force: true,
        signal,
      });
    } catch (error) {
      if (!signal.aborted && !isApiError(error)) throw error;
    }
  }
  const look = (network: PodNetwork | undefined): void => {
    if (!network || isPaused) return;
    const one = answer(network).finally(() => pending.delete(one));
    pending.add(one);
  };
  cache.subscribe(({ now }) => look(now));
  return {
    pause: () => void (isPaused = true),
    resume() {
      isPaused = false;
      cache.list().forEach(look);
    },
    ended: cache.ended.then(async () => void (await Promise.allSettled(pending))),
  };
}

async function removeFinalizers(client: Client, namespace: string): Promise<void> {
  const sources: readonly Kind[] = [
    podConfigKind,
    podNetworkConfigKind,
    bridgeKind,
    primaryNetworkKind,
    additionalNetworkKind,
  ];
  for (const { resource } of sources) {
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

/** The client with the one NetworkGrant that is named as the namespace: others are of other tests, and each would bring every pod under review. */
function ownGrants(client: Client, namespace: string): Client {
  const own = { fieldSelector: `metadata.name=${namespace}` };
  const optionsFor = ({ plural }: { readonly plural: string }, options: object = {}): object =>
    plural === networkGrantKind.resource.plural ? { ...options, ...own } : options;
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if ((name !== 'list' && name !== 'watch') || typeof member !== 'function') return member;
      return (resource: { readonly plural: string }, options?: object): unknown =>
        Reflect.apply(member, target, [resource, optionsFor(resource, options)]);
    },
  });
}

type See = (verb: string, plural: string) => void | Promise<void>;

/**
 * The client with every write seen before it is sent; what `before` throws or waits for happens instead of, or before, the write. What `after` throws is
 * an answer that never came.
 */
export function seeingWrites(client: Client, before: See, after: See = () => undefined): Client {
  const verbs = new Set(['create', 'update', 'patch', 'apply', 'delete']);
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof name !== 'string' || !verbs.has(name) || typeof member !== 'function') return member;
      return async (resource: { readonly plural: string }, ...rest: unknown[]): Promise<unknown> => {
        await before(name, resource.plural);
        const answer = await (Reflect.apply(member, target, [resource, ...rest]) as Promise<unknown>);
        await after(name, resource.plural);
        return answer;
      };
    },
  });
}

/** Real time that a test can move forward; what becomes due by that runs at once. */
export function jumpingClock(): Clock & { jump(ms: number): void } {
  let aheadMs = 0;
  const timers = new Set<{ dueMs: number; callback: () => void; cancel: () => void }>();
  const monotonicMs = (): number => systemClock.monotonicMs() + aheadMs;
  return {
    now: () => systemClock.now() + aheadMs,
    monotonicMs,
    after(ms, callback) {
      const run = (): void => {
        timers.delete(timer);
        callback();
      };
      const timer = { dueMs: monotonicMs() + ms, callback: run, cancel: systemClock.after(ms, run) };
      timers.add(timer);
      return () => {
        timer.cancel();
        timers.delete(timer);
      };
    },
    jump(ms) {
      aheadMs += ms;
      for (const timer of [...timers].filter(({ dueMs }) => dueMs <= monotonicMs())) {
        timer.cancel();
        timer.callback();
      }
    },
  };
}

/** Reasons of the Events about an object. */
export async function eventsOf(client: Client, namespace: string, name: string): Promise<string[]> {
  const { items } = await client.list(coreEvents, { namespace, fieldSelector: `involvedObject.name=${name}` });
  return items.map(({ reason = '' }) => reason);
}

const quotas = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true };

/** None of these may be made any more, once the server has heard of it. */
export async function quota(client: Client, namespace: string, resource: string): Promise<void> {
  const hard = { [`count/${resource}`]: '0' };
  await client.create(quotas, { metadata: { name: 'none', namespace }, spec: { hard } }, { namespace });
  // There is no controller that would count.
  const counted = { status: { hard, used: hard } };
  await client.patch(quotas, 'none', counted, { type: 'merge', namespace, subresource: 'status' });
}

export const removeQuota = (client: Client, namespace: string): Promise<void> =>
  client.delete(quotas, 'none', { namespace });
