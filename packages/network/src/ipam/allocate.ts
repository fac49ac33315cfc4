/**
 * Who gets which address. Pure: pools as read in, pools to write out. Two leaders may both compute; the API server takes one write of
 * a resourceVersion, so the other reads again and finds the address taken. Nothing may use an address before its pool is written, except
 * those of the leader's own stock: see `stock.ts`.
 */
import { type IPAllocation, type IPPool, formatIp, parseIp } from '@podloom/api';
import { countsOf, numbersOf, type PoolNumbers } from './pools.ts';
import { formerStock, isFormerStock, stockSizeFor } from './stock.ts';
import type { Allocated, AllocationResult, PoolRequest } from './types.ts';

/** An address goes to another pod only this long after it was given back: peers may still hold the old neighbour entry. */
export const coolDownMs = 60_000;

interface Draft {
  readonly pool: IPPool;
  readonly numbers: PoolNumbers;
  readonly taken: Map<bigint, IPAllocation>;
  /** Set aside for whoever computes this. */
  readonly stock: readonly bigint[];
  /** Below this one no address is free: many requests take one walk through the pool. */
  cursor: bigint;
  changed: boolean;
}

export interface AllocateOptions {
  /** In ISO form. */
  readonly now: string;
  /** The term of leadership that computes, and sets a stock aside for itself. Left out, whatever stock there is counts as one's own and none is made. */
  readonly holder?: string | undefined;
}

/** Pools of one range, in any order. Asking again for what a pod's interface has gives the same address. */
export function allocate(
  pools: readonly IPPool[],
  requests: readonly PoolRequest[],
  { now, holder }: AllocateOptions,
): Allocated {
  const nowMs = Date.parse(now);
  const drafts = pools
    .map((pool) => draftOf(pool, now, holder))
    .toSorted((a, b) => (a.numbers.first < b.numbers.first ? -1 : 1));
  // Statics first: the next free address must not be one that another request of this batch asks for.
  const order = requests.map((_, i) => i).toSorted((a, b) => rank(requests[a]!) - rank(requests[b]!) || a - b);
  const results: AllocationResult[] = [];
  for (const i of order) results[i] = serve(requests[i]!, drafts, nowMs);
  const changed = drafts.filter((draft) => draft.changed);
  return { changed: changed.map((draft) => written(draft, nowMs, holder)), results };
}

function draftOf(pool: IPPool, now: string, holder: string | undefined): Draft {
  const numbers = numbersOf(pool.spec);
  const taken = new Map((pool.status?.allocations ?? []).map((entry) => [parseIp(entry.address).value, entry]));
  const { stock } = pool.status ?? {};
  const isOwn = holder === undefined || stock?.holder === holder;
  const stocked = (stock?.addresses ?? [])
    .map((address) => parseIp(address).value)
    .filter((value) => !taken.has(value));
  const isTakenOver = !isOwn && stock !== undefined;
  if (isTakenOver) {
    const back = [...taken].filter(([, entry]) => entry.releasedAt !== undefined && !isFormerStock(entry));
    for (const value of [...stocked, ...back.map(([value]) => value)]) {
      taken.set(value, formerStock(numbers.family, value, now));
    }
  }
  return {
    pool,
    numbers,
    taken,
    stock: isOwn ? stocked : [],
    cursor: numbers.first,
    changed: isTakenOver,
  };
}

const rank = ({ address }: PoolRequest): number => (address === undefined ? 1 : 0);

const isOf = (entry: IPAllocation, { podUid, interfaceKey }: PoolRequest): boolean =>
  entry.podUid === podUid && entry.interfaceKey === interfaceKey;

/** When an address that was given back may go to another pod; undefined while a pod has it. */
export function coolUntilMs(entry: IPAllocation): number | undefined {
  if (entry.releasedAt === undefined) return undefined;
  // In the first of the two a write of the former leader may still arrive, and what it gave be in use.
  return Date.parse(entry.releasedAt) + (isFormerStock(entry) ? 2 : 1) * coolDownMs;
}

const coolsDown = (entry: IPAllocation, nowMs: number): boolean => nowMs < (coolUntilMs(entry) ?? -Infinity);

function serve(request: PoolRequest, drafts: readonly Draft[], nowMs: number): AllocationResult {
  if (request.address !== undefined) return serveStatic(request, request.address, drafts, nowMs);
  for (const draft of drafts) {
    const own = draft.taken
      .entries()
      .find(([value, entry]) => isOf(entry, request) && !draft.numbers.isReserved(value));
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
  if (holder && !isOf(holder, request) && !mayFollow(holder, request, nowMs)) {
    const until = holder.releasedAt === undefined ? 'belongs to' : 'belonged until just now to';
    const whom = isFormerStock(holder) ? 'the stock of another operator' : `pod ${holder.podName}`;
    return { failed: 'AddressTaken', message: `${address} ${until} ${whom}` };
  }
  return give(draft, value, request);
}

/** What a former leader handed out of its stock and did not live to record is recorded now. */
const mayFollow = (holder: IPAllocation, { hasIt = false }: PoolRequest, nowMs: number): boolean =>
  (holder.releasedAt !== undefined && !coolsDown(holder, nowMs)) || (hasIt && isFormerStock(holder));

function nextFree(draft: Draft, nowMs: number): bigint | undefined {
  const setAside = draft.stock.find((value) => isFree(draft, value, nowMs));
  if (setAside !== undefined) return setAside;
  for (; draft.cursor <= draft.numbers.last; draft.cursor += 1n) {
    if (isFree(draft, draft.cursor, nowMs)) return draft.cursor;
  }
  return undefined;
}

function isFree({ numbers, taken }: Draft, value: bigint, nowMs: number): boolean {
  if (numbers.isReserved(value) || numbers.isExcluded(value)) return false;
  const holder = taken.get(value);
  return !holder || (holder.releasedAt !== undefined && !coolsDown(holder, nowMs));
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

/** Sorted by address, so that the same state is the same object. What has cooled down is forgotten. */
function written(draft: Draft, nowMs: number, holder: string | undefined): IPPool {
  const allocations = [...draft.taken]
    .filter(([, entry]) => entry.releasedAt === undefined || coolsDown(entry, nowMs))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => entry);
  const after = withAllocations(draft.pool, allocations);
  if (holder === undefined) return after;
  const addresses = stockOf(draft, nowMs, stockSizeFor(after.status?.free ?? 0));
  const { stock: _old, ...status } = after.status ?? {};
  return { ...after, status: addresses.length === 0 ? status : { ...status, stock: { holder, addresses } } };
}

/** What was set aside and is still free, filled up with the next. */
function stockOf(draft: Draft, nowMs: number, size: number): string[] {
  const { numbers } = draft;
  const values = draft.stock.filter((value) => isFree(draft, value, nowMs));
  for (let value = numbers.first; value <= numbers.last && values.length < size; value += 1n) {
    if (isFree(draft, value, nowMs) && !values.includes(value)) values.push(value);
  }
  return values.toSorted((a, b) => (a < b ? -1 : 1)).map((value) => formatIp({ family: numbers.family, value }));
}

export function withAllocations(pool: IPPool, allocations: IPAllocation[]): IPPool {
  const status = { ...pool.status, allocations };
  return { ...pool, status: { ...status, ...countsOf({ spec: pool.spec, status }) } };
}
