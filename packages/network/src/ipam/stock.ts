/**
 * Addresses that a leader may hand out before their pool records who has them, so that a pod that comes alone waits for one write less. A leader sets them
 * aside with a write of the pool, under the name of its term. Two terms never share one: the next leader lets a former one's stock cool down, twice as long as
 * an address that was given back, and only then hands it out. A PodNetwork of the former leader that arrives until then is recognised by the address that it has.
 *
 * What an interface gave back a moment ago it may have again in the same way, and nobody else may; so the next leader lets that cool down as well.
 */
import { type IPAllocation, type IPPool, formatIp, parseIp } from '@podloom/api';
import { numbersOf } from './pools.ts';
import type { PoolRequest } from './types.ts';

const largest = 32;

/** Small ranges keep most of what they have for everyone: an address that cools down is missed there. */
export const stockSizeFor = (free: number): number => Math.min(largest, Math.floor(free / 4));

/** What this term may hand out of a pool as its spec is now, in order. */
export const stockOf = ({ spec, status }: IPPool, holder: string): readonly string[] =>
  status?.stock?.holder === holder
    ? status.stock.addresses.filter((address) => numbersOf(spec).isOpen(parseIp(address).value))
    : [];

type Owner = Pick<IPAllocation, 'podUid' | 'interfaceKey'>;

/** Of one interface of one pod. */
export const isOf = (a: Owner, b: Owner): boolean => a.podUid === b.podUid && a.interfaceKey === b.interfaceKey;

/** What this interface gave back and may have again, in a pool that this term has a stock in. */
export function givenBack({ spec, status }: IPPool, holder: string, request: PoolRequest): string | undefined {
  if (status?.stock?.holder !== holder) return undefined;
  const isOwn = (entry: IPAllocation): boolean =>
    entry.releasedAt !== undefined && isOf(entry, request) && numbersOf(spec).isOpen(parseIp(entry.address).value);
  return status.allocations?.find(isOwn)?.address;
}

/** No interface has such a key: theirs begin with a kind. */
const stockKey = 'stock';

export const formerStock = (family: 4 | 6, value: bigint, now: string): IPAllocation => ({
  address: formatIp({ family, value }),
  podName: '',
  podUid: '',
  interfaceKey: stockKey,
  releasedAt: now,
});

/**
 * What a pool keeps from who hands out of another pool that overlaps it: what it records, and what may be handed out of it without a write. That is its
 * stock, and for another term than the holder's what was given back.
 */
export function claimsOf({ spec, status }: IPPool, { holder, now }: { holder: string; now: string }): IPAllocation[] {
  const { allocations = [], stock } = status ?? {};
  const isOthers = stock !== undefined && stock.holder !== holder;
  const loose = [
    ...allocations.filter(({ releasedAt }) => isOthers && releasedAt !== undefined).map(({ address }) => address),
    ...(stock?.addresses ?? []).filter((address) => allocations.every((entry) => entry.address !== address)),
  ];
  return [
    ...allocations.filter(({ address }) => !loose.includes(address)),
    ...loose.map((address) => formerStock(numbersOf(spec).family, parseIp(address).value, now)),
  ];
}

export const isFormerStock = ({ interfaceKey }: IPAllocation): boolean => interfaceKey === stockKey;
