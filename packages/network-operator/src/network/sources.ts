/**
 * The kinds that people write and from which networks are composed, in one table: everything that treats them alike goes through it, and
 * what is special to one of them is beside its status.
 */
import {
  type Bridge,
  type KubeObject,
  type PodConfig,
  type PodNetworkConfig,
  type Resource,
  additionalNetworkKind,
  bridgeFinalizer,
  bridgeKind,
  podConfigFinalizer,
  podConfigKind,
  podConfigLabel,
  podNetworkConfigFinalizer,
  podNetworkConfigKind,
  podNetworkConfigLabel,
  primaryNetworkKind,
} from '@podloom/api';
import type { Pod } from '@podloom/kube';
import { type ObjectRef, type SourceObject, chooses } from '@podloom/network';

export type { SourceObject };

export interface SourceType {
  readonly kind: string;
  readonly apiVersion: string;
  readonly resource: Resource<SourceObject>;
  readonly finalizer: string;
}

const type = (
  { kind, apiVersion, resource }: { kind: string; apiVersion: string; resource: Resource },
  finalizer: string,
): SourceType => ({ kind, apiVersion, resource: resource as Resource<SourceObject>, finalizer });

export const sourceTypes: readonly SourceType[] = [
  type(podConfigKind, podConfigFinalizer),
  type(podNetworkConfigKind, podNetworkConfigFinalizer),
  type(bridgeKind, bridgeFinalizer),
  type(primaryNetworkKind, 'primarynetwork.finalizers.opdev.io'),
  type(additionalNetworkKind, 'additionalnetwork.finalizers.opdev.io'),
];

export const sourceTypeOf = (kind: string): SourceType | undefined => sourceTypes.find((one) => one.kind === kind);

/** Whether the object asks for something in this pod. */
export const choosesPod = (source: SourceObject, { metadata }: Pod): boolean =>
  source.metadata.namespace === metadata.namespace && chooses(source, metadata.labels ?? {});

/** The objects that a pod names by its labels. Other kinds find their pods by selectors. */
export const namedByLabel = ({ metadata: { namespace = '', labels = {} } }: Pod): SourceKey[] =>
  [
    { kind: 'PodConfig', name: labels[podConfigLabel] },
    { kind: 'PodNetworkConfig', name: labels[podNetworkConfigLabel] },
  ].flatMap(({ kind, name }) => (name === undefined ? [] : sourceKey(namespace, kind, name)));

export const isPodConfig = (object: KubeObject): object is PodConfig => object.kind === 'PodConfig';
export const isPodNetworkConfig = (object: KubeObject): object is PodNetworkConfig =>
  object.kind === 'PodNetworkConfig';
export const isBridge = (object: KubeObject): object is Bridge => object.kind === 'Bridge';

/** `namespace/kind/name`: neither a namespace nor a kind nor a name can have a slash. */
export type SourceKey = string & { readonly __brand: 'SourceKey' };

export const sourceKey = (namespace: string, kind: string, name: string): SourceKey =>
  `${namespace}/${kind}/${name}` as SourceKey;
export const keyOfSource = ({ kind, metadata }: KubeObject): SourceKey =>
  sourceKey(metadata.namespace ?? '', kind, metadata.name ?? '');
export const keyOfRef = (namespace: string, { kind, name }: Pick<ObjectRef, 'kind' | 'name'>): SourceKey =>
  sourceKey(namespace, kind, name);

export function parseSourceKey(key: SourceKey): {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
} {
  const [namespace = '', kind = '', name = ''] = key.split('/');
  return { namespace, kind, name };
}
