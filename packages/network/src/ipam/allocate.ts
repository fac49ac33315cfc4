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
  /** By address: what other pools have of it. */
  readonly elsewhere: ReadonlyMap<bigint, readonly IPAllocation[]>;
  /** Below this one no address is free: many requests take one walk through the pool. */
  cursor: bigint;
  changed: boolean;
}

export interface AllocateOptions {
  /** In ISO form. */
  readonly now: string;
  /**
   * Addresses of this range that are taken and that none of these pools records: of pools that are gone, and of pools of the same network whose range
   * overlaps this one because it was declared otherwise before. Only its owner gets such an address here.
   */
  readonly elsewhere?: readonly IPAllocation[] | undefined;
}

/** Pools of one range, in any order. Asking again for what a pod's interface has gives the same address. */
export function allocate(
  pools: readonly IPPool[],
  requests: readonly PoolRequest[],
  { now, elsewhere = [] }: AllocateOptions,
): Allocated {
  const nowMs = Date.parse(now);
  const others = Map.groupBy(elsewhere, ({ address }) => parseIp(address).value);
  const drafts = pools
    .map((pool) => draftOf(pool, others))
    .toSorted((a, b) => (a.numbers.first < b.numbers.first ? -1 : 1));
  // Statics first: the next free address must not be one that another request of this batch asks for.
  const order = requests.map((_, i) => i).toSorted((a, b) => rank(requests[a]!) - rank(requests[b]!) || a - b);
  const results: AllocationResult[] = [];
  const nextEnd = endsOf(drafts, nowMs);
  for (const i of order) results[i] = serve(requests[i]!, drafts, nowMs, nextEnd);
  const changed = drafts.filter((draft) => draft.changed);
  return { changed: changed.map((draft) => written(draft, nowMs)), results };
}

/** Of one interface of one pod. */
export const isOf = (a: Owner, b: Owner): boolean => a.podUid === b.podUid && a.interfaceKey === b.interfaceKey;
type Owner = Pick<IPAllocation, 'podUid' | 'interfaceKey'>;

function draftOf(pool: IPPool, elsewhere: Draft['elsewhere']): Draft {
  const numbers = numbersOf(pool.spec);
  const taken = new Map((pool.status?.allocations ?? []).map((entry) => [parseIp(entry.address).value, entry]));
  // The counts were made when gateway or exclusions were others.
  const isOutdated = pool.status !== undefined && pool.status.free !== countsOf(pool).free;
  return { pool, numbers, taken, elsewhere, cursor: numbers.first, changed: isOutdated };
}

const rank = ({ address }: PoolRequest): number => (address === undefined ? 1 : 0);

/** When an address that was given back may go to another pod; undefined while a pod has it. */
const coolUntilMs = ({ releasedAt }: IPAllocation): number | undefined =>
  releasedAt === undefined ? undefined : Date.parse(releasedAt) + coolDownMs;

const coolsDown = (entry: IPAllocation, nowMs: number): boolean => nowMs < (coolUntilMs(entry) ?? -Infinity);

type End = { coolUntilMs?: number };

function serve(request: PoolRequest, drafts: readonly Draft[], nowMs: number, nextEnd: () => End): AllocationResult {
  if (request.address !== undefined) return serveStatic(request, request.address, drafts, nowMs);
  const own = giveAgain((entry) => isOf(entry, request), request, drafts, nowMs);
  if (own) return own;
  for (const draft of drafts) {
    const value = nextFree(draft, nowMs);
    if (value !== undefined) return give(draft, value, request);
  }
  // Before it waits for others, the pod has what another interface of its own gave back: nobody remembers another pod there.
  const isBack = ({ podUid, releasedAt }: IPAllocation): boolean =>
    podUid === request.podUid && releasedAt !== undefined;
  const left = giveAgain(isBack, request, drafts, nowMs);
  if (left) return left;
  const [first] = drafts;
  const range = first ? `${first.pool.spec.network} (${first.pool.spec.cidr})` : 'the network';
  return {
    failed: 'Exhausted',
    message: `No address of ${range} is free; free one, or widen the range`,
    ...nextEnd(),
  };
}

function giveAgain(
  isWanted: (entry: IPAllocation) => boolean,
  request: PoolRequest,
  drafts: readonly Draft[],
  nowMs: number,
): AllocationResult | undefined {
  for (const draft of drafts) {
    const found = draft.taken
      .entries()
      .find(([value, entry]) => isWanted(entry) && mayHave(draft, value, entry, request, nowMs));
    if (found) return give(draft, found[0], request);
  }
  return undefined;
}

/** Of its own: what it holds while that is no gateway, and what it gave back as far as it would be handed out at all. */
const mayHave = (
  draft: Draft,
  value: bigint,
  { releasedAt }: IPAllocation,
  request: PoolRequest,
  nowMs: number,
): boolean =>
  releasedAt === undefined
    ? !draft.numbers.isReserved(value)
    : draft.numbers.isOpen(value) && rivalsOf(draft, value, request, nowMs).length === 0;

/** Who finds nothing free is told of one end each, so that not all come back at the first; by the last one, all that cools down has. */
function endsOf(drafts: readonly Draft[], nowMs: number): () => End {
  let ends: number[] | undefined;
  let told = 0;
  return () => {
    ends ??= drafts.flatMap((draft) => cooling(draft, nowMs)).toSorted((a, b) => a - b);
    const coolUntilMs = ends[Math.min(told, ends.length - 1)];
    told += 1;
    return coolUntilMs === undefined ? {} : { coolUntilMs };
  };
}

/** When what cools down of a pool can be handed out. */
const cooling = ({ numbers, taken, elsewhere }: Draft, nowMs: number): number[] =>
  [...taken.values(), ...[...elsewhere.values()].flat()]
    .filter((entry) => coolsDown(entry, nowMs) && isOpenIn(numbers, entry))
    .flatMap((entry) => coolUntilMs(entry) ?? []);

function isOpenIn({ first, last, isOpen }: PoolNumbers, { address }: IPAllocation): boolean {
  const { value } = parseIp(address);
  return value >= first && value <= last && isOpen(value);
}

function serveStatic(request: PoolRequest, address: string, drafts: readonly Draft[], nowMs: number): AllocationResult {
  const { family, value } = parseIp(address);
  const draft = drafts.find(({ numbers: n }) => n.family === family && value >= n.first && value <= n.last);
  if (!draft || draft.numbers.isReserved(value)) {
    if (draft && mayHaveIt(draft, value, request) && rivalsOf(draft, value, request, nowMs).length === 0) {
      give(draft, value, request); // to be given back, and to cool down then
    }
    return {
      failed: 'AddressOutsideRange',
      message: `${address} cannot be handed out: it is the gateway, or the network or broadcast address`,
    };
  }
  const [rival] = rivalsOf(draft, value, request, nowMs);
  if (rival) {
    const until = rival.releasedAt === undefined ? 'belongs to' : 'belonged until just now to';
    const message = `${address} ${until} pod ${rival.podName}`;
    const end = coolUntilMs(rival);
    return { failed: 'AddressTaken', message, ...(end === undefined ? {} : { coolUntilMs: end }) };
  }
  return give(draft, value, request);
}

/** Handed out before it was reserved. */
const mayHaveIt = ({ taken }: Draft, value: bigint, request: PoolRequest): boolean => {
  const owner = taken.get(value);
  return request.hasIt === true || (owner !== undefined && isOf(owner, request));
};

/** All who have, or had lately, this address. */
const ownersOf = ({ taken, elsewhere }: Draft, value: bigint): IPAllocation[] =>
  [taken.get(value) ?? [], elsewhere.get(value) ?? []].flat();

const rivalsOf = (draft: Draft, value: bigint, request: PoolRequest, nowMs: number): IPAllocation[] =>
  ownersOf(draft, value).filter((owner) => !isOf(owner, request) && !mayFollow(owner, request, nowMs));

/** A pod follows itself at once, under whichever key. */
const mayFollow = (owner: IPAllocation, { podUid }: PoolRequest, nowMs: number): boolean =>
  owner.releasedAt !== undefined && (owner.podUid === podUid || !coolsDown(owner, nowMs));

function nextFree(draft: Draft, nowMs: number): bigint | undefined {
  for (; draft.cursor <= draft.numbers.last; draft.cursor += 1n) {
    if (isFree(draft, draft.cursor, nowMs)) return draft.cursor;
  }
  return undefined;
}

const isFree = (draft: Draft, value: bigint, nowMs: number): boolean =>
  draft.numbers.isOpen(value) &&
  ownersOf(draft, value).every((owner) => owner.releasedAt !== undefined && !coolsDown(owner, nowMs));

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
function written(draft: Draft, nowMs: number): IPPool {
  const allocations = [...draft.taken]
    .filter(([, entry]) => entry.releasedAt === undefined || coolsDown(entry, nowMs))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => entry);
  return withAllocations(draft.pool, allocations);
}

export function withAllocations(pool: IPPool, allocations: IPAllocation[]): IPPool {
  const status = { ...pool.status, allocations };
  return { ...pool, status: { ...status, ...countsOf({ spec: pool.spec, status }) } };
}
