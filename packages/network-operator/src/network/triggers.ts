/** Which change of what brings which pods under review. Nothing here decides what becomes of them. */
import type { IPPool, KubeObject, PodNetwork } from '@podloom/api';
import {
  type Cache,
  type Dependency,
  type Knocks,
  type Node,
  type ObjectName,
  dependsOn,
  isSameJson,
  keyOf,
  parseObjectKey,
  telling,
} from '@podloom/kube';
import { type SourceObject, bridgesNamed, namingKey, rangesOfNode } from '@podloom/network';
import { type ServiceRange, asksOtherwise } from './caches.ts';
import type { NetworkContext } from './context.ts';
import { isObserved } from './pod-network.ts';
import { systemOf } from './served.ts';
import type { Reports } from './reports.ts';
import { keyOfSource } from './sources.ts';
import { digestOf } from './verdicts.ts';
import { rangesOfServices } from './view.ts';

export interface TriggerOptions {
  readonly context: Pick<NetworkContext, 'caches' | 'view' | 'verdicts' | 'waiting'>;
  readonly reports: Pick<Reports, 'soon'>;
  /** Absent where the server does not tell. */
  readonly serviceRanges: Cache<ServiceRange> | undefined;
  /** Pods that something else says should be looked at. */
  readonly called: Knocks;
  /** False until every pod is in line anyway: until then what is merely there is no news. */
  readonly isRunning: () => boolean;
}

const nameOf = (object: KubeObject): ObjectName => parseObjectKey(keyOf(object));

export function podTriggers(options: TriggerOptions): Dependency[] {
  const { caches } = options.context;
  return [
    dependsOn(options.called.source, (pod) => [nameOf(pod)]),
    dependsOn(telling(caches.podNetworks, isNews(options)), (network) => [nameOf(network)]),
    ...[...caches.sources.values()].map((cache) =>
      dependsOn(telling(cache, asksOtherwise), (source) => podsAround(source, options)),
    ),
    dependsOn(caches.pools, (pool) => podsOfPool(pool, options)),
    ...clusterTriggers(options),
  ];
}

const isOtherSystem = (old: Node | undefined, now: Node): boolean =>
  old === undefined || systemOf(old) !== systemOf(now);

/** What is the cluster's, and not of one namespace's networks. */
function clusterTriggers({ context: { caches, view }, serviceRanges, isRunning }: TriggerOptions): Dependency[] {
  const podsIn = (namespace: string): ObjectName[] => caches.pods.by('namespace', namespace).map(nameOf);
  /** No network may overlap what is the cluster's. */
  const podsWithin = (ranges: readonly string[]): ObjectName[] => view.namespacesWithin(ranges).flatMap(podsIn);
  const onNode = ({ metadata: { name = '' } }: Node): ObjectName[] =>
    [...caches.pods.by('node', name), ...caches.podNetworks.by('node', name)].map(nameOf);
  const hasOtherRanges = (old: Node | undefined, now: Node): boolean =>
    isRunning() && !isSameJson(old ? rangesOfNode(old) : [], rangesOfNode(now));
  // Also one that was heard of after its pods: until then no selector grants it anything.
  const hasOtherLabels = (old: KubeObject | undefined, now: KubeObject): boolean =>
    isRunning() && (!old || !isSameJson(old.metadata.labels, now.metadata.labels));
  return [
    dependsOn(telling(caches.nodes, isOtherSystem), onNode),
    dependsOn(telling(caches.nodes, hasOtherRanges), (node) => podsWithin(rangesOfNode(node))),
    ...(serviceRanges
      ? [dependsOn(telling(serviceRanges, isRunning), (ranges) => podsWithin(rangesOfServices(ranges)))]
      : []),
    dependsOn(telling(caches.grants, asksOtherwise), () => caches.pods.list().map(nameOf)),
    dependsOn(telling(caches.namespaces, hasOtherLabels), ({ metadata }) => podsIn(metadata.name ?? '')),
  ];
}

/** Not so while it says what the last look decided, and no agent has answered: that is our own write, of which the watch tells. */
const isNews =
  ({ context: { verdicts } }: TriggerOptions) =>
  (_old: PodNetwork | undefined, now: PodNetwork): boolean =>
    isObserved(now) || verdicts.of(now)?.digest !== digestOf(now.spec);

/** First those that it chooses; then those that it has something in, or has changed the bridge of, also for another object. */
function podsAround(source: SourceObject, { context: { caches, view }, reports }: TriggerOptions): ObjectName[] {
  const { namespace = '' } = source.metadata;
  const turned = new Set(bridgesNamed(source).filter((bridge) => view.reviewBridge(namespace, bridge)));
  const others = view.sourcesIn(namespace).filter((one) => bridgesNamed(one).some((bridge) => turned.has(bridge)));
  // Whose the bridge is concerns them without any pod, too.
  for (const one of others) reports.soon(keyOfSource(one));
  const chosen = [source, ...others].flatMap((one) => view.chosenBy(one));
  const networks = [
    ...caches.podNetworks.by('holder', keyOfSource(source)),
    ...[...turned].flatMap((bridge) => caches.podNetworks.by('bridge', namingKey(namespace, bridge))),
  ];
  return [...new Set([...chosen, ...networks].map(keyOf))].map((key) => parseObjectKey(key));
}

/** Pods that wait for an address of it, and those that have one and are no more, as far as we know: the pool tells of what nobody else remembers. */
function podsOfPool(pool: IPPool, { context: { caches, waiting } }: TriggerOptions): ObjectName[] {
  const { namespace } = pool.metadata;
  const loose = (pool.status?.allocations ?? []).filter(
    ({ podName, podUid, releasedAt }) =>
      releasedAt === undefined && caches.pods.get(podName, namespace)?.metadata.uid !== podUid,
  );
  return [...waiting.podsFor(pool), ...loose.map(({ podName }) => ({ name: podName, namespace }))];
}
