/**
 * Hands out addresses, many at a time. One write of a pool carries all requests that came while the one before was on its way, so that two
 * hundred pods cost a few writes and not two hundred. Two leaders may both be here: the API server takes one write of a resourceVersion,
 * and who comes second reads the pool again and finds what is taken.
 *
 * Who comes alone need not wait for that write: an address of the stock that this term set aside is promised at once, and recorded a moment later.
 */
import { randomUUID } from 'node:crypto';
import { type IPAllocation, type IPPool, Unavailable } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type Log,
  type ObjectKey,
  isNotFound,
  objectKey,
  parseObjectKey,
} from '@podloom/kube';
import {
  type AllocationResult,
  type NetworkRange,
  type PoolDeclaration,
  type PoolRequest,
  allocate,
  claimsOf,
  coolDownMs,
  givenBack,
  isOf,
  overlaps,
  poolFor,
  poolsOf,
  release,
  specOfRange,
  stockOf,
} from '@podloom/network';
import { rangeKey } from './caches.ts';
import { covers, entriesFor, entryOf, hasSameBounds, poolStore } from './pool-store.ts';

export interface Allocator {
  /** An address that nobody else will get, or why there is none. Its pool has it by then, or a moment later. */
  allocate(namespace: string, range: NetworkRange, request: PoolRequest): Promise<AllocationResult>;
  /** Whether this address, without prefix length, is this interface's: in a pool, or promised. Then there is nothing to ask for. */
  has(namespace: string, range: NetworkRange, request: PoolRequest): boolean;
  /** Everything that pods of this name have and have not given back: in a pool, or promised. */
  heldBy(pod: ObjectKey): Held[];
  /** Gives back what `leaves` says of that. */
  release(pod: ObjectKey, leaves: Leaves): Promise<void>;
  /** A PodNetwork has this address, and no pool records it: that is written before anything else of its range is handed out, and tried until it is. */
  restore(namespace: string, range: NetworkRange, request: PoolRequest & { readonly address: string }): void;
  end(): void;
}

/** An address, and the range that it is of. */
export interface Held {
  readonly entry: IPAllocation;
  readonly range: Pick<IPPool['spec'], 'network' | 'cidr'>;
}
export type Leaves = (held: Held) => boolean;

export interface AllocatorOptions {
  readonly client: Client;
  readonly pools: Cache<IPPool, 'namespace' | 'range'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** What was promised to this pod is another's, as its pool says, and it needs another address: a leader before or after us was there first. */
  readonly lost: (pod: ObjectKey) => void;
}

interface Ask {
  readonly range: NetworkRange;
  readonly request: PoolRequest;
}
type Range = Held['range'];

/** What goes on in one range. */
interface Ledger extends Range {
  readonly namespace: string;
  /** Who waits for the next write; undefined while nothing is on its way. */
  line?: Job[] | undefined;
  /** By address: what was handed out of the stock and is not in its pool yet. Every write of the pool records all of it. */
  readonly promised: Map<string, Ask>;
  /** By address: what writes give that are on their way, or may have given if their answer never came: the stock as we know it does not tell. */
  giving: ReadonlyMap<string, PoolRequest>;
  /** How often in a row nothing could be written. */
  failures: number;
  /** Ends the wait after which what is promised is recorded. */
  endWait?: (() => void) | undefined;
}
interface Job {
  readonly ask?: Ask;
  readonly leaves?: Leaves;
  readonly settle: PromiseWithResolvers<AllocationResult | undefined>;
}

/** Each is a lost race against a writer that won, or a pool more; so many in a row are none. */
const mostAttempts = 50;
/** Not at once, because the pod's agent is at work; and not much later, because until then only this process and the PodNetwork know. */
const recordAfterMs = 500;

export function allocator({ client, pools, clock, log, signal, lost }: AllocatorOptions): Allocator {
  const store = poolStore({ client, pools, signal });
  const ledgers = new Map<string, Ledger>();
  /** This term of leadership: the stock of another one, even of this very process, is not ours. */
  const holder = randomUUID();

  function ledgerOf(namespace: string, { network, cidr }: Range): Ledger {
    const key = rangeKey(namespace, network, cidr);
    const none = { promised: new Map(), giving: new Map(), failures: 0 };
    const ledger = ledgers.get(key) ?? { namespace, network, cidr, ...none };
    ledgers.set(key, ledger);
    return ledger;
  }

  /** What this range must leave alone because it was declared otherwise before, and pods have addresses of that: recorded, promised or being written. */
  function elsewhere({ namespace, network, cidr }: Ledger): IPAllocation[] {
    const isFormer = (other: Range): boolean =>
      other.network === network && other.cidr !== cidr && overlaps(cidr, other.cidr);
    const now = new Date(clock.now()).toISOString();
    return [
      ...store
        .inNamespace(namespace)
        .filter(({ spec }) => isFormer(spec))
        .flatMap((pool) => claimsOf(pool, { holder, now })),
      ...[...ledgers.values()].filter((one) => one.namespace === namespace && isFormer(one)).flatMap(unrecorded),
    ];
  }

  /** An address of our own stock, where there is one: nobody else hands it out. */
  function promise(ledger: Ledger, { range, request }: Ask): AllocationResult | undefined {
    const { promised, giving, namespace } = ledger;
    const isOwn = (one: IPAllocation | PoolRequest): boolean => isOf(one, request);
    const ours = store.ofRange(namespace, ledger);
    const declared = specOfRange(range);
    if (signal.aborted || ours.some(({ spec }) => !hasSameBounds(spec, declared))) return undefined;
    const had = [...promised].find(([, ask]) => isOwn(ask.request))?.[0];
    const isHeld = (entry: IPAllocation): boolean => isOwn(entry) && entry.releasedAt === undefined;
    if (had === undefined && ours.some(({ status }) => status?.allocations?.some(isHeld))) return undefined;
    const others = new Set(elsewhere(ledger).map(({ address }) => address));
    const isLeft = (address: string): boolean => !promised.has(address) && !giving.has(address) && !others.has(address);
    const again = ours.flatMap((pool) => givenBack(pool, holder, request) ?? []);
    const stock = ours.values().flatMap((pool) => stockOf(pool, holder));
    const address = had ?? again.find(isLeft) ?? stock.find(isLeft);
    if (address === undefined || !store.holding(namespace, range, address)) return undefined;
    // Not `hasIt`: if another leader took the stock over, the pod must not have it until its PodNetwork is seen.
    promised.set(address, { range, request: { ...request, address } });
    recordSoon(ledger);
    return { address: `${address}/${declared.cidr.split('/')[1]}` };
  }

  function recordSoon(ledger: Ledger): void {
    if (signal.aborted) return;
    const afterMs = Math.min(recordAfterMs * 2 ** Math.max(0, ledger.failures - 1), coolDownMs);
    ledger.endWait ??= clock.after(afterMs, () => {
      ledger.endWait = undefined;
      // It is waited for and tried again, as long as it is promised.
      add(ledger, {}).catch((error: unknown) => {
        if (signal.aborted) return;
        log.warn({ range: keyOfLedger(ledger), err: error }, 'Could not record addresses, will retry');
      });
    });
  }

  function add(ledger: Ledger, job: Omit<Job, 'settle'>): Promise<AllocationResult | undefined> {
    const settle = Promise.withResolvers<AllocationResult | undefined>();
    if (ledger.line) ledger.line.push({ ...job, settle });
    else {
      ledger.line = [{ ...job, settle }];
      // In a microtask, so that all who ask in this turn are in the first write already.
      queueMicrotask(() => void work(ledger));
    }
    return settle.promise;
  }

  async function work(ledger: Ledger): Promise<void> {
    while (ledger.line && ledger.line.length > 0) {
      const jobs = ledger.line.splice(0);
      try {
        const results = await serve(ledger, jobs);
        ledger.failures = 0;
        jobs.forEach(({ settle }, i) => settle.resolve(results[i]));
      } catch (error) {
        ledger.failures += 1;
        // Where no pool can be made the namespace is gone, and with it whoever had an address.
        if (isNotFound(error)) {
          ledger.promised.clear();
          ledger.giving = new Map();
        }
        for (const { settle } of jobs) settle.reject(error);
      }
    }
    ledger.line = undefined;
    ledger.endWait?.();
    ledger.endWait = undefined;
    if (ledger.promised.size > 0) recordSoon(ledger);
    else if (ledger.giving.size === 0) ledgers.delete(keyOfLedger(ledger));
  }

  async function serve(ledger: Ledger, jobs: readonly Job[]): Promise<(AllocationResult | undefined)[]> {
    const { namespace } = ledger;
    const key = keyOfLedger(ledger);
    const asked = jobs.flatMap(({ ask }) => ask ?? []);
    let next: PoolDeclaration | undefined;
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      signal.throwIfAborted();
      // Who asks now knows best what the range is like.
      const range = [...ledger.promised.values(), ...asked].at(-1)?.range;
      const needed = range ? declarationsFor(range, [...ledger.promised.values(), ...asked], next) : [];
      if (range && !(await store.declare(namespace, range, needed))) continue;
      // From here to the write nothing waits: what is promised while it is on its way is in the next one.
      const promised = [...ledger.promised];
      const now = new Date(clock.now()).toISOString();
      const before = store.ofRange(namespace, ledger);
      const options = { now, holder, elsewhere: elsewhere(ledger) };
      // What is promised comes first: it may be given back by now, and who asks for one of them by name is too late.
      const kept = allocate(before, requestsOf(promised.map(([, ask]) => ask)), options);
      const leaves = (entry: IPAllocation, { spec }: IPPool) =>
        jobs.some((job) => job.leaves?.({ entry, range: spec }));
      const released = release(merge(before, kept.changed), leaves, now);
      const given = allocate(merge(before, kept.changed, released), requestsOf(asked), options);
      const results = [...kept.results, ...given.results];
      const isShort = results.some((result) => 'failed' in result && result.failed === 'Exhausted');
      const isThere = ({ name }: PoolDeclaration): boolean => before.some(({ metadata }) => metadata.name === name);
      next = range && isShort ? poolsOf(range, before.length + 1).find((one) => !isThere(one)) : undefined;
      if (next) continue;
      const changed = merge(before, kept.changed, released, given.changed).filter((pool) => !before.includes(pool));
      const requests = requestsOf([...promised.map(([, ask]) => ask), ...asked]);
      const isWritten = (address: string): boolean => changed.some((pool) => covers(pool, address));
      const gives = results
        .flatMap((one, i) => ('address' in one ? [[one.address.split('/')[0] ?? '', requests[i]!] as const] : []))
        .filter(([address]) => isWritten(address));
      ledger.giving = new Map([...ledger.giving, ...gives]);
      if (await store.record(changed)) {
        // What a write of another pool may have given, none of these has told.
        ledger.giving = new Map([...ledger.giving].filter(([address]) => !isWritten(address)));
        for (const [i, [address, { request }]] of promised.entries()) {
          ledger.promised.delete(address);
          if ('failed' in kept.results[i]!) lost(objectKey(request.podName, namespace));
        }
        let i = 0;
        return jobs.map(({ ask }) => (ask ? given.results[i++] : undefined));
      }
    }
    throw new Unavailable('POOL_CONTENDED', `The pools of ${key} change all the time; is another operator at work?`);
  }

  function heldBy(pod: ObjectKey): Held[] {
    const { name, namespace = '' } = parseObjectKey(pod);
    const recorded = store
      .inNamespace(namespace)
      .flatMap((pool) => entriesFor(pool, name).map((entry) => ({ entry, range: pool.spec })));
    const promised = [...ledgers.values()]
      .filter((ledger) => ledger.namespace === namespace)
      .flatMap((ledger) => ledger.promised.entries().toArray())
      .filter(([, { request }]) => request.podName === name)
      .map(([address, { range, request }]) => ({
        entry: { ...request, address },
        range: specOfRange(range),
      }));
    return [...recorded, ...promised];
  }

  function isRecorded(namespace: string, range: NetworkRange, request: PoolRequest): boolean {
    const { address = '', nodeName } = request;
    const pool = store.holding(namespace, range, address);
    const entry = pool && entryOf(pool, address);
    return entry !== undefined && isOf(entry, request) && entry.nodeName === nodeName && entry.releasedAt === undefined;
  }

  function isPromised(namespace: string, range: NetworkRange, request: PoolRequest): boolean {
    const { address = '' } = request;
    const { network, cidr } = specOfRange(range);
    const ask = ledgers.get(rangeKey(namespace, network, cidr))?.promised.get(address);
    return ask !== undefined && isOf(ask.request, request) && store.holding(namespace, range, address) !== undefined;
  }

  return {
    async allocate(namespace, range, request) {
      const ledger = ledgerOf(namespace, specOfRange(range));
      const promised = request.address === undefined ? promise(ledger, { range, request }) : undefined;
      const result = promised ?? (await add(ledger, { ask: { range, request } }));
      return result ?? { failed: 'Exhausted', message: 'Nothing was answered' };
    },
    has: (namespace, range, request) => isRecorded(namespace, range, request) || isPromised(namespace, range, request),
    heldBy,
    async release(pod, leaves) {
      const { name, namespace = '' } = parseObjectKey(pod);
      const held = heldBy(pod).filter(leaves);
      const affected = new Set(held.map(({ range }) => ledgerOf(namespace, range)));
      const job: Omit<Job, 'settle'> = { leaves: (one) => one.entry.podName === name && leaves(one) };
      await Promise.all([...affected].map((ledger) => add(ledger, job)));
    },
    restore(namespace, range, request) {
      const ledger = ledgerOf(namespace, specOfRange(range));
      ledger.promised.set(request.address, { range, request });
      recordSoon(ledger);
    },
    end() {
      for (const { endWait } of ledgers.values()) endWait?.();
      store.end();
    },
  };
}

/** The first pool, those of addresses that someone has or asks for, and the next where these are full. */
function declarationsFor(
  range: NetworkRange,
  asks: readonly Ask[],
  next: PoolDeclaration | undefined,
): PoolDeclaration[] {
  const all = [
    ...poolsOf(range, 1),
    ...(next ? [next] : []),
    ...asks.flatMap(({ range, request: { address } }) =>
      address === undefined ? [] : (poolFor(range, address) ?? []),
    ),
  ];
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

const requestsOf = (asks: readonly Ask[]): PoolRequest[] => asks.map(({ request }) => request);

const isSamePool = (a: IPPool, b: IPPool): boolean => a.metadata.name === b.metadata.name;

/** The pools, each as the last of these changes leaves it. */
const merge = (before: readonly IPPool[], ...changes: readonly (readonly IPPool[])[]): IPPool[] =>
  before.map((pool) => changes.flat().findLast((one) => isSamePool(one, pool)) ?? pool);

/** What is handed out of a range and not in its pools yet. */
const unrecorded = ({ promised, giving }: Ledger): IPAllocation[] =>
  [...giving, ...promised.entries().map(([address, { request }]) => [address, request] as const)].map(
    ([address, { podName, podUid, interfaceKey }]) => ({ address, podName, podUid, interfaceKey }),
  );

const keyOfLedger = ({ namespace, network, cidr }: Ledger): string => rangeKey(namespace, network, cidr);
