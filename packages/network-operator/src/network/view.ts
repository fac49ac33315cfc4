/**
 * What the caches say, asked in the words of composing: the sources of a namespace, the devices of all bridges, and what a pod is to
 * have. Reads only; what takes long to work out is kept until something that it was made of changes.
 */
import type { PodNetwork } from '@podloom/api';
import { type Cache, type Change, type Pod, isSameJson, keyOf, objectKey } from '@podloom/kube';
import {
  type BridgeNaming,
  type ComposedPod,
  type Limits,
  type ObjectRef,
  type Settled,
  type SourceObject,
  bridgeDevices,
  bridgeNamings,
  choiceOf,
  composePod,
  declaredNetworks,
  describedBridge,
  grantsFor,
  namedBy,
  namingKey,
  overlaps,
  rangesOfNode,
  settleNamespace,
  sourceTypeOf,
  sourceTypes,
  uniqueNamings,
} from '@podloom/network';
import { type Caches, type ServiceRange, asksOtherwise } from './caches.ts';
import { identityOf, keyOfSource } from './sources.ts';

export interface PodComposition extends ComposedPod {
  /** Objects that something of this comes from: each gets its finalizer, and hears what became of it. */
  readonly sources: readonly SourceObject[];
}

export interface View {
  sourcesIn(namespace: string): SourceObject[];
  /** What the objects of the namespace come to, as far as it is the same for all pods. */
  settledIn(namespace: string): Settled;
  /** `network` is what the pod has: left out, as far as the cache has heard of it. */
  compose(pod: Pod, network?: PodNetwork): PodComposition;
  /** Everything that asks for something in this pod, whether it gets it or not. */
  choosing(pod: Pod): SourceObject[];
  /** The pods that the object asks for something in. */
  chosenBy(source: SourceObject): Pod[];
  deviceOf(namespace: string, bridge: string): string | undefined;
  /** Looks at the bridge anew: true if it, or who cannot have it as asked for, is otherwise than at the look before. If not, nothing has changed for the pods on it. */
  reviewBridge(namespace: string, bridge: string): boolean;
  /** The namespaces in which a network is declared that overlaps one of the ranges. */
  namespacesWithin(ranges: readonly string[]): string[];
  end(): void;
}

export const rangesOfServices = ({ spec }: ServiceRange): readonly string[] => spec?.cidrs ?? [];

export function view(
  caches: Caches,
  reservedCidrs: readonly string[],
  serviceRanges: Cache<ServiceRange> | undefined,
  /** What the namespace may have is otherwise than at the last look. */
  limitsChanged: (namespace: string) => void = () => undefined,
): View {
  let devices: Map<string, string> | undefined;
  /** By namespace, renewed where something has changed: the bridges that its objects name, and with them those that its PodNetworks have recorded. */
  const namings = new Map<string, { readonly named: ReadonlySet<string>; readonly all: readonly BridgeNaming[] }>();
  const changed = new Set<string>();
  /** By `namingKey`, while somebody names the bridge: what pods were composed with. Their PodNetworks are heard of later than the next rival may be. */
  const given = new Map<string, string>();
  let reserved: readonly string[] | undefined;
  /** By namespace, until one of its objects asks for something else, or what the namespace may have changes. */
  const settled = new Map<string, Settled>();
  /** By bridge, as text: what the last look found. */
  const reviewed = new Map<string, string>();

  function forget(namespace: string): void {
    devices = undefined;
    changed.add(namespace);
    settled.delete(namespace);
  }

  /** Ranges that were the cluster's, or are now. */
  function reserves(before: readonly string[], now: readonly string[]): void {
    if (isSameJson(before, now)) return;
    reserved = undefined;
    const all = [...before, ...now];
    for (const [namespace, one] of settled) if (isWithin(one, all)) forgetLimits(namespace);
  }

  function forgetLimits(namespace: string): void {
    const wasAsked = settled.has(namespace);
    forget(namespace);
    if (wasAsked) limitsChanged(namespace);
  }

  const undo = [
    ...[...caches.sources.values()].map((cache) =>
      cache.subscribe(({ old, now }) => {
        if (!old || !now || asksOtherwise(old, now)) forget((now ?? old)?.metadata.namespace ?? '');
      }),
    ),
    caches.podNetworks.subscribe(hearOfPodNetwork),
    caches.nodes.subscribe(({ old, now }) => reserves(old ? rangesOfNode(old) : [], now ? rangesOfNode(now) : [])),
    serviceRanges?.subscribe(({ old, now }) =>
      reserves(old ? rangesOfServices(old) : [], now ? rangesOfServices(now) : []),
    ),
    caches.grants.subscribe(({ old, now }) => {
      if (!old || !now || asksOtherwise(old, now)) for (const namespace of settled.keys()) forgetLimits(namespace);
    }),
    caches.namespaces.subscribe(({ old, now }) => {
      const isNews = !isSameJson(old?.metadata.labels, now?.metadata.labels) || !old || !now;
      if (isNews) forgetLimits((now ?? old)?.metadata.name ?? '');
    }),
  ];

  function hearOfPodNetwork({ old, now }: Change<PodNetwork>): void {
    if (old && now && !asksOtherwise(old, now)) return;
    const { namespace = '' } = (now ?? old)?.metadata ?? {};
    changed.add(namespace);
    // Working it out again for each PodNetwork would make the last of many slow; most say what is known.
    const isNews = (now?.spec.interfaces ?? []).some(
      ({ bridge }) => bridge && devices?.get(namingKey(namespace, bridge.name)) !== bridge.device,
    );
    const isLast = (old?.spec.interfaces ?? []).some(
      ({ bridge }) => bridge && !namings.get(namespace)?.named.has(bridge.name),
    );
    if (isNews || isLast) devices = undefined;
  }

  const sourcesIn = (namespace: string): SourceObject[] =>
    sourceTypes.flatMap(({ kind }) => caches.sources.get(kind.kind)?.by('namespace', namespace) ?? []);

  function settledIn(namespace: string): Settled {
    const known = settled.get(namespace) ?? settleNamespace(namespace, sourcesIn(namespace), limits(namespace));
    settled.set(namespace, known);
    return known;
  }

  function limits(namespace: string): Limits {
    reserved ??= [
      ...reservedCidrs,
      ...(serviceRanges?.list() ?? []).flatMap(rangesOfServices),
      ...caches.nodes.list().flatMap(rangesOfNode),
    ];
    const known = caches.namespaces.get(namespace);
    return { reserved, grants: grantsFor(namespace, known && (known.metadata.labels ?? {}), caches.grants.list()) };
  }

  /** Of all namespaces, because they share the nodes' list of names. What a PodNetwork has recorded, or is about to, stays. */
  function currentDevices(): Map<string, string> {
    if (devices) return devices;
    for (const namespace of changed) {
      const requested = bridgeNamings(settledIn(namespace));
      const recorded = caches.podNetworks
        .by('namespace', namespace)
        .flatMap(({ metadata: { creationTimestamp: since = '' }, spec }) =>
          spec.interfaces.flatMap(({ bridge }) =>
            bridge ? [{ namespace, bridge: bridge.name, since, device: bridge.device }] : [],
          ),
        );
      const named = new Set(requested.map(({ bridge }) => bridge));
      const all = uniqueNamings([...requested, ...recorded]);
      if (all.length === 0) namings.delete(namespace);
      else namings.set(namespace, { named, all });
    }
    changed.clear();
    const all = [...namings.values()].flatMap((one) => one.all);
    devices = bridgeDevices(
      all.map(({ namespace, bridge, since, device = given.get(namingKey(namespace, bridge)) }) => ({
        namespace,
        bridge,
        since,
        device,
      })),
    );
    for (const key of given.keys()) if (!devices.has(key)) given.delete(key);
    return devices;
  }

  const find = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): SourceObject | undefined =>
    caches.sources.get(kind)?.getByKey(objectKey(name, namespace));

  function choosing(pod: Pod): SourceObject[] {
    const { namespace = '' } = pod.metadata;
    const identity = identityOf(pod);
    const elsewhere = namedBy(identity).refs.filter((ref) => ref.namespace !== namespace);
    return [...sourcesIn(namespace).filter(choiceOf(identity)), ...elsewhere.flatMap((ref) => find(ref) ?? [])];
  }

  function compose(pod: Pod, network = caches.podNetworks.getByKey(keyOf(pod))): PodComposition {
    const { namespace = '' } = pod.metadata;
    const composed = composePod(identityOf(pod, network), settledIn(namespace), { devices: currentDevices(), find });
    const links = composed.interfaces.map((one) => one.interface);
    const bridges = new Map(links.flatMap(({ bridge }) => (bridge ? [[bridge.name, bridge.device]] : [])));
    for (const [bridge, device] of bridges) given.set(namingKey(namespace, bridge), device);
    const refs = [...links.map(({ source }) => source), ...(composed.primary?.sources ?? [])];
    const asking = new Set(refs.flatMap((ref) => find(ref) ?? []));
    const describing = sourcesIn(namespace).filter(
      (source) => source.metadata.deletionTimestamp === undefined && bridges.has(describedBridge(source) ?? ''),
    );
    return { ...composed, sources: [...asking, ...describing] };
  }

  return {
    sourcesIn,
    settledIn,
    namespacesWithin(ranges) {
      if (ranges.length === 0) return [];
      const objects = caches.sources.values().flatMap((cache) => cache.list());
      const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ''));
      return [...namespaces].filter((namespace) => isWithin(settledIn(namespace), ranges));
    },
    choosing,
    chosenBy(source) {
      if (sourceTypeOf(source.kind)?.namedBy) return caches.pods.by('named', keyOfSource(source));
      const pods = caches.pods.by('namespace', source.metadata.namespace ?? '');
      return pods.filter((pod) => choiceOf(identityOf(pod))(source));
    },
    deviceOf: (namespace, bridge) => currentDevices().get(namingKey(namespace, bridge)),
    reviewBridge(namespace, bridge) {
      const key = namingKey(namespace, bridge);
      const { bridges, conflicts, refusals } = settledIn(namespace);
      const settings = bridges.get(bridge);
      const told = [...conflicts.values(), ...refusals.values()];
      const now = settings && JSON.stringify([settings, currentDevices().get(key), told]);
      const before = reviewed.get(key);
      if (now === undefined) reviewed.delete(key);
      else reviewed.set(key, now);
      return now !== before;
    },
    compose,
    end: () => undo.forEach((step) => step?.()),
  };
}

const isWithin = (settled: Settled, ranges: readonly string[]): boolean =>
  declaredNetworks(settled).some(({ cidr }) => ranges.some((one) => overlaps(one, cidr)));
