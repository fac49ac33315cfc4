/**
 * Takes everything back before the product is uninstalled, in the order that leaves nothing behind: the operator stops, so that nobody makes again
 * what is being removed; the agents, which are still there, empty every pod, and its PodNetwork goes; then the pools go; last, what people wrote is let
 * go, so that it can be deleted when nobody is left to finalize it. It is not deleted here: whoever installs the product again finds it. Where it fails,
 * the operator runs again: the product is still installed, and must do its work.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type KubeObject, type PodNetwork, Unavailable, ipPoolKind, podNetworkKind } from '@podloom/api';
import {
  type Client,
  type Log,
  applyStatus,
  deployments,
  duration,
  hasFinalizer,
  isNotFound,
  unlessGone,
  isStale,
  keyOf,
  leases,
  nodes,
  removeFinalizer,
  runAsLeader,
  setCondition,
  settings,
  startCache,
  text,
  workQueue,
  type ObjectKey,
} from '@podloom/kube';
import { type SourceObject, type SourceType, sourceTypes } from '@podloom/network';
import { asksForNothing, isClean } from './network/pod-network.ts';
import { fieldManager } from './network/context.ts';

export const withdrawSettings = settings({
  namespace: text()
    .env('POD_NAMESPACE')
    .default('podloom-system')
    .describe('Namespace of the operator, where its Deployment and its Lease are. Set by the downward API.'),
  identity: text().env('POD_NAME').optional().describe('Name of this process. Left out, the name of the host.'),
  deploymentName: text()
    .default('podloom-network-operator')
    .describe('Deployment of the operator, which is scaled to nothing.'),
  leaseName: text().default('podloom-network-operator').describe('Name of the Lease that decides who works.'),
  timeout: duration()
    .default('3m')
    .describe(
      'How long operator and agents may take. Then it fails and names what is left, and the operator runs again; it can be repeated.',
    ),
});

export type WithdrawSettings = ReturnType<typeof withdrawSettings.read>;

export interface WithdrawOptions {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export async function withdraw(settings: WithdrawSettings, options: WithdrawOptions): Promise<void> {
  const { client, log, signal } = options;
  const there = { namespace: settings.namespace, subresource: 'scale' };
  const scale = (replicas: number, until?: AbortSignal): Promise<unknown> =>
    client.patch(
      deployments,
      settings.deploymentName,
      { spec: { replicas } },
      { ...there, type: 'merge', signal: until },
    );
  const replicas = await unlessGone(async () => {
    const { spec } = await client.get(deployments, settings.deploymentName, { ...there, signal });
    // None, where an earlier run was killed and could not start them again.
    return spec?.replicas || 1;
  });
  try {
    await unlessGone(() => scale(0, signal));
    await takeBack(settings, options);
  } catch (error) {
    if (replicas) {
      await scale(replicas);
      log.warn({ replicas }, 'Could not withdraw everything, started the operator again');
    }
    throw error;
  }
}

async function takeBack(settings: WithdrawSettings, { client, log, signal }: WithdrawOptions): Promise<void> {
  const { namespace, leaseName } = settings;
  const finished = new AbortController();
  let isDone = false;
  await runAsLeader(
    {
      client,
      name: leaseName,
      namespace,
      identity: `${settings.identity ?? hostname()}-${randomUUID().slice(0, 8)}`,
      log,
      async lead(leading) {
        try {
          await emptyPods(client, log, leading);
          await deletePools(client, leading);
          for (const type of sourceTypes) await letGo(type, client, leading);
          isDone = true;
        } finally {
          finished.abort();
        }
      },
    },
    AbortSignal.any([signal, finished.signal, AbortSignal.timeout(settings.timeout)]),
  );
  signal.throwIfAborted();
  if (!isDone) {
    const message = `Another operator holds the Lease ${namespace}/${leaseName} and does not stop; stop it and try again`;
    throw new Unavailable('WITHDRAW_NOT_LEADING', message);
  }
  await unlessGone(() => client.delete(leases, leaseName, { namespace }));
  log.info({}, 'Withdrew everything');
}

/** Asks for nothing in any pod, and returns when every agent has answered that nothing is left. */
async function emptyPods(client: Client, log: Log, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(podNetworkKind.resource, { limit: 1, signal });
  if (items.length === 0) return;
  const own = new AbortController();
  const until = AbortSignal.any([signal, own.signal]);
  const resource = podNetworkKind.resource;
  const networks = startCache({ client, resource, log, signal: until });
  const living = startCache({ client, resource: nodes, log, signal: until, keep: bare });
  const none = Promise.withResolvers<void>();
  const stop = (): void => none.resolve();
  signal.addEventListener('abort', stop, { once: true });
  const queue = workQueue<ObjectKey>({
    concurrency: 32,
    async run(key) {
      const network = networks.getByKey(key);
      if (!network || until.aborted) return 'done';
      try {
        await step(network);
        return 'done';
      } catch (error) {
        // What changed meanwhile is on its way to the cache, and brings it here again.
        if (isStale(error) || isNotFound(error)) return 'done';
        log.warn({ object: key, err: error }, 'Could not withdraw PodNetwork, will retry');
        return 'failed';
      }
    },
  });

  /** With its node, everything on it is gone. */
  async function step(network: PodNetwork): Promise<void> {
    const { name = '', namespace, uid } = network.metadata;
    const { podUid, nodeName } = network.spec;
    if (isClean(network) || !living.get(nodeName)) await client.delete(resource, name, { namespace, uid, signal });
    else if (!asksForNothing(network.spec)) {
      await client.update(resource, { ...network, spec: { podUid, nodeName, interfaces: [] } }, { namespace, signal });
    }
  }

  try {
    await Promise.all([networks.waitForSync(), living.waitForSync()]);
    log.info({ podNetworks: networks.size }, 'Taking networks from pods');
    if (networks.size === 0) none.resolve();
    networks.subscribe(({ key }) => {
      queue.add(key);
      if (networks.size === 0) none.resolve();
    });
    living.subscribe(({ now }) => {
      if (!now) for (const network of networks.list()) queue.add(keyOf(network));
    });
    await none.promise;
    if (networks.size > 0) throw unanswered(networks.list());
  } finally {
    signal.removeEventListener('abort', stop);
    own.abort();
    await Promise.all([queue.stop(), networks.ended, living.ended]);
  }
}

const bare = <T extends KubeObject>({ apiVersion, kind, metadata }: T): T => ({ apiVersion, kind, metadata }) as T;

function unanswered(left: readonly PodNetwork[]): Unavailable {
  const onNodes = [...new Set(left.map(({ spec }) => spec.nodeName))].join(', ');
  const some = left.slice(0, 5).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return new Unavailable(
    'WITHDRAW_UNANSWERED',
    `${left.length} PodNetworks still have something, on ${onNodes}: ${some.join(', ')}${left.length > 5 ? ' …' : ''}. ` +
      'Look at the agents there and try again; a Node that is gone for good can be deleted',
  );
}

async function deletePools(client: Client, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(ipPoolKind.resource, { signal });
  await Promise.all(
    items.map(({ metadata: { name = '', namespace } }) =>
      unlessGone(() => client.delete(ipPoolKind.resource, name, { namespace, signal })),
    ),
  );
}

async function letGo(type: SourceType, client: Client, signal: AbortSignal): Promise<void> {
  // Of another project's kind nothing is taken back.
  if (type.finalizer === undefined) return;
  const { finalizer, kind } = type;
  const { resource } = kind;
  const { items } = await client.list(resource, { signal });
  await Promise.all(
    items.map((source) =>
      unlessGone(async () => {
        const status = withdrawnStatus(source, type) as unknown as NonNullable<SourceObject['status']>;
        const said = await applyStatus<KubeObject>(client, resource, source, status, { fieldManager, signal });
        if (hasFinalizer(said, finalizer))
          await removeFinalizer(client, resource, said as SourceObject, finalizer, { signal });
      }),
    ),
  );
}

function withdrawnStatus(source: SourceObject, { hasPhase }: SourceType): object {
  const message = 'Podloom was uninstalled; no pod has anything of this';
  const observedGeneration = source.metadata.generation;
  const ready = { type: 'Ready', status: 'False', reason: 'Withdrawn', message, observedGeneration } as const;
  return {
    ...(hasPhase && { phase: 'unset' }),
    observedGeneration,
    conditions: setCondition(source.status?.conditions, ready, Date.now()).filter(({ type }) => type === 'Ready'),
  };
}
