/**
 * Hands out addresses, many at a time. One write of a pool carries all requests that came while the one before was on its way, so that two
 * hundred pods cost a few writes and not two hundred. Two leaders may both be here: the API server takes one write of a resourceVersion,
 * and who comes second reads the pool again and finds what is taken.
 */
import { type IPAllocation, type IPPool, Unavailable, ipPoolKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type ObjectKey,
  isAlreadyExists,
  isNotFound,
  isStale,
  objectKey,
} from '@podloom/kube';
import {
  type AllocationResult,
  type NetworkRange,
  type PoolDeclaration,
  type PoolRequest,
  allocate,
  coolDownMs,
  poolFor,
  poolsOf,
  release,
} from '@podloom/network';
import { rangeKey } from './caches.ts';
import { fresh } from './fresh.ts';

export interface Allocator {
  /** An address that is written down in its pool, or why there is none. */
  allocate(namespace: string, range: NetworkRange, request: PoolRequest): Promise<AllocationResult>;
  /** Whether a pool records this address, without prefix length, for this interface of this pod: then there is nothing to ask for. */
  has(namespace: string, range: NetworkRange, request: PoolRequest & { readonly address: string }): boolean;
  /** Gives back what `leaves` says, of the range that this pool is a part of. */
  release(pool: IPPool, leaves: (entry: IPAllocation) => boolean): Promise<void>;
  /** Milliseconds until the next address of a range has cooled down; undefined where none is about to. */
  coolDownEndsMs(namespace: string, range: NetworkRange): number | undefined;
  end(): void;
}

export interface AllocatorOptions {
  readonly client: Client;
  readonly pools: Cache<IPPool, 'range'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Ask {
  readonly range: NetworkRange;
  readonly request: PoolRequest;
}
interface Job {
  readonly ask?: Ask;
  readonly leaves?: (entry: IPAllocation) => boolean;
  readonly settle: PromiseWithResolvers<AllocationResult | undefined>;
}

const resource = ipPoolKind.resource;
/** Each is a lost race against a writer that won, or a pool more; so many in a row are none. */
const mostAttempts = 50;

export function allocator({ client, pools, clock, signal }: AllocatorOptions): Allocator {
  const known = fresh(pools);
  const waiting = new Map<string, Job[]>();

  function add(namespace: string, key: string, job: Omit<Job, 'settle'>): Promise<AllocationResult | undefined> {
    const settle = Promise.withResolvers<AllocationResult | undefined>();
    const line = waiting.get(key);
    if (line) line.push({ ...job, settle });
    else {
      const jobs: Job[] = [{ ...job, settle }];
      waiting.set(key, jobs);
      // In a microtask, so that all who ask in this turn are in the first write already.
      queueMicrotask(() => void work(namespace, key, jobs));
    }
    return settle.promise;
  }

  async function work(namespace: string, key: string, line: Job[]): Promise<void> {
    while (line.length > 0) {
      const jobs = line.splice(0);
      try {
        const results = await serve(namespace, key, jobs);
        jobs.forEach(({ settle }, i) => settle.resolve(results[i]));
      } catch (error) {
        for (const { settle } of jobs) settle.reject(error);
      }
    }
    waiting.delete(key);
  }

  async function serve(
    namespace: string,
    key: string,
    jobs: readonly Job[],
  ): Promise<(AllocationResult | undefined)[]> {
    const asks = jobs.flatMap(({ ask }) => ask ?? []);
    const range = asks.at(-1)?.range;
    let more = 1;
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      signal.throwIfAborted();
      if (range) await ensurePools(namespace, key, declarationsFor(range, asks, more));
      const now = new Date(clock.now()).toISOString();
      const before = known.newest(pools.by('range', key)).concat(unseen(key));
      const released = release(before, (entry) => jobs.some(({ leaves }) => leaves?.(entry)), now);
      const given = allocate(
        merge(before, released),
        asks.map(({ request }) => request),
        now,
      );
      const isShort = given.results.some((result) => 'failed' in result && result.failed === 'Exhausted');
      if (range && isShort && poolsOf(range, before.length + 1).length > before.length) {
        more = before.length + 1;
        continue;
      }
      const changed = merge(released, given.changed).concat(
        given.changed.filter((pool) => !released.some((one) => isSamePool(one, pool))),
      );
      if (await writeAll(changed)) {
        let i = 0;
        return jobs.map(({ ask }) => (ask ? given.results[i++] : undefined));
      }
    }
    throw new Unavailable('POOL_CONTENDED', `The pools of ${key} change all the time; is another operator at work?`);
  }

  /** Pools that were made here a moment ago, of which the cache has not heard. */
  const made = new Map<string, Set<ObjectKey>>();
  function unseen(key: string): IPPool[] {
    const fromHere = made.get(key) ?? new Set();
    for (const poolKey of fromHere) if (pools.getByKey(poolKey)) fromHere.delete(poolKey);
    if (fromHere.size === 0) made.delete(key);
    return [...fromHere].flatMap((poolKey) => known.get(poolKey) ?? []);
  }

  async function ensurePools(namespace: string, key: string, declarations: readonly PoolDeclaration[]): Promise<void> {
    await Promise.all(
      declarations.map(async ({ name, spec }) => {
        const poolKey = objectKey(name, namespace);
        const pool = known.get(poolKey) ?? (await make({ name, spec }, namespace));
        if (!pools.getByKey(poolKey)) made.set(key, (made.get(key) ?? new Set()).add(poolKey));
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

  return {
    async allocate(namespace, range, request) {
      const result = await add(namespace, keyOfRange(namespace, range), { ask: { range, request } });
      return result ?? { failed: 'Exhausted', message: 'Nothing was answered' };
    },
    has(namespace, range, { address, podUid, interfaceKey, nodeName }) {
      const declaration = poolFor(range, address);
      const pool = declaration && known.get(objectKey(declaration.name, namespace));
      const entry = pool && byAddress(pool).get(address);
      return (
        declaration !== undefined &&
        isSame(pool?.spec ?? declaration.spec, declaration.spec) &&
        entry?.podUid === podUid &&
        entry.interfaceKey === interfaceKey &&
        entry.nodeName === nodeName &&
        entry.releasedAt === undefined
      );
    },
    async release({ metadata: { namespace = '' }, spec }, leaves) {
      await add(namespace, rangeKey(namespace, spec.network, spec.cidr), { leaves });
    },
    coolDownEndsMs(namespace, range) {
      const ends = known
        .newest(pools.by('range', keyOfRange(namespace, range)))
        .flatMap(({ status }) => status?.allocations ?? [])
        .flatMap(({ releasedAt }) =>
          releasedAt === undefined ? [] : [Date.parse(releasedAt) + coolDownMs - clock.now()],
        );
      return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
    },
    end: () => known.end(),
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
const addresses = new WeakMap<IPPool, ReadonlyMap<string, IPAllocation>>();
function byAddress(pool: IPPool): ReadonlyMap<string, IPAllocation> {
  const known = addresses.get(pool) ?? new Map((pool.status?.allocations ?? []).map((entry) => [entry.address, entry]));
  addresses.set(pool, known);
  return known;
}

const isSamePool = (a: IPPool, b: IPPool): boolean => a.metadata.name === b.metadata.name;

const merge = (before: readonly IPPool[], changed: readonly IPPool[]): IPPool[] =>
  before.map((pool) => changed.find((one) => isSamePool(one, pool)) ?? pool);

const isSame = (a: IPPool['spec'], b: IPPool['spec']): boolean =>
  a.gateway === b.gateway && a.exclude.join() === b.exclude.join();

const keyOfRange = (namespace: string, range: NetworkRange): string =>
  rangeKey(namespace, range.network, poolsOf(range, 1)[0]?.spec.cidr ?? range.cidr);
