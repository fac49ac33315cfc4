/** The addresses of a pod's interfaces, asked of the allocator in an order that is the same for all pods. */
import { type PodInterface, type PodNetwork, parseIp } from '@podloom/api';
import { type Pod, keyOf } from '@podloom/kube';
import {
  type AddressRequest,
  type AllocationResult,
  type ComposedInterface,
  type PoolRequest,
  type Problem,
  coolDownMs,
  networkOf,
  withAddresses,
} from '@podloom/network';
import type { NetworkContext } from './context.ts';
import { type Wanted, isRequested } from './release.ts';
import type { PodComposition } from './view.ts';

export interface Addressed {
  readonly interfaces: readonly PodInterface[];
  readonly problems: readonly Problem[];
  readonly waiting: Wanted['waiting'];
  readonly retryMs?: number | undefined;
}

/** An interface that cannot have all its addresses is left out whole; the others go on. */
export async function giveAddresses(
  pod: Pod,
  { interfaces }: Pick<PodComposition, 'interfaces'>,
  network: PodNetwork | undefined,
  context: Pick<NetworkContext, 'allocator' | 'clock' | 'waiting'>,
): Promise<Addressed> {
  const outcomes = await Promise.all(interfaces.map((one) => giveTo(pod, one, network, context)));
  const lacking = outcomes.filter(({ problem }) => problem !== undefined);
  context.waiting.set(
    keyOf(pod),
    lacking.map(({ composed }) => composed),
  );
  const ends = lacking.flatMap(({ coolUntilMs }) => coolUntilMs ?? []);
  return {
    interfaces: outcomes.flatMap(({ link }) => link ?? []),
    problems: lacking.flatMap(({ problem }) => problem ?? []),
    waiting: new Map(lacking.map(({ composed, asked }) => [composed.interface.key, asked])),
    // A moment more, because time in a pool is compared by who reads it next.
    ...(ends.length === 0
      ? {}
      : { retryMs: Math.min(coolDownMs, Math.max(0, Math.min(...ends) - context.clock.now()) + 1) }),
  };
}

async function giveTo(
  pod: Pod,
  composed: ComposedInterface,
  network: PodNetwork | undefined,
  { allocator }: Pick<NetworkContext, 'allocator'>,
): Promise<{
  composed: ComposedInterface;
  asked: readonly AddressRequest[];
  link?: PodInterface;
  problem?: Problem;
  coolUntilMs?: number | undefined;
}> {
  const { name: podName = '', uid: podUid = '', namespace = '' } = pod.metadata;
  const { key: interfaceKey, source } = composed.interface;
  const before = network?.spec.interfaces.find(({ key }) => key === interfaceKey);
  // On another network the same address is another one.
  const has = before && networkOf(before) === networkOf(composed.interface) ? before.addresses : [];
  const give = async (range: AddressRequest): Promise<AllocationResult> => {
    const request: PoolRequest = { podName, podUid, interfaceKey, nodeName: pod.spec?.nodeName };
    const kept = has.find((one) => isRequested(one.split('/')[0] ?? '', range));
    const address = range.address ?? kept?.split('/')[0];
    if (address === undefined) return await allocator.allocate(namespace, range, request);
    // Most looks at a pod change nothing, and need not wait for those that do. The prefix is the range's, which may have grown.
    if (kept !== undefined && allocator.has(namespace, range, { ...request, address })) {
      return { address: `${address}/${range.cidr.split('/')[1]}` };
    }
    // What it has already stays, even if the pool was lost.
    const result = await allocator.allocate(namespace, range, { ...request, address, hasIt: kept !== undefined });
    return 'failed' in result && range.address === undefined
      ? await allocator.allocate(namespace, range, request)
      : result;
  };
  // One after the other and in everybody's order: of two pods that want the same two, neither has the one that the other lacks.
  const given = new Map<AddressRequest, string>();
  const order = composed.requests.toSorted(byAddress);
  for (const [i, range] of order.entries()) {
    const result = await give(range);
    if ('failed' in result) {
      const { failed: reason, message, coolUntilMs } = result;
      // What it has of those that come later is given back: another may have the first and wait for it.
      return { composed, asked: order.slice(0, i + 1), problem: { ref: source, reason, message }, coolUntilMs };
    }
    given.set(range, result.address);
  }
  const addresses = composed.requests.flatMap((range) => given.get(range) ?? []);
  return { composed, asked: order, link: withAddresses(composed, addresses) };
}

/** By family, then address, or else that of the range. */
function byAddress(a: AddressRequest, b: AddressRequest): number {
  const [x, y] = [placeOf(a), placeOf(b)];
  return x.family - y.family || Number(x.value - y.value);
}
const placeOf = ({ address, cidr }: AddressRequest): ReturnType<typeof parseIp> =>
  parseIp(address ?? cidr.split('/')[0] ?? '');
