/** Giving addresses back, and setting pools right by what the PodNetworks say. */
import { type IPAllocation, type IPPool, parseIp } from '@podloom/api';
import { coolDownMs, withAllocations } from './allocate.ts';
import { numbersOf } from './pools.ts';

/** An address that a living PodNetwork has. */
export interface LivingAddress {
  readonly network: string;
  /** With or without prefix length. */
  readonly address: string;
  readonly podName: string;
  readonly podUid: string;
  readonly interfaceKey: string;
  readonly nodeName?: string | undefined;
}

/** Gives back what `leaves` says. Only changed pools are returned; giving back twice changes nothing. */
export function release(pools: readonly IPPool[], leaves: (entry: IPAllocation) => boolean, now: string): IPPool[] {
  const goes = (entry: IPAllocation): boolean => entry.releasedAt === undefined && leaves(entry);
  return pools.flatMap((pool) => {
    const allocations = pool.status?.allocations ?? [];
    if (!allocations.some(goes)) return [];
    return [
      withAllocations(
        pool,
        allocations.map((entry) => (goes(entry) ? released(entry, now) : entry)),
      ),
    ];
  });
}

const released = (entry: IPAllocation, now: string): IPAllocation => ({ ...entry, releasedAt: now });

/**
 * An address that a living PodNetwork has is put back into its pool; what a pod had that is no more is given back; what has cooled
 * down is forgotten. Two PodNetworks with one address cannot both be right: who has it in the pool keeps it there.
 *
 * `pods` are the uids of all pods that exist. Theirs is never given back here, because the PodNetwork that will have it may still be
 * on its way from another leader; who writes a pod's PodNetwork releases what it no longer needs afterwards.
 */
export function sweep(
  pools: readonly IPPool[],
  living: readonly LivingAddress[],
  pods: ReadonlySet<string>,
  now: string,
): IPPool[] {
  const nowMs = Date.parse(now);
  return pools.flatMap((pool) => {
    const { family, first, last } = numbersOf(pool.spec);
    const mine = new Map<bigint, LivingAddress[]>();
    for (const entry of living) {
      const ip = parseIp(entry.address.split('/')[0] ?? '');
      if (entry.network !== pool.spec.network || ip.family !== family || ip.value < first || ip.value > last) continue;
      mine.set(ip.value, [...(mine.get(ip.value) ?? []), entry]);
    }
    const before = new Map((pool.status?.allocations ?? []).map((entry) => [parseIp(entry.address).value, entry]));
    const after = new Map<bigint, IPAllocation>();
    for (const [value, entry] of before) {
      const swept = sweepOne(entry, mine.get(value) ?? [], { now, nowMs, podExists: pods.has(entry.podUid) });
      if (swept) after.set(value, swept);
    }
    for (const [value, [owner]] of mine) {
      if (owner && !after.has(value)) after.set(value, allocationOf(owner));
    }
    const allocations = [...after].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
    const same =
      allocations.length === before.size && allocations.every((entry) => [...before.values()].includes(entry));
    return same ? [] : [withAllocations(pool, allocations)];
  });
}

interface SweepMoment {
  readonly now: string;
  readonly nowMs: number;
  readonly podExists: boolean;
}

function sweepOne(
  entry: IPAllocation,
  owners: readonly LivingAddress[],
  moment: SweepMoment,
): IPAllocation | undefined {
  const isOwner = ({ podUid, interfaceKey }: LivingAddress): boolean =>
    podUid === entry.podUid && interfaceKey === entry.interfaceKey;
  if (entry.releasedAt === undefined) {
    if (owners.some(isOwner) || moment.podExists) return entry;
    const [owner] = owners;
    return owner ? allocationOf(owner) : released(entry, moment.now);
  }
  const owner = owners.find(isOwner) ?? owners[0];
  if (owner) return allocationOf(owner);
  return moment.nowMs - Date.parse(entry.releasedAt) < coolDownMs ? entry : undefined;
}

const allocationOf = ({ address, podName, podUid, interfaceKey, nodeName }: LivingAddress): IPAllocation => ({
  address: address.split('/')[0] ?? '',
  podName,
  podUid,
  interfaceKey,
  ...(nodeName === undefined ? {} : { nodeName }),
});
