/**
 * Hands out addresses, many at a time. One write of a pool carries all requests that came while the one before was on its way, so that two
 * hundred pods cost a few writes and not two hundred. Two leaders may both be here: the API server takes one write of a resourceVersion,
 * and who comes second reads the pool again and finds what is taken.
 *
 * Who comes alone need not wait for that write: an address of the stock that this term set aside is promised at once, and recorded a moment later.
 */
import { randomUUID } from 'node:crypto';
import { type IPAllocation, type IPPool, Unavailable, ipPoolKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type Log,
  type ObjectKey,
  isAlreadyExists,
  isNotFound,
  isStale,
  objectKey,
  parseObjectKey,
} from '@podloom/kube';
import {
  type AllocationResult,
  type NetworkRange,
  type PoolDeclaration,
  type PoolRequest,
  allocate,
  coolUntilMs,
  givenBack,
  poolFor,
  poolsOf,
  release,
  stockOf,
} from '@podloom/network';
import { rangeKey } from './caches.ts';
import { fresh } from './fresh.ts';

export interface Allocator {
  /** An address that nobody else will get, or why there is none. Its pool has it by then, or a moment later. */
  allocate(namespace: string, range: NetworkRange, request: PoolRequest): Promise<AllocationResult>;
  /** Whether this address, without prefix length, is this interface's: in a pool, or promised. Then there is nothing to ask for. */
  has(namespace: string, range: NetworkRange, request: PoolRequest): boolean;
  /** Everything that pods of this name have and have not given back: in a pool, or promised. */
  heldBy(pod: ObjectKey): Held[];
  /** Gives back what `leaves` says of that. */
  release(pod: ObjectKey, leaves: Leaves): Promise<void>;
  /** Milliseconds until the next address of a range has cooled down; undefined where none is about to. */
  coolDownEndsMs(namespace: string, range: NetworkRange): number | undefined;
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
/** What goes on in one range. */
interface Ledger {
  readonly namespace: string;
  /** Who waits for the next write; undefined while nothing is on its way. */
  line?: Job[] | undefined;
  /** By address: what was handed out of the stock and is not in its pool yet. Every write of the pool records all of it. */
  readonly promised: Map<string, Ask>;
  /** What writes give that are on their way, or may have given if their answer never came: the stock as we know it does not tell. */
  giving: ReadonlySet<string>;
  /** Ends the wait after which what is promised is recorded. */
  endWait?: (() => void) | undefined;
}
interface Job {
  readonly ask?: Ask;
  readonly leaves?: Leaves;
  readonly settle: PromiseWithResolvers<AllocationResult | undefined>;
}

const resource = ipPoolKind.resource;
/** Each is a lost race against a writer that won, or a pool more; so many in a row are none. */
const mostAttempts = 50;
/** Not at once, because the pod's agent is at work; and not much later, because until then only this process and the PodNetwork know. */
const recordAfterMs = 500;

export function allocator({ client, pools, clock, log, signal, lost }: AllocatorOptions): Allocator {
  const known = fresh(pools);
  const ledgers = new Map<string, Ledger>();
  /** This term of leadership: the stock of another one, even of this very process, is not ours. */
  const holder = randomUUID();

  function ledgerOf(namespace: string, key: string): Ledger {
    const ledger = ledgers.get(key) ?? { namespace, promised: new Map(), giving: new Set() };
    ledgers.set(key, ledger);
    return ledger;
  }

  /** Also pools that were made here a moment ago, of which the cache has not heard. */
  const newest = (index: 'namespace' | 'range', key: string): IPPool[] => [
    ...known.newest(pools.by(index, key)),
    ...known.unheard().filter((pool) => key === (index === 'range' ? rangeOf(pool) : pool.metadata.namespace)),
  ];

  /** An address of our own stock, where there is one: nobody else hands it out. */
  function promise(namespace: string, key: string, { range, request }: Ask): AllocationResult | undefined {
    const ledger = ledgerOf(namespace, key);
    const { promised, giving } = ledger;
    const isOwn = (one: IPAllocation | PoolRequest): boolean => isOfSame(one, request);
    const ours = newest('range', key);
    const [declared] = poolsOf(range, 1);
    if (signal.aborted || !declared || ours.some(({ spec }) => !isSame(spec, declared.spec))) return undefined;
    const had = [...promised].find(([, ask]) => isOwn(ask.request))?.[0];
    const isHeld = (entry: IPAllocation): boolean => isOwn(entry) && entry.releasedAt === undefined;
    if (had === undefined && ours.some(({ status }) => status?.allocations?.some(isHeld))) return undefined;
    const isLeft = (address: string): boolean => !promised.has(address) && !giving.has(address);
    const again = ours.flatMap((pool) => givenBack(pool, holder, request) ?? []);
    const address = had ?? [...again, ...ours.flatMap((pool) => stockOf(pool, holder))].find(isLeft);
    if (address === undefined) return undefined;
    // Not `hasIt`: if another leader took the stock over, the pod must not have it until its PodNetwork is seen.
    promised.set(address, { range, request: { ...request, address } });
    recordSoon(key, ledger);
    return { address: `${address}/${declared.spec.cidr.split('/')[1]}` };
  }

  function recordSoon(key: string, ledger: Ledger): void {
    if (signal.aborted) return;
    ledger.endWait ??= clock.after(recordAfterMs, () => {
      ledger.endWait = undefined;
      // It is waited for and tried again, as long as it is promised.
      add(ledger.namespace, key, {}).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ range: key, err: error }, 'Could not record addresses, will retry');
      });
    });
  }

  function add(namespace: string, key: string, job: Omit<Job, 'settle'>): Promise<AllocationResult | undefined> {
    const settle = Promise.withResolvers<AllocationResult | undefined>();
    const ledger = ledgerOf(namespace, key);
    if (ledger.line) ledger.line.push({ ...job, settle });
    else {
      ledger.line = [{ ...job, settle }];
      // In a microtask, so that all who ask in this turn are in the first write already.
      queueMicrotask(() => void work(key, ledger));
    }
    return settle.promise;
  }

  async function work(key: string, ledger: Ledger): Promise<void> {
    while (ledger.line && ledger.line.length > 0) {
      const jobs = ledger.line.splice(0);
      try {
        const results = await serve(key, ledger, jobs);
        jobs.forEach(({ settle }, i) => settle.resolve(results[i]));
      } catch (error) {
        for (const { settle } of jobs) settle.reject(error);
      }
    }
    ledger.line = undefined;
    ledger.endWait?.();
    ledger.endWait = undefined;
    if (ledger.promised.size > 0) recordSoon(key, ledger);
    else if (ledger.giving.size === 0) ledgers.delete(key);
  }

  async function serve(key: string, ledger: Ledger, jobs: readonly Job[]): Promise<(AllocationResult | undefined)[]> {
    const { namespace } = ledger;
    const asked = jobs.flatMap(({ ask }) => ask ?? []);
    let more = 1;
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      signal.throwIfAborted();
      const range = [...asked, ...ledger.promised.values()].at(-1)?.range;
      if (range) await ensurePools(namespace, declarationsFor(range, asked, more));
      // From here to the write nothing waits: what is promised while it is on its way is in the next one.
      const promised = [...ledger.promised];
      const now = new Date(clock.now()).toISOString();
      const before = newest('range', key);
      // What is promised comes first: it may be given back by now, and who asks for one of them by name is too late.
      const kept = allocate(before, requestsOf(promised.map(([, ask]) => ask)), { now, holder });
      const leaves = (entry: IPAllocation, { spec }: IPPool) =>
        jobs.some((job) => job.leaves?.({ entry, range: spec }));
      const released = release(merge(before, kept.changed), leaves, now);
      const given = allocate(merge(before, kept.changed, released), requestsOf(asked), { now, holder });
      const results = [...kept.results, ...given.results];
      const isShort = results.some((result) => 'failed' in result && result.failed === 'Exhausted');
      if (range && isShort && poolsOf(range, before.length + 1).length > before.length) {
        more = before.length + 1;
        continue;
      }
      const changed = merge(before, kept.changed, released, given.changed).filter((pool) => !before.includes(pool));
      const gives = results.flatMap((one) => ('address' in one ? (one.address.split('/')[0] ?? []) : []));
      ledger.giving = new Set([...ledger.giving, ...gives]);
      if (await writeAll(changed)) {
        ledger.giving = new Set();
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

  async function ensurePools(namespace: string, declarations: readonly PoolDeclaration[]): Promise<void> {
    await Promise.all(
      declarations.map(async ({ name, spec }) => {
        const poolKey = objectKey(name, namespace);
        const pool = known.get(poolKey) ?? (await make({ name, spec }, namespace));
        if (!isSame(pool.spec, spec)) {
          try {
            known.wrote(await client.update(resource, { ...pool, spec }, { namespace, signal }));
          } catch (error) {
            await reread(pool, error);
          }
        }
      }),
    );
  }

  async function make({ name, spec }: PoolDeclaration, namespace: string): Promise<IPPool> {
    try {
      const pool = await client.create(resource, { metadata: { name, namespace }, spec }, { namespace, signal });
      known.wrote(pool);
      return pool;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const pool = await client.get(resource, name, { namespace, signal });
      known.wrote(pool);
      return pool;
    }
  }

  async function writeAll(changed: readonly IPPool[]): Promise<boolean> {
    const outcomes = await Promise.all(
      changed.map(async (pool) => {
        try {
          const { namespace } = pool.metadata;
          known.wrote(await client.update(resource, pool, { namespace, subresource: 'status', signal }));
          return true;
        } catch (error) {
          await reread(pool, error);
          return false;
        }
      }),
    );
    return outcomes.every(Boolean);
  }

  async function reread(pool: IPPool, error: unknown): Promise<void> {
    if (isNotFound(error)) {
      known.deleted(pool);
      return;
    }
    if (!isStale(error)) throw error;
    const { name = '', namespace } = pool.metadata;
    try {
      known.wrote(await client.get(resource, name, { namespace, signal }));
    } catch (gone) {
      if (!isNotFound(gone)) throw gone;
      known.deleted(pool);
    }
  }

  /** The pool that this address is in, unless the range is declared otherwise by now. */
  function poolOf(namespace: string, range: NetworkRange, address: string): IPPool | undefined {
    const declaration = poolFor(range, address);
    const pool = declaration && known.get(objectKey(declaration.name, namespace));
    return pool && isSame(pool.spec, declaration.spec) ? pool : undefined;
  }

  function heldBy(pod: ObjectKey): Held[] {
    const { name, namespace = '' } = parseObjectKey(pod);
    const recorded = newest('namespace', namespace).flatMap((pool) =>
      (byPod(pool).get(name) ?? []).map((entry) => ({ entry, range: pool.spec })),
    );
    const promised = [...ledgers.values()]
      .filter((ledger) => ledger.namespace === namespace)
      .flatMap((ledger) => ledger.promised.entries().toArray())
      .filter(([, { request }]) => request.podName === name)
      .map(([address, { range, request }]) => ({
        entry: { ...request, address },
        range: poolsOf(range, 1)[0]?.spec ?? range,
      }));
    return [...recorded, ...promised];
  }

  function isRecorded(namespace: string, range: NetworkRange, request: PoolRequest): boolean {
    const { address = '', nodeName } = request;
    const pool = poolOf(namespace, range, address);
    const entry = pool && byAddress(pool).get(address);
    return (
      entry !== undefined && isOfSame(entry, request) && entry.nodeName === nodeName && entry.releasedAt === undefined
    );
  }

  function isPromised(namespace: string, range: NetworkRange, request: PoolRequest): boolean {
    const { address = '' } = request;
    const ask = ledgers.get(keyOfRange(namespace, range))?.promised.get(address);
    return ask !== undefined && isOfSame(ask.request, request) && poolOf(namespace, range, address) !== undefined;
  }

  return {
    async allocate(namespace, range, request) {
      const key = keyOfRange(namespace, range);
      const promised = request.address === undefined ? promise(namespace, key, { range, request }) : undefined;
      const result = promised ?? (await add(namespace, key, { ask: { range, request } }));
      return result ?? { failed: 'Exhausted', message: 'Nothing was answered' };
    },
    has: (namespace, range, request) => isRecorded(namespace, range, request) || isPromised(namespace, range, request),
    heldBy,
    async release(pod, leaves) {
      const { name, namespace = '' } = parseObjectKey(pod);
      const held = heldBy(pod).filter(leaves);
      const ranges = new Set(held.map(({ range: { network, cidr } }) => rangeKey(namespace, network, cidr)));
      const job: Omit<Job, 'settle'> = { leaves: (one) => one.entry.podName === name && leaves(one) };
      await Promise.all([...ranges].map((key) => add(namespace, key, job)));
    },
    coolDownEndsMs(namespace, range) {
      const ends = newest('range', keyOfRange(namespace, range))
        .flatMap(({ status }) => status?.allocations ?? [])
        .flatMap((entry) => coolUntilMs(entry) ?? [])
        .map((endMs) => endMs - clock.now());
      return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
    },
    end() {
      for (const { endWait } of ledgers.values()) endWait?.();
      known.end();
    },
  };
}

function declarationsFor(range: NetworkRange, asks: readonly Ask[], more: number): PoolDeclaration[] {
  const all = [
    ...poolsOf(range, more),
    ...asks.flatMap(({ range, request: { address } }) =>
      address === undefined ? [] : (poolFor(range, address) ?? []),
    ),
  ];
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

/** A pool is one object until it changes, and is then another. */
const once = <T>(find: (pool: IPPool) => T): ((pool: IPPool) => T) => {
  const found = new WeakMap<IPPool, T>();
  return (pool) => {
    const one = found.get(pool) ?? find(pool);
    found.set(pool, one);
    return one;
  };
};
const entriesOf = ({ status }: IPPool): readonly IPAllocation[] => status?.allocations ?? [];
const byAddress = once((pool) => new Map(entriesOf(pool).map((entry) => [entry.address, entry])));
const byPod = once((pool) =>
  Map.groupBy(
    entriesOf(pool).filter(({ releasedAt }) => releasedAt === undefined),
    ({ podName }) => podName,
  ),
);

const requestsOf = (asks: readonly Ask[]): PoolRequest[] => asks.map(({ request }) => request);

const isOfSame = (a: IPAllocation | PoolRequest, b: PoolRequest): boolean =>
  a.podUid === b.podUid && a.interfaceKey === b.interfaceKey;

const isSamePool = (a: IPPool, b: IPPool): boolean => a.metadata.name === b.metadata.name;

/** The pools, each as the last of these changes leaves it. */
const merge = (before: readonly IPPool[], ...changes: readonly (readonly IPPool[])[]): IPPool[] =>
  before.map((pool) => changes.flat().findLast((one) => isSamePool(one, pool)) ?? pool);

const isSame = (a: IPPool['spec'], b: IPPool['spec']): boolean =>
  a.gateway === b.gateway && a.exclude.join() === b.exclude.join();

const keyOfRange = (namespace: string, range: NetworkRange): string =>
  rangeKey(namespace, range.network, poolsOf(range, 1)[0]?.spec.cidr ?? range.cidr);

const rangeOf = ({ metadata: { namespace = '' }, spec }: IPPool): string =>
  rangeKey(namespace, spec.network, spec.cidr);
