/**
 * What the caches say, asked in the words of composing: the sources of a namespace, the devices of all bridges, and what a pod is to
 * have. Reads only; what takes long to work out is kept until something that it was made of changes.
 */
import type { AdditionalNetwork, Bridge, PodConfig, PodNetworkConfig, PrimaryNetwork } from '@podloom/api';
import type { Cache, Pod } from '@podloom/kube';
import {
  type BridgeNaming,
  type ComposedPod,
  type Limits,
  type Refusal,
  type Sources,
  bridgeConflicts,
  bridgeDevices,
  bridgeNamings,
  bridgeSettings,
  composePod,
  declaredNetworks,
  grantsFor,
  namingKey,
  overlaps,
  rangesOfNode,
  refusalOf,
  uniqueNamings,
  unreadable,
} from '@podloom/network';
import { type Caches, type ServiceRange, asksOtherwise } from './caches.ts';
import {
  type SourceObject,
  choosesPod,
  isBridge,
  isPodConfig,
  isPodNetworkConfig,
  keyOfSource,
  sourceTypes,
} from './sources.ts';

export interface PodComposition extends ComposedPod {
  readonly refusals: readonly Refusal[];
  /** Objects that something of this comes from: each gets its finalizer, and hears what became of it. */
  readonly sources: readonly SourceObject[];
}

export interface View {
  sourcesIn(namespace: string): SourceObject[];
  sourcesByKind(namespace: string): Sources;
  compose(pod: Pod): PodComposition;
  /** Everything that asks for something in this pod, whether it gets it or not. */
  choosing(pod: Pod): SourceObject[];
  /** The pods that the object asks for something in. */
  chosenBy(source: SourceObject): Pod[];
  deviceOf(namespace: string, bridge: string): string | undefined;
  /** Looks at the bridge anew: true if it, or who cannot have it as wished, is otherwise than at the look before. If not, nothing has changed for the pods on it. */
  reviewBridge(namespace: string, bridge: string): boolean;
  limits(namespace: string): Limits;
  /** The namespaces in which a network is declared that overlaps one of the ranges. */
  namespacesWithin(ranges: readonly string[]): string[];
  /** Why nothing of the object can be had, by nobody. */
  problemOf(source: SourceObject): string | undefined;
  end(): void;
}

export const rangesOfServices = ({ spec }: ServiceRange): readonly string[] => spec?.cidrs ?? [];

const listOf: Readonly<Record<string, keyof Sources>> = {
  PodConfig: 'podConfigs',
  PodNetworkConfig: 'podNetworkConfigs',
  AdditionalNetwork: 'additionalNetworks',
  PrimaryNetwork: 'primaryNetworks',
  Bridge: 'bridges',
};

export function view(
  caches: Caches,
  reservedCidrs: readonly string[],
  serviceRanges: Cache<ServiceRange> | undefined,
): View {
  let devices: Map<string, string> | undefined;
  /** By namespace, renewed where something has changed: the bridges that its objects name, and with them those that its PodNetworks have recorded. */
  const namings = new Map<string, { readonly named: ReadonlySet<string>; readonly all: readonly BridgeNaming[] }>();
  const changed = new Set<string>();
  /** By `namingKey`, while somebody names the bridge: what pods were composed with. Their PodNetworks are heard of later than the next rival may be. */
  const given = new Map<string, string>();
  let reserved: string[] | undefined;
  /** By namespace. */
  const sources = new Map<string, Sources>();
  /** By bridge, as text: what the last look found. */
  const reviewed = new Map<string, string>();
  const undo = [
    ...[...caches.sources.values()].map((cache) =>
      cache.subscribe(({ old, now }) => {
        if (old && now && !asksOtherwise(old, now)) return;
        const { namespace = '' } = (now ?? old)?.metadata ?? {};
        devices = undefined;
        changed.add(namespace);
        sources.delete(namespace);
      }),
    ),
    caches.podNetworks.subscribe(({ old, now }) => {
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
    }),
    caches.nodes.subscribe(() => (reserved = undefined)),
    serviceRanges?.subscribe(() => (reserved = undefined)),
  ];

  const problems = new WeakMap<SourceObject, string | undefined>();
  function problemOf(source: SourceObject): string | undefined {
    if (!problems.has(source)) problems.set(source, unreadable({ [listOf[source.kind] ?? '']: [source] }));
    return problems.get(source);
  }
  /** One that cannot be read says so itself, and keeps nobody else from being served. */
  const all = <T extends SourceObject>(kind: T['kind'], namespace: string): T[] =>
    ((caches.sources.get(kind)?.by('namespace', namespace) ?? []) as T[]).filter(
      (source) => problemOf(source) === undefined,
    );
  const gather = (namespace: string): Sources => ({
    podConfigs: all<PodConfig>('PodConfig', namespace),
    podNetworkConfigs: all<PodNetworkConfig>('PodNetworkConfig', namespace),
    additionalNetworks: all<AdditionalNetwork>('AdditionalNetwork', namespace),
    primaryNetworks: all<PrimaryNetwork>('PrimaryNetwork', namespace),
    bridges: all<Bridge>('Bridge', namespace),
  });
  /** The same until one of them asks for something else. */
  const sourcesOf = (namespace: string): Sources => {
    const known = sources.get(namespace) ?? gather(namespace);
    sources.set(namespace, known);
    return known;
  };

  /** Of all namespaces, because they share the nodes' list of names. What a PodNetwork has recorded, or is about to, stays. */
  function currentDevices(): Map<string, string> {
    if (devices) return devices;
    for (const namespace of changed) {
      const wished = bridgeNamings(sourcesOf(namespace));
      const recorded = caches.podNetworks
        .by('namespace', namespace)
        .flatMap(({ metadata: { creationTimestamp: since = '' }, spec }) =>
          spec.interfaces.flatMap(({ bridge }) =>
            bridge ? [{ namespace, bridge: bridge.name, since, device: bridge.device }] : [],
          ),
        );
      const named = new Set(wished.map(({ bridge }) => bridge));
      const all = uniqueNamings([...wished, ...recorded]);
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

  function limits(namespace: string): Limits {
    reserved ??= [
      ...reservedCidrs,
      ...(serviceRanges?.list() ?? []).flatMap(rangesOfServices),
      ...caches.nodes.list().flatMap(rangesOfNode),
    ];
    const known = caches.namespaces.get(namespace);
    return { reserved, grants: grantsFor(namespace, known && (known.metadata.labels ?? {}), caches.grants.list()) };
  }

  const sourcesIn = (namespace: string): SourceObject[] =>
    sourceTypes.flatMap(({ kind }) => caches.sources.get(kind)?.by('namespace', namespace) ?? []);

  return {
    sourcesIn,
    sourcesByKind: sourcesOf,
    limits,
    namespacesWithin(ranges) {
      if (ranges.length === 0) return [];
      const objects = caches.sources.values().flatMap((cache) => cache.list());
      const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ''));
      return [...namespaces].filter((namespace) =>
        declaredNetworks(namespace, sourcesOf(namespace)).some(({ cidr }) => ranges.some((one) => overlaps(one, cidr))),
      );
    },
    problemOf,
    choosing: (pod) => sourcesIn(pod.metadata.namespace ?? '').filter((source) => choosesPod(source, pod)),
    chosenBy(source) {
      if (isPodConfig(source) || isPodNetworkConfig(source)) return caches.pods.by('label', keyOfSource(source));
      return caches.pods.by('namespace', source.metadata.namespace ?? '').filter((pod) => choosesPod(source, pod));
    },
    deviceOf: (namespace, bridge) => currentDevices().get(namingKey(namespace, bridge)),
    reviewBridge(namespace, bridge) {
      const key = namingKey(namespace, bridge);
      const here = sourcesOf(namespace);
      const settings = bridgeSettings(namespace, here).get(bridge);
      const now = settings && JSON.stringify([settings, currentDevices().get(key), bridgeConflicts(namespace, here)]);
      const before = reviewed.get(key);
      if (now === undefined) reviewed.delete(key);
      else reviewed.set(key, now);
      return now !== before;
    },
    compose(pod) {
      const { namespace = '', name = '', uid = '', labels = {} } = pod.metadata;
      const { nodeName = '', hostNetwork } = pod.spec ?? {};
      const identity = { namespace, name, uid, nodeName, labels, hostNetwork };
      const composed = composePod(identity, sourcesOf(namespace), currentDevices());
      const bounds = limits(namespace);
      const refused = new Map(composed.interfaces.map((one) => [one, refusalOf(one, bounds)]));
      const interfaces = composed.interfaces.filter((one) => refused.get(one) === undefined);
      const refs = [...interfaces.map((one) => one.interface.source), ...(composed.primary?.sources ?? [])];
      const bridges = new Map(
        interfaces.flatMap(({ interface: { bridge } }) => (bridge ? [[bridge.name, bridge.device]] : [])),
      );
      for (const [bridge, device] of bridges) given.set(namingKey(namespace, bridge), device);
      const sources = sourcesIn(namespace).filter((source) =>
        isBridge(source)
          ? source.metadata.deletionTimestamp === undefined && bridges.has(source.spec.name)
          : refs.some(({ kind, name }) => kind === source.kind && name === source.metadata.name),
      );
      return { ...composed, interfaces, refusals: [...refused.values()].filter((one) => one !== undefined), sources };
    },
    end: () => undo.forEach((step) => step?.()),
  };
}
