/** Writes PodNetworks. Each answer is known to all readers at once (fresh.ts), not only when the watch tells of it. */
import {
  type PodNetwork,
  type PodNetworkSpec,
  Unavailable,
  nodeLabel,
  podNetworkKind,
  podNetworkRoom,
} from '@podloom/api';
import { type Pod, isAlreadyExists, unlessGone } from '@podloom/kube';
import type { Addressed } from './addresses.ts';
import type { NetworkContext } from './context.ts';
import { withSpec } from './pod-network.ts';
import type { PodComposition } from './view.ts';

const resource = podNetworkKind.resource;

/** An annotation that cannot be read changes nothing: the pod keeps what it has of the objects that it named in it. */
export function withUnread<A extends Pick<Addressed, 'interfaces'>>(
  addressed: A,
  network: PodNetwork | undefined,
  { unread }: Pick<PodComposition, 'unread'>,
): A {
  const kept = (network?.spec.interfaces ?? []).filter(({ source }) => unread.includes(source.kind));
  return { ...addressed, interfaces: [...addressed.interfaces, ...kept] };
}

export function specOf(
  pod: Pod,
  { primary, conflicts, problems: refused }: PodComposition,
  { interfaces, problems }: Pick<Addressed, 'interfaces' | 'problems'> = { interfaces: [], problems: [] },
): PodNetworkSpec {
  const lost = conflicts.map(({ loser: ref, reason, message }) => ({ ref, reason, message }));
  const waiting = [...lost, ...refused, ...problems]
    .slice(0, podNetworkRoom.waiting)
    .map(({ ref: source, reason, message }) => ({ source, reason, message: message.slice(0, 1_024) }));
  return {
    podUid: pod.metadata.uid ?? '',
    nodeName: pod.spec?.nodeName ?? '',
    interfaces: [...interfaces],
    ...(primary === undefined ? {} : { primary }),
    ...(waiting.length === 0 ? {} : { waiting }),
  };
}

export async function create(
  pod: Pod,
  spec: PodNetworkSpec,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata } = pod;
  const { name = '', namespace, uid = '' } = metadata;
  const owner = { apiVersion, kind, name, uid };
  const draft = {
    metadata: { name, namespace, labels: { [nodeLabel]: spec.nodeName }, ownerReferences: [owner] },
    spec,
  };
  try {
    podNetworks.wrote(await client.create(resource, draft, { namespace, signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // Another leader's last word, of which the cache has not heard: its arrival brings us back here.
    podNetworks.wrote(await client.get(resource, name, { namespace, signal }));
    throw error;
  }
}

export async function update(
  network: PodNetwork,
  spec: PodNetworkSpec,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', namespace, uid, generation } = network.metadata;
  // The cache has only what is read, and an update needs all there is.
  const whole = await client.get(resource, name, { namespace, signal });
  if (whole.metadata.uid !== uid || whole.metadata.generation !== generation) {
    throw new Unavailable(
      'PODNETWORK_CHANGED',
      `PodNetwork ${name} was changed by another; it will be looked at again`,
    );
  }
  podNetworks.wrote(await client.update(resource, withSpec(whole, spec), { namespace, signal }));
}

export async function remove(
  network: PodNetwork,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', namespace, uid } = network.metadata;
  await unlessGone(() => client.delete(resource, name, { namespace, uid, signal }));
  podNetworks.deleted(network);
}
