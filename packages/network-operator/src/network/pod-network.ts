/** What a PodNetwork says about itself: how far its agent is, whose objects it still holds, and whether it is empty. */
import type { PodInterface, PodNetwork, PodNetworkSpec } from '@podloom/api';
import { namingKey, recordIn, recordedLink, sourceOfKey } from '@podloom/network';
import { type SourceKey, inNamespace, keyOfRef, parseSourceKey } from './sources.ts';

/**
 * Annotation: the objects that a change of the spec took out, separated by commas: `Kind/name`, or `namespace/Kind/name` of another namespace. They count
 * until the agent has seen that change: without it an operator that restarts in between could not know for whom it waits.
 */
export const leavingAnnotation = 'podnetwork.opdev.io/leaving';

/** The agent has looked at the spec as it is now. */
export const isObserved = ({ metadata, status }: PodNetwork): boolean =>
  (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);

export const asksForNothing = ({ interfaces, primary }: Pick<PodNetworkSpec, 'interfaces' | 'primary'>): boolean =>
  interfaces.length === 0 && primary === undefined;

/** There is nothing to say about the pod. */
export const isIdle = (spec: PodNetworkSpec): boolean => asksForNothing(spec) && (spec.waiting ?? []).length === 0;

/** Nothing is asked for, and the agent says that nothing is left. */
export const isClean = (network: PodNetwork): boolean =>
  asksForNothing(network.spec) && isObserved(network) && !holdsSomething(network);

const holdsSomething = ({ status }: PodNetwork): boolean =>
  (status?.interfaces ?? []).length > 0 || recordIn(status?.primary) !== undefined;

const specSources = ({ metadata, spec }: PodNetwork): SourceKey[] => {
  const refs = [...spec.interfaces.map(({ source }) => source), ...(spec.primary?.sources ?? [])];
  return refs.map((ref) => keyOfRef(inNamespace(ref, metadata.namespace ?? '')));
};

/** Those of them that still hold something: until the agent has seen the change, and has restored a primary link that nobody changes any more. */
function stillLeaving(network: PodNetwork): SourceKey[] {
  const record = recordIn(network.status?.primary);
  const restoring = record !== undefined && network.spec.primary?.interfaceName !== recordedLink(record);
  if (isObserved(network) && !restoring) return [];
  const texts = (network.metadata.annotations?.[leavingAnnotation] ?? '').split(',').filter((text) => text !== '');
  return texts.map((text) => {
    const [name = '', kind = '', namespace = network.metadata.namespace ?? ''] = text.split('/').toReversed();
    return keyOfRef({ namespace, kind, name });
  });
}

/** The same PodNetwork with another spec: whom that takes out is noted, beside those whom an earlier one took out. */
export function withSpec(network: PodNetwork, spec: PodNetworkSpec): PodNetwork {
  const now = new Set(specSources({ ...network, spec }));
  const before = [...specSources(network), ...stillLeaving(network)];
  const leaving = [...new Set(before)].filter((source) => !now.has(source)).map((key) => leavingText(key, network));
  const { [leavingAnnotation]: _old, ...others } = network.metadata.annotations ?? {};
  const annotations = leaving.length === 0 ? others : { ...others, [leavingAnnotation]: leaving.toSorted().join(',') };
  return { ...network, metadata: { ...network.metadata, annotations }, spec };
}

function leavingText(key: SourceKey, { metadata }: PodNetwork): string {
  const { namespace, kind, name } = parseSourceKey(key);
  return namespace === metadata.namespace ? `${kind}/${name}` : `${namespace}/${kind}/${name}`;
}

/** Every object that has, or may still have, something in this pod. */
export function holders(network: PodNetwork): SourceKey[] {
  const { namespace = '' } = network.metadata;
  const seen = (network.status?.interfaces ?? []).map(({ key }) => keyOfRef(sourceOfKey(key, namespace)));
  return [...new Set([...specSources(network), ...stillLeaving(network), ...seen])];
}

/** The bridge's own objects are not named in the interfaces; a Bridge is found by the bridge that it describes. */
export const bridgesOf = ({ spec, metadata }: PodNetwork): string[] => [
  ...new Set(
    spec.interfaces.flatMap(({ bridge }) => (bridge ? [namingKey(metadata.namespace ?? '', bridge.name)] : [])),
  ),
];

export function isAttached(network: PodNetwork | undefined, { key }: Pick<PodInterface, 'key'>): boolean {
  if (!network || !isObserved(network) || !network.spec.interfaces.some((entry) => entry.key === key)) return false;
  return network.status?.interfaces?.some((entry) => entry.key === key && entry.state === 'Attached') ?? false;
}

/** All values that are asked for have been seen to hold; routes have no trace of their own but the Ready condition. */
export function isPrimaryApplied(network: PodNetwork | undefined): boolean {
  const wanted = network?.spec.primary;
  if (!network || !wanted || !isObserved(network)) return false;
  const applied = network.status?.primary?.applied;
  if (wanted.mtuBytes !== undefined && applied?.mtuBytes !== wanted.mtuBytes) return false;
  if (wanted.txQueueLength !== undefined && applied?.txQueueLength !== wanted.txQueueLength) return false;
  if (Object.entries(wanted.sysctls ?? {}).some(([name, value]) => applied?.sysctls?.[name] !== value)) return false;
  const ready = network.status?.conditions?.find(({ type }) => type === 'Ready');
  return (wanted.routes ?? []).length === 0 || ready?.status === 'True' || isWaitingFor(network, ready?.reason);
}

/** The agent has done what it can; what is not there is in nobody's power but the owners'. */
export const isWaitingFor = ({ spec }: PodNetwork, reason: string | undefined): boolean =>
  spec.waiting?.some((entry) => entry.reason === reason) ?? false;
