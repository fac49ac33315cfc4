/**
 * Giving addresses back. Each cache is behind the server by its own little while, and a leader before us may have done what ours have not heard of.
 * To hand out late costs nothing and to take back wrongly costs a pod its address, so the server itself is asked before anything is taken back.
 */
import { type IPAllocation, type IPPool, type PodNetwork, type PodNetworkSpec, podNetworkKind } from '@podloom/api';
import { type ObjectKey, type Pod, isNotFound, parseObjectKey, pods } from '@podloom/kube';
import type { NetworkContext } from './context.ts';
import { isObserved } from './pod-network.ts';

/** Takes back what pods of this name had that are no more. `knownUid` is the pod that has the name now, as far as we know. */
export async function releaseForGone(
  key: ObjectKey,
  knownUid: string | undefined,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { name } = parseObjectKey(key);
  const isOfGone = ({ podName, podUid }: IPAllocation): boolean => podName === name && podUid !== knownUid;
  if (!hasSome(key, isOfGone, context)) return;
  const uid = await livingUid(key, context, signal);
  await takeBack(key, (entry) => entry.podName === name && entry.podUid !== uid, context);
}

/** Uid of the pod that has this name and has not ended, as the server itself says. */
export async function livingUid(
  key: ObjectKey,
  { client }: NetworkContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, namespace } = parseObjectKey(key);
  const pod = await present(() => client.get(pods, name, { namespace, signal }));
  const hasEnded = pod?.status?.phase === 'Succeeded' || pod?.status?.phase === 'Failed';
  return hasEnded ? undefined : pod?.metadata.uid;
}

export interface Wanted {
  readonly spec: PodNetworkSpec;
  /** Interfaces that lack an address and are not in the spec for that; what they have got already stays theirs. */
  readonly waiting: ReadonlySet<string>;
}

/** Takes back what the pod has in the pools, but neither in its PodNetwork nor, as the agent sees it, in the kernel. */
export async function releaseUnneeded(
  pod: Pod,
  network: PodNetwork | undefined,
  wanted: Wanted,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const key = `${pod.metadata.namespace}/${pod.metadata.name}` as ObjectKey;
  const isLoose =
    (seen: PodNetwork | undefined): Leaves =>
    (entry, pool) =>
      entry.podUid === pod.metadata.uid &&
      !wanted.waiting.has(entry.interfaceKey) &&
      !isInSpec(entry, pool, wanted.spec) &&
      !isHeld(entry, pool, seen);
  if (!hasSome(key, isLoose(network), context)) return;
  const { namespace, name = '' } = pod.metadata;
  const now = await present(() => context.client.get(podNetworkKind.resource, name, { namespace, signal }));
  const nodeIsThere = context.caches.nodes.get(pod.spec?.nodeName ?? '') !== undefined;
  if (now && !isObserved(now) && nodeIsThere) return;
  await takeBack(key, isLoose(now), context);
}

/** The address as an interface has it, with the prefix length of its range: two ranges may share an address, and only one of them is in use. */
const textOf = ({ address }: IPAllocation, { spec }: IPPool): string => `${address}/${spec.cidr.split('/')[1]}`;

const isInSpec = (entry: IPAllocation, pool: IPPool, { interfaces }: PodNetworkSpec): boolean =>
  interfaces.some(
    ({ key, addresses, bridge, name, namePrefix }) =>
      key === entry.interfaceKey &&
      (bridge?.name ?? name ?? namePrefix) === pool.spec.network &&
      addresses.includes(textOf(entry, pool)),
  );

const isHeld = (entry: IPAllocation, pool: IPPool, network: PodNetwork | undefined): boolean =>
  network !== undefined &&
  (isInSpec(entry, pool, network.spec) ||
    (network.status?.interfaces ?? []).some(
      ({ key, state, addresses }) =>
        key === entry.interfaceKey && (state !== 'Attached' || (addresses ?? []).includes(textOf(entry, pool))),
    ));

type Leaves = (entry: IPAllocation, pool: IPPool) => boolean;

const hasSome = (key: ObjectKey, leaves: Leaves, { caches }: NetworkContext): boolean =>
  caches.pools
    .by('pod', key)
    .some((pool) => pool.status?.allocations?.some((entry) => entry.releasedAt === undefined && leaves(entry, pool)));

async function takeBack(key: ObjectKey, leaves: Leaves, { caches, allocator }: NetworkContext): Promise<void> {
  await Promise.all(caches.pools.by('pod', key).map((pool) => allocator.release(pool, (entry) => leaves(entry, pool))));
}

async function present<T>(get: () => Promise<T>): Promise<T | undefined> {
  try {
    return await get();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
