/**
 * All sources, a row each. Operator, `podloom plan` and the roles in the chart go through this list; nothing else names the kinds. Where a kind
 * has something that no other has, it is said in its row.
 */
import { InvalidInput } from '@podloom/api';
import { additionalNetworkSource } from './additionalnetwork.ts';
import { bridgeSource } from './bridge.ts';
import { networkSource } from './network.ts';
import { networkAttachmentDefinitionSource } from './networkattachmentdefinition.ts';
import { podConfigSource } from './podconfig.ts';
import { podNetworkConfigSource } from './podnetworkconfig.ts';
import { primaryNetworkSource } from './primarynetwork.ts';
import type { ObjectRef, PodIdentity, Problem, Requests, SourceObject, SourceType } from './source.ts';

export const sourceTypes: readonly SourceType[] = [
  podConfigSource,
  podNetworkConfigSource,
  bridgeSource,
  primaryNetworkSource,
  additionalNetworkSource,
  networkSource,
  networkAttachmentDefinitionSource,
];

export const sourceTypeOf = (kind: string, types = sourceTypes): SourceType | undefined =>
  types.find((type) => type.kind.kind === kind);

/** Annotations of pods that some source reads. */
export const annotationsRead: readonly string[] = sourceTypes.flatMap(({ annotations = [] }) => annotations);

export const describedBridge = (object: SourceObject): string | undefined =>
  sourceTypeOf(object.kind)?.describes?.(object);

/** What the pod names itself, whether it is there or not. */
export interface Naming {
  readonly refs: readonly ObjectRef[];
  /** Labels and annotations that cannot be read. */
  readonly problems: readonly Problem[];
  /** Kinds whose objects are named in them. */
  readonly unread: readonly string[];
}

export function namedBy(pod: PodIdentity, types = sourceTypes): Naming {
  const refs: ObjectRef[] = [];
  const problems: Problem[] = [];
  const unread: string[] = [];
  for (const type of types) {
    const { apiVersion, kind } = type.kind;
    try {
      for (const { namespace, name } of type.namedBy?.(pod) ?? []) refs.push({ apiVersion, kind, namespace, name });
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const ref = { apiVersion: 'v1', kind: 'Pod', namespace: pod.namespace, name: pod.name };
      problems.push({ ref, reason: 'InvalidAnnotation', message: error.message });
      unread.push(kind);
    }
  }
  return { refs, problems, unread };
}

/** A question for many objects: does this one choose the pod, or the pod it? */
export function choiceOf(pod: PodIdentity, types = sourceTypes): (object: SourceObject) => boolean {
  const named = new Set(namedBy(pod, types).refs.map(placeOf));
  return (object) => {
    const { kind, metadata } = object;
    const { namespace = '', name = '' } = metadata;
    const type = sourceTypeOf(kind, types);
    if (type?.namedBy) return named.has(placeOf({ kind, namespace, name }));
    return namespace === pod.namespace && type?.selects?.(object, pod) === true;
  };
}

const placeOf = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): string =>
  `${kind}/${namespace}/${name}`;

const read = new WeakMap<SourceObject, Requests | InvalidInput>();

/**
 * What the object asks for, worked out once. Texts that were admitted all the same and mean nothing, by older rules or because the server reads
 * them otherwise, are an error and not thrown: such an object keeps nobody else from being served.
 */
export function requestsOf(object: SourceObject, types = sourceTypes): Requests | InvalidInput {
  const known = read.get(object);
  if (known) return known;
  const requests = ((): Requests | InvalidInput => {
    try {
      return sourceTypeOf(object.kind, types)?.requests(object) ?? {};
    } catch (error) {
      if (error instanceof InvalidInput) return error;
      throw error;
    }
  })();
  read.set(object, requests);
  return requests;
}

/** Bridges of its namespace that the object names. */
export function bridgesNamed(object: SourceObject): string[] {
  const requests = requestsOf(object);
  if (requests instanceof InvalidInput) return [];
  const names = [
    ...(requests.links ?? []).flatMap(({ bridge }) => bridge ?? []),
    ...(requests.bridges ?? []).map(({ name }) => name),
  ];
  return [...new Set(names)];
}
