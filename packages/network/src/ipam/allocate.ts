/**
 * Who gets which address. Pure: pools as read in, pools to write out. Two leaders may both compute; the API server takes one write of
 * a resourceVersion, so the other reads again and finds the address taken. Nothing may use an address before its pool is written.
 */
import { type IPAllocation, type IPPool, formatIp, parseIp } from '@podloom/api';
import { countsOf, numbersOf, type PoolNumbers } from './pools.ts';
import type { Allocated, AllocationResult, PoolRequest } from './types.ts';

/** An address goes to another pod only this long after it was given back: peers may still hold the old neighbour entry. */
export const coolDownMs = 60_000;

interface Draft {
  readonly pool: IPPool;
  readonly numbers: PoolNumbers;
  readonly taken: Map<bigint, IPAllocation>;
  /** Below this one no address is free: many requests take one walk through the pool. */
  cursor: bigint;
  changed: boolean;
}

/** Pools of one range, in any order. `now` in ISO form. Asking again for what a pod's interface has gives the same address. */
export function allocate(pools: readonly IPPool[], requests: readonly PoolRequest[], now: string): Allocated {
  const drafts = pools
    .map((pool): Draft => {
      const numbers = numbersOf(pool.spec);
      const taken = (pool.status?.allocations ?? []).map((entry) => [parseIp(entry.address).value, entry] as const);
      return { pool, numbers, taken: new Map(taken), cursor: numbers.first, changed: false };
    })
    .toSorted((a, b) => (a.numbers.first < b.numbers.first ? -1 : 1));
  const nowMs = Date.parse(now);
  // Statics first: the next free address must not be one that another request of this batch asks for.
  const order = requests.map((_, i) => i).toSorted((a, b) => rank(requests[a]!) - rank(requests[b]!) || a - b);
  const results: AllocationResult[] = [];
  for (const i of order) results[i] = serve(requests[i]!, drafts, nowMs);
  return { changed: drafts.filter(({ changed }) => changed).map((draft) => written(draft)), results };
}

const rank = ({ address }: PoolRequest): number => (address === undefined ? 1 : 0);

const isOf = (entry: IPAllocation, { podUid, interfaceKey }: PoolRequest): boolean =>
  entry.podUid === podUid && entry.interfaceKey === interfaceKey;

const coolsDown = ({ releasedAt }: IPAllocation, nowMs: number): boolean =>
  releasedAt !== undefined && nowMs - Date.parse(releasedAt) < coolDownMs;

function serve(request: PoolRequest, drafts: readonly Draft[], nowMs: number): AllocationResult {
  if (request.address !== undefined) return serveStatic(request, request.address, drafts, nowMs);
  for (const draft of drafts) {
    const own = [...draft.taken].find(([value, entry]) => isOf(entry, request) && !draft.numbers.isReserved(value));
    if (own) return give(draft, own[0], request);
  }
  for (const draft of drafts) {
    const value = nextFree(draft, nowMs);
    if (value !== undefined) return give(draft, value, request);
  }
  const [first] = drafts;
  const range = first ? `${first.pool.spec.network} (${first.pool.spec.cidr})` : 'the network';
  return { failed: 'Exhausted', message: `No address of ${range} is free; free one, or widen the range` };
}

function serveStatic(request: PoolRequest, address: string, drafts: readonly Draft[], nowMs: number): AllocationResult {
  const { family, value } = parseIp(address);
  const draft = drafts.find(({ numbers: n }) => n.family === family && value >= n.first && value <= n.last);
  if (!draft || draft.numbers.isReserved(value)) {
    return { failed: 'AddressOutsideRange', message: `${address} cannot be handed out in this network` };
  }
  const holder = draft.taken.get(value);
  if (holder && !isOf(holder, request) && (holder.releasedAt === undefined || coolsDown(holder, nowMs))) {
    const until = holder.releasedAt === undefined ? 'belongs to' : 'belonged until just now to';
    return { failed: 'AddressTaken', message: `${address} ${until} pod ${holder.podName}` };
  }
  return give(draft, value, request);
}

function nextFree(draft: Draft, nowMs: number): bigint | undefined {
  const { numbers, taken } = draft;
  for (; draft.cursor <= numbers.last; draft.cursor += 1n) {
    const value = draft.cursor;
    if (numbers.isReserved(value) || numbers.isExcluded(value)) continue;
    const holder = taken.get(value);
    if (!holder || (holder.releasedAt !== undefined && !coolsDown(holder, nowMs))) return value;
  }
  return undefined;
}

function give(draft: Draft, value: bigint, request: PoolRequest): AllocationResult {
  const { family, prefixLength } = draft.numbers;
  const address = formatIp({ family, value });
  const { podName, podUid, interfaceKey, nodeName } = request;
  const had = draft.taken.get(value);
  if (!had || !isOf(had, request) || had.releasedAt !== undefined || had.nodeName !== nodeName) {
    draft.taken.set(value, { address, podName, podUid, interfaceKey, ...(nodeName === undefined ? {} : { nodeName }) });
    draft.changed = true;
  }
  return { address: `${address}/${prefixLength}` };
}

/** Sorted by address, so that the same state is the same object. */
function written({ pool, taken }: Pick<Draft, 'pool' | 'taken'>): IPPool {
  const allocations = [...taken].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  return withAllocations(pool, allocations);
}

export function withAllocations(pool: IPPool, allocations: IPAllocation[]): IPPool {
  const status = { ...pool.status, allocations };
  return { ...pool, status: { ...status, ...countsOf({ spec: pool.spec, status }) } };
}
