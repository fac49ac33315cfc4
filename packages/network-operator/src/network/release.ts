/**
 * Giving addresses back. Each cache is behind the server by its own little while, and a leader before us may have done what ours have not heard of.
 * To hand out late costs nothing and to take back wrongly costs a pod its address, so the server itself is asked before anything is taken back.
 */
import { type PodNetwork, type PodNetworkSpec, cidrContains, formatIp, parseIp, podNetworkKind } from '@podloom/api';
import { type ObjectKey, type Pod, keyOf, parseObjectKey, pods, unlessGone } from '@podloom/kube';
import { type AddressRequest, networkOf } from '@podloom/network';
import type { Held, Leaves } from './allocator.ts';
import type { NetworkContext } from './context.ts';
import { isObserved } from './pod-network.ts';

/** Takes back what pods of this name had that are no more. `knownUid` is the pod that has the name now, as far as we know. */
export async function releaseForGone(
  key: ObjectKey,
  knownUid: string | undefined,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { allocator } = context;
  if (allocator.heldBy(key).every(({ entry }) => entry.podUid === knownUid)) return;
  const uid = await livingUid(key, context, signal);
  await allocator.release(key, ({ entry }) => entry.podUid !== uid);
}

export const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Uid of the pod that has this name and has not ended, as the server itself says. */
export async function livingUid(
  key: ObjectKey,
  { client }: NetworkContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, namespace } = parseObjectKey(key);
  const pod = await unlessGone(() => client.get(pods, name, { namespace, signal }));
  return pod && !isFinished(pod) ? pod.metadata.uid : undefined;
}

export interface Wanted {
  readonly spec: PodNetworkSpec;
  /**
   * Interfaces that lack an address and are not in the spec for that, with what they ask for: what they have got of it already stays theirs. The rest is
   * what another interface of the pod may wait for in turn.
   */
  readonly waiting: ReadonlyMap<string, readonly AddressRequest[]>;
}

export const isRequested = (address: string, range: AddressRequest): boolean =>
  range.address === undefined ? cidrContains(range.cidr, address) : address === formatIp(parseIp(range.address));

/** Takes back what the pod has in the pools, but neither in its PodNetwork nor, as the agent sees it, in the kernel. */
export async function releaseUnneeded(
  pod: Pod,
  network: PodNetwork | undefined,
  wanted: Wanted,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(pod);
  const isLoose =
    (seen: PodNetwork | undefined): Leaves =>
    (held) =>
      held.entry.podUid === pod.metadata.uid &&
      !isAwaited(held, wanted) &&
      !isInSpec(held, wanted.spec) &&
      !isInUse(held, seen);
  if (!context.allocator.heldBy(key).some(isLoose(network))) return;
  const { namespace, name = '' } = pod.metadata;
  const now = await unlessGone(() => context.client.get(podNetworkKind.resource, name, { namespace, signal }));
  const nodeIsThere = context.caches.nodes.get(pod.spec?.nodeName ?? '') !== undefined;
  if (now && !isObserved(now) && nodeIsThere) return;
  await context.allocator.release(key, isLoose(now));
}

/** The address as an interface has it, with the prefix length of its range: two ranges may share an address, and only one of them is in use. */
const textOf = ({ entry, range }: Held): string => `${entry.address}/${range.cidr.split('/')[1]}`;

const isAwaited = ({ entry, range: { network } }: Held, { waiting }: Wanted): boolean =>
  (waiting.get(entry.interfaceKey) ?? []).some((one) => one.network === network && isRequested(entry.address, one));

const isInSpec = (held: Held, { interfaces }: PodNetworkSpec): boolean =>
  interfaces.some(
    (one) =>
      one.key === held.entry.interfaceKey &&
      networkOf(one) === held.range.network &&
      one.addresses.includes(textOf(held)),
  );

const isInUse = (held: Held, network: PodNetwork | undefined): boolean =>
  network !== undefined &&
  (isInSpec(held, network.spec) ||
    (network.status?.interfaces ?? []).some(
      ({ key, state, addresses }) =>
        key === held.entry.interfaceKey &&
        (state !== 'Attached' || ((addresses ?? []).includes(textOf(held)) && !hasMoved(held, network))),
    ));

/** The agent has put the interface on another network, which may have the same range: the address that it sees there is not this one. */
const hasMoved = ({ entry, range }: Held, network: PodNetwork): boolean =>
  isObserved(network) &&
  network.spec.interfaces.some((one) => one.key === entry.interfaceKey && networkOf(one) !== range.network);
