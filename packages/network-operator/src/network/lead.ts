/**
 * The network side of the operator while it leads: which change of what brings which object under review. One controller is keyed by pod, and by
 * source one queue for reports and one for finalizers; everything else only says whose turn it is.
 */
import { type PodNetwork, PodloomError, podNetworkKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type Controller,
  type EventRecorder,
  type Log,
  type Metrics,
  type ObjectKey,
  type ObjectName,
  type Outcome,
  type Pod,
  controller,
  dependsOn,
  ensureFinalizer,
  hasFinalizer,
  isNotFound,
  isSameJson,
  isStale,
  keyOf,
  knocks,
  objectKey,
  parseObjectKey,
  pods,
  telling,
  workQueue,
} from '@podloom/kube';
import {
  type SourceObject,
  bridgesNamed,
  describedBridge,
  namingKey,
  rangesOfNode,
  sourceTypeOf,
  sourceTypes,
} from '@podloom/network';
import { allocator } from './allocator.ts';
import { type Caches, type ServiceRange, asksOtherwise, podMatters } from './caches.ts';
import { claimsOf } from './claims.ts';
import type { NetworkContext } from './context.ts';
import { fresh } from './fresh.ts';
import { bridgesOf, holders, isObserved } from './pod-network.ts';
import { reconcileGonePod, reconcilePod, systemOf } from './pod.ts';
import { type Pace, reconcileSource } from './source.ts';
import { type SourceKey, keyOfRef, keyOfSource, parseSourceKey } from './sources.ts';
import { sharing } from './sharing.ts';
import { startPoolCare } from './pools.ts';
import { progress, tellNews } from './news.ts';
import type { Verdict } from './verdicts.ts';
import { rangesOfServices, view } from './view.ts';
import { waitingList } from './waiting.ts';

export interface NetworkOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly sampleImage: string;
  readonly reservedCidrs: readonly string[];
  /** Absent where the server does not tell. */
  readonly serviceRanges: Cache<ServiceRange> | undefined;
}

/** So long pods may take to have their links, and nothing else is in their way: neither finalizers nor reports of what was only asked for. */
const aheadMs = 250;

/** Most of a reconcile is waiting for the server, and who waits for a pool shares its next write. */
const concurrency = 512;

export async function leadNetwork(options: NetworkOptions, signal: AbortSignal): Promise<void> {
  const { client, caches, events, metrics, clock, log } = options;
  await using cleanup = new AsyncDisposableStack();
  /** Also objects that no pod tells of, such as a Bridge without links. */
  const reportIn = (namespace: string): void =>
    look.sourcesIn(namespace).forEach((one) => reportSoon(keyOfSource(one)));
  const look = view(caches, options.reservedCidrs, options.serviceRanges, (namespace) => reportIn(namespace));
  cleanup.defer(() => look.end());
  const podNetworks = fresh(caches.podNetworks);
  cleanup.defer(() => podNetworks.end());
  const doors = knocks(pods);
  const claims = claimsOf(caches.podNetworks, podNetworks);
  const pools = allocator({ client, pools: caches.pools, claims, clock, log, signal, lost: (pod) => doors.knock(pod) });
  cleanup.defer(() => pools.end());
  const sources = new Map([...caches.sources].map(([kind, cache]) => [kind, fresh<SourceObject>(cache)]));
  cleanup.defer(() => sources.forEach((one) => one.end()));

  const verdicts = new Map<ObjectKey, Verdict>();
  const waiting = waitingList();
  const attaching = progress({ podNetworks, events, clock }, metrics);
  const pace: Pace = new Map();
  const used = new Map<SourceKey, number>();

  const sourceQueue = workQueue<SourceKey>({
    concurrency: 16,
    clock,
    run: (key) =>
      judged(key, 'Could not report on object, will retry', () => reconcileSource(key, context, pace, signal)),
  });
  cleanup.defer(() => sourceQueue.stop());
  const reportSoon = (key: SourceKey): void => sourceQueue.addAfter(key, aheadMs);
  const holding = workQueue<SourceKey>({
    concurrency: 16,
    clock,
    run: (key) => judged(key, 'Could not give object its finalizer, will retry', () => addFinalizer(key)),
  });
  cleanup.defer(() => holding.stop());

  async function judged(key: SourceKey, complaint: string, run: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await run();
    } catch (error) {
      if (signal.aborted) return 'done';
      log.warn({ source: key, err: error }, complaint);
      return error instanceof PodloomError && error.retry === 'whenChanged' ? 'done' : 'failed';
    }
  }

  const context: NetworkContext = {
    client,
    caches,
    view: look,
    allocator: pools,
    podNetworks,
    sources,
    events,
    clock,
    log,
    sampleImage: options.sampleImage,
    hold(wanted, when) {
      const lacking = wanted.filter((source) => {
        const finalizer = sourceTypeOf(source.kind)?.finalizer;
        return finalizer !== undefined && !hasFinalizer(source, finalizer);
      });
      for (const key of lacking.map(keyOfSource)) holding.addAfter(key, when === 'now' ? 0 : aheadMs);
    },
    uses(wanted) {
      const keys = wanted.map(keyOfSource);
      for (const key of keys) used.set(key, (used.get(key) ?? 0) + 1);
      return {
        [Symbol.dispose]() {
          for (const key of keys) {
            const left = (used.get(key) ?? 1) - 1;
            if (left > 0) used.set(key, left);
            else {
              used.delete(key);
              reportSoon(key);
            }
          }
        },
      };
    },
    isUsed: (key) => used.has(key),
    listPodNetworks: sharing(async (namespace: string) => {
      const { items } = await client.list(podNetworkKind.resource, { namespace, signal });
      return items;
    }),
    verdictOf: (pod) => verdicts.get(keyOf(pod)),
    judge(pod, verdict) {
      const old = verdicts.get(keyOf(pod));
      verdicts.set(keyOf(pod), verdict);
      tellNews(pod, old, verdict, context);
      attaching.follow(pod, verdict);
      reportAll(old);
      reportAll(verdict);
    },
    forget(pod) {
      const old = verdicts.get(keyOf(pod));
      verdicts.delete(keyOf(pod));
      waiting.set(keyOf(pod), []);
      attaching.forget(pod);
      reportAll(old);
    },
    waits: (pod, interfaces) => waiting.set(pod, interfaces),
  };

  function reportAll(verdict: Verdict | undefined): void {
    if (!verdict) return;
    for (const { loser, winner } of verdict.composed.conflicts) {
      reportSoon(keyOfRef(loser));
      reportSoon(keyOfRef(winner));
    }
    for (const { ref } of verdict.problems) reportSoon(keyOfRef(ref));
    for (const key of verdict.seen.keys()) reportSoon(key);
    for (const source of verdict.composed.sources) reportSoon(keyOfSource(source));
  }

  async function addFinalizer(key: SourceKey): Promise<Outcome> {
    const { namespace, kind, name } = parseSourceKey(key);
    const [type, known] = [sourceTypeOf(kind), sources.get(kind)];
    const source = known?.get(objectKey(name, namespace));
    if (!type?.finalizer || !source || source.metadata.deletionTimestamp) return 'done';
    try {
      known?.wrote(await ensureFinalizer(client, type.kind.resource, source, type.finalizer, { signal }));
      return 'done';
    } catch (error) {
      // Written meanwhile, mostly by ourselves, or gone: the cache is about to hear of it.
      if (isStale(error) || isNotFound(error)) return 'failed';
      throw error;
    }
  }

  /** First those that it chooses, which wait for it; then those that it has something in, or has changed the bridge of, also for another object. */
  const podsAround = (source: SourceObject): Iterable<ObjectName> => {
    const { namespace = '' } = source.metadata;
    const turned = new Set(bridgesNamed(source).filter((bridge) => look.reviewBridge(namespace, bridge)));
    const others = look.sourcesIn(namespace).filter((one) => bridgesNamed(one).some((bridge) => turned.has(bridge)));
    // Whose the bridge is concerns them without any pod, too.
    for (const one of others) reportSoon(keyOfSource(one));
    const networks = [
      ...caches.podNetworks.by('holder', keyOfSource(source)),
      ...[...turned].flatMap((bridge) => caches.podNetworks.by('bridge', namingKey(namespace, bridge))),
    ];
    const chosen = [source, ...others].flatMap((one) => look.chosenBy(one));
    return new Set([...chosen, ...networks].map(keyOf)).values().map((key) => parseObjectKey(key));
  };
  const podsIn = (namespace: string): ObjectName[] =>
    caches.pods.by('namespace', namespace).map((pod) => parseObjectKey(keyOf(pod)));
  const everyPod = () => caches.pods.list().map((pod) => parseObjectKey(keyOf(pod)));

  const watchSources = (network: PodNetwork): void => {
    const report = (key: SourceKey): void => (isObserved(network) ? sourceQueue.add(key) : reportSoon(key));
    for (const key of holders(network)) report(key);
    for (const bridge of bridgesOf(network)) {
      const namespace = network.metadata.namespace ?? '';
      for (const source of look.sourcesIn(namespace)) {
        if (namingKey(namespace, describedBridge(source) ?? '') === bridge) report(keyOfSource(source));
      }
    }
  };
  /** Not so while it says what the last look decided, and no agent has answered: that is our own write, of which the watch tells. */
  const isNews = (_old: PodNetwork | undefined, now: PodNetwork): boolean =>
    isObserved(now) || !isSameJson(verdicts.get(keyOf(now))?.spec, now.spec);

  const listen = [
    ...[...caches.sources.values()].map((cache) =>
      cache.subscribe(({ old, now }) => {
        const source = now ?? old;
        if (source?.metadata.deletionTimestamp) sourceQueue.add(keyOfSource(source));
        else if (source) reportSoon(keyOfSource(source));
      }),
    ),
    caches.podNetworks.subscribe(({ old, now }) => {
      if (old) watchSources(old);
      if (now) watchSources(now);
    }),
    caches.nodes.subscribe(({ old, now }) => {
      const name = (now ?? old)?.metadata.name ?? '';
      if (!old || !now) for (const network of caches.podNetworks.by('node', name)) watchSources(network);
    }),
    caches.deployments.subscribe(({ old, now }) => {
      for (const { kind, name } of (now ?? old)?.metadata.ownerReferences ?? []) {
        sourceQueue.add(keyOfRef({ namespace: (now ?? old)?.metadata.namespace ?? '', kind, name }));
      }
    }),
  ];
  cleanup.defer(() => listen.forEach((undo) => undo()));

  const podController: Controller = controller<Pod>({
    name: 'pods',
    resource: telling(caches.pods, podMatters),
    client,
    log,
    metrics,
    clock,
    concurrency,
    reconcile: (pod, run) => reconcilePod(pod, context, run),
    reconcileAbsence: (name, run) => reconcileGonePod(name, context, run),
    watches: [
      dependsOn(doors.source, ({ metadata: { name = '', namespace } }) => [{ name, namespace }]),
      dependsOn(telling(caches.podNetworks, isNews), ({ metadata }) => [
        { name: metadata.name ?? '', namespace: metadata.namespace },
      ]),
      ...sourceTypes.flatMap(({ kind }) => {
        const cache = caches.sources.get(kind.kind);
        return cache ? [dependsOn(telling(cache, asksOtherwise), podsAround)] : [];
      }),
      dependsOn(caches.pools, (pool) => [...waiting.podsFor(pool), ...loose(pool)]),
      dependsOn(
        telling(caches.nodes, (old, now) => old === undefined || systemOf(old) !== systemOf(now)),
        ({ metadata }) => podsOfNode(metadata.name ?? ''),
      ),
      // No network may overlap what is the cluster's. At the start every pod is looked at anyway.
      dependsOn(
        telling(
          caches.nodes,
          (old, now) => podController.isReady && !isSameJson(old ? rangesOfNode(old) : [], rangesOfNode(now)),
        ),
        (node) => look.namespacesWithin(rangesOfNode(node)).flatMap(podsIn),
      ),
      ...(options.serviceRanges
        ? [
            dependsOn(
              telling(options.serviceRanges, () => podController.isReady),
              (ranges) => look.namespacesWithin(rangesOfServices(ranges)).flatMap(podsIn),
            ),
          ]
        : []),
      dependsOn(telling(caches.grants, asksOtherwise), everyPod),
      // Also one that was heard of after its pods: until then no selector grants it anything.
      dependsOn(
        telling(
          caches.namespaces,
          (old, now) => podController.isReady && (!old || !isSameJson(old.metadata.labels, now.metadata.labels)),
        ),
        ({ metadata }) => podsIn(metadata.name ?? ''),
      ),
    ],
  });

  const podsOfNode = (node: string): ObjectName[] =>
    [...caches.pods.by('node', node), ...caches.podNetworks.by('node', node)].map((one) => parseObjectKey(keyOf(one)));

  /** Pods that have an address here and are no more, as far as we know: the pool tells of what nobody else remembers. */
  function loose({ metadata: { namespace }, status }: Parameters<typeof waiting.podsFor>[0]): ObjectName[] {
    return (status?.allocations ?? [])
      .filter(
        ({ podName, podUid, releasedAt }) =>
          releasedAt === undefined && caches.pods.get(podName, namespace)?.metadata.uid !== podUid,
      )
      .map(({ podName }) => ({ name: podName, namespace }));
  }

  cleanup.use(startPoolCare(context, { signal, metrics }));
  await podController.run(signal);
}
