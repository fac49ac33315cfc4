/** Live copies of everything that the operator reads, with the indexes that its questions need, for as long as it leads. */
import {
  type IPPool,
  type KubeObject,
  type PodNetwork,
  type Resource,
  ipPoolKind,
  networkGrantKind,
  podNetworkKind,
} from '@podloom/api';
import {
  type Cache,
  type Client,
  type Deployment,
  type Indexes,
  type Log,
  type Node,
  type Pod,
  deployments,
  isSameJson,
  namespaces,
  nodes,
  pods,
  startCache,
} from '@podloom/kube';
import type { NetworkGrant } from '@podloom/api';
import { type SourceObject, sourceTypes } from '@podloom/network';
import { networksOf } from './claims.ts';
import { keepNode, keepPod, keepPodNetwork } from './keep.ts';
import { bridgesOf, holders } from './pod-network.ts';
import { namedSources } from './sources.ts';

export interface CacheContext {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onlyNamespace?: string | undefined;
}

export interface Caches {
  readonly pods: Cache<Pod, 'namespace' | 'node' | 'named'>;
  readonly podNetworks: Cache<PodNetwork, 'namespace' | 'holder' | 'bridge' | 'node' | 'network'>;
  readonly pools: Cache<IPPool, 'namespace' | 'range'>;
  readonly nodes: Cache<Node>;
  readonly namespaces: Cache<KubeObject>;
  readonly grants: Cache<NetworkGrant>;
  readonly deployments: Cache<Deployment, 'owner'>;
  /** By kind. */
  readonly sources: ReadonlyMap<string, Cache<SourceObject, 'namespace'>>;
  readonly isSynced: boolean;
  waitForSync(): Promise<void>;
  readonly ended: Promise<unknown>;
}

/** Ranges that addresses of Services come from. */
export type ServiceRange = KubeObject<{ readonly cidrs: readonly string[] }>;

export const rangeKey = (namespace: string, network: string, cidr: string): string => `${namespace} ${network} ${cidr}`;

const inNamespace = ({ metadata }: KubeObject): string[] => [metadata.namespace ?? ''];

export function startCaches({ client, log, signal, onlyNamespace }: CacheContext): Caches {
  const started: Cache<KubeObject>[] = [];
  const open = <T extends KubeObject, I extends string = never>(
    resource: Resource<T>,
    options: { indexes?: Indexes<T, I>; keep?: (object: T) => T; labelSelector?: string } = {},
  ): Cache<T, I> => {
    const namespace = resource.namespaced ? onlyNamespace : undefined;
    const cache = startCache<T, I>({ client, resource, log, signal, namespace, ...options });
    started.push(cache);
    return cache;
  };
  return {
    pods: open(pods, {
      keep: keepPod,
      indexes: {
        namespace: inNamespace,
        node: ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []),
        named: namedSources,
      },
    }),
    podNetworks: open(podNetworkKind.resource, {
      keep: keepPodNetwork,
      indexes: {
        namespace: inNamespace,
        holder: holders,
        bridge: bridgesOf,
        network: networksOf,
        node: ({ spec }) => [spec.nodeName],
      },
    }),
    pools: open(ipPoolKind.resource, {
      indexes: {
        namespace: inNamespace,
        range: ({ metadata, spec }) => [rangeKey(metadata.namespace ?? '', spec.network, spec.cidr)],
      },
    }),
    nodes: open(nodes, {
      keep: keepNode,
    }),
    namespaces: open(namespaces as Resource),
    grants: open(networkGrantKind.resource),
    deployments: open(deployments, {
      labelSelector: 'podconfig',
      indexes: { owner: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid) },
    }),
    sources: new Map(
      sourceTypes.map(({ kind }) => [kind.kind, open(kind.resource, { indexes: { namespace: inNamespace } })] as const),
    ),
    get isSynced() {
      return started.every(({ isSynced }) => isSynced);
    },
    waitForSync: async () => void (await Promise.all(started.map((cache) => cache.waitForSync()))),
    ended: Promise.all(started.map(({ ended }) => ended)),
  };
}

/** Statuses and finalizers are our own doing, and say nothing about what is asked for. */
export const asksOtherwise = (old: KubeObject | undefined, now: KubeObject): boolean =>
  old?.metadata.uid !== now.metadata.uid ||
  old?.metadata.generation !== now.metadata.generation ||
  old?.metadata.deletionTimestamp !== now.metadata.deletionTimestamp;

export const podMatters = (old: Pod | undefined, now: Pod): boolean =>
  !old ||
  old.status?.phase !== now.status?.phase ||
  old.spec?.nodeName !== now.spec?.nodeName ||
  old.metadata.deletionTimestamp !== now.metadata.deletionTimestamp ||
  !isSameJson(old.metadata.labels, now.metadata.labels) ||
  !isSameJson(old.metadata.annotations, now.metadata.annotations);
