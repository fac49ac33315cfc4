/**
 * Names of the objects that people write, as the operator keeps them in maps and queues, and a pod as sources see it. Which kinds there are, and what
 * is special to each, is in the registry of `network`.
 */
import type { KubeObject, PodNetwork } from '@podloom/api';
import type { Pod } from '@podloom/kube';
import { type ObjectRef, type PodIdentity, type SourceObject, linkNamesOf, namedBy } from '@podloom/network';

/** With the PodNetwork of the pod, what its interfaces are called stays. */
export const identityOf = ({ metadata, spec }: Pod, network?: PodNetwork): PodIdentity => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  nodeName: spec?.nodeName ?? '',
  labels: metadata.labels ?? {},
  annotations: metadata.annotations,
  hostNetwork: spec?.hostNetwork,
  ...(network && network.spec.podUid === metadata.uid && { linkNames: linkNamesOf(network.spec) }),
});

/** The objects that a pod names by its labels and annotations. Other kinds find their pods by selectors. */
export const namedSources = (pod: Pod): SourceKey[] => namedBy(identityOf(pod)).refs.map(keyOfRef);

/** `namespace/kind/name`: neither a namespace nor a kind nor a name can have a slash. */
export type SourceKey = string & { readonly __brand: 'SourceKey' };

export const keyOfRef = ({ namespace, kind, name }: Pick<ObjectRef, 'namespace' | 'kind' | 'name'>): SourceKey =>
  `${namespace}/${kind}/${name}` as SourceKey;
export const keyOfSource = ({ kind, metadata }: KubeObject): SourceKey =>
  keyOfRef({ namespace: metadata.namespace ?? '', kind, name: metadata.name ?? '' });

export function parseSourceKey(key: SourceKey): Pick<ObjectRef, 'namespace' | 'kind' | 'name'> {
  const [namespace = '', kind = '', name = ''] = key.split('/');
  return { namespace, kind, name };
}

/** In a PodNetwork, a reference without a namespace is to an object of its own. */
export const inNamespace = <R extends { readonly namespace?: string | undefined }>(
  ref: R,
  namespace: string,
): R & { readonly namespace: string } => ({ ...ref, namespace: ref.namespace ?? namespace });

export const isRef = (ref: Pick<ObjectRef, 'namespace' | 'kind' | 'name'>, { kind, metadata }: SourceObject): boolean =>
  ref.kind === kind && ref.name === metadata.name && ref.namespace === metadata.namespace;
