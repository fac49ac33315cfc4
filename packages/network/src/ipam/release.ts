/** Giving addresses back. */
import type { IPAllocation, IPPool } from '@podloom/api';
import { withAllocations } from './allocate.ts';

/** Gives back what `leaves` says. Only changed pools are returned; giving back twice changes nothing. */
export function release(
  pools: readonly IPPool[],
  leaves: (entry: IPAllocation, pool: IPPool) => boolean,
  now: string,
): IPPool[] {
  return pools.flatMap((pool) => {
    const goes = (entry: IPAllocation): boolean => entry.releasedAt === undefined && leaves(entry, pool);
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
