/**
 * Addresses that a leader may hand out before their pool records who has them, so that a pod that comes alone waits for one write less. A leader sets them
 * aside with a write of the pool, under the name of its term. Two terms never share one: the next leader lets a former one's stock cool down, twice as long as
 * an address that was given back, and only then hands it out. A PodNetwork of the former leader that arrives until then is recognised by the address that it has.
 */
import { type IPAllocation, type IPPool, formatIp } from '@podloom/api';

const largest = 32;

/** Small ranges keep most of what they have for everyone: an address that cools down is missed there. */
export const stockSizeFor = (free: number): number => Math.min(largest, Math.floor(free / 4));

/** What this term may hand out of a pool, in order. */
export const stockOf = ({ status }: IPPool, holder: string): readonly string[] =>
  status?.stock?.holder === holder ? status.stock.addresses : [];

/** No interface has such a key: theirs begin with a kind. */
const stockKey = 'stock';

export const formerStock = (family: 4 | 6, value: bigint, now: string): IPAllocation => ({
  address: formatIp({ family, value }),
  podName: '',
  podUid: '',
  interfaceKey: stockKey,
  releasedAt: now,
});

export const isFormerStock = ({ interfaceKey }: IPAllocation): boolean => interfaceKey === stockKey;
