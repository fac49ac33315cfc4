/**
 * Hands out addresses, many at a time: the pool is written first, and only then may anyone use what it gives. One write of a pool carries all requests that
 * came while the one before was on its way, so that two hundred pods cost a few writes and not two hundred. Two leaders may both be here: the API server
 * takes one write of a resourceVersion, and who comes second reads the pool again and finds what is taken.
 *
 * Each write also records what PodNetworks have of the range and no pool knows. So a pool that someone deleted is made again before it gives anything.
 */
import { type IPAllocation, type IPPool, Bug, Unavailable } from '@podloom/api';
import { type Cache, type Client, type Clock, type Log, type ObjectKey, parseObjectKey } from '@podloom/kube';
import {
  type AllocationResult,
  type NetworkRange,
  type PoolDeclaration,
  type PoolRequest,
  allocate,
  isOf,
  overlaps,
  poolFor,
  poolsOf,
  release,
  specOfRange,
} from '@podloom/network';
import { rangeKey } from './caches.ts';
import { type Claim, type Claims, networkKey } from './claims.ts';
import { entriesFor, entryOf, poolStore } from './pool-store.ts';

export interface Allocator {
  /** An address that nobody else will get and that its pool records, or why there is none. */
  allocate(namespace: string, range: NetworkRange, request: PoolRequest): Promise<AllocationResult>;
  /** Whether a pool records that this address, without prefix length, is this interface's. Then there is nothing to ask for. */
  has(namespace: string, range: NetworkRange, request: PoolRequest): boolean;
  /** Everything that pods of this name have in a pool and have not given back. */
  heldBy(pod: ObjectKey): Held[];
  /** Gives back what `leaves` says of that. */
  release(pod: ObjectKey, leaves: Leaves): Promise<void>;
  end(): void;
}

/** An address, and the range that it is of. */
export interface Held {
  readonly entry: IPAllocation;
  readonly range: Range;
}
export type Leaves = (held: Held) => boolean;
type Range = Pick<IPPool['spec'], 'network' | 'cidr'>;

export interface AllocatorOptions {
  readonly client: Client;
  readonly pools: Cache<IPPool, 'namespace' | 'range'>;
  readonly claims: Claims;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** No pool records any more that this pod has an address: it is to be looked at again. */
  readonly lost: (pod: ObjectKey) => void;
}

interface Ask {
  readonly range: NetworkRange;
  readonly request: PoolRequest;
}

interface Job {
  readonly range: Range;
  readonly ask?: Ask;
  readonly leaves?: Leaves;
  readonly settle: PromiseWithResolvers<AllocationResult | undefined>;
}

/** Each is a lost race against a writer that won, or a pool more; so many in a row are none. */
const mostAttempts = 50;

export function allocator({ client, pools, claims, clock, log, signal, lost }: AllocatorOptions): Allocator {
  const store = poolStore({ client, pools, clock, signal, lost });
  /**
   * Who waits for the next write, by network. Ranges of one network take turns: where one of them grows, its pools and those of the range before
   * it have addresses in common, and no resourceVersion keeps two pools from giving the same one.
   */
  const lines = new Map<string, Job[]>();

  function add(namespace: string, job: Omit<Job, 'settle'>): Promise<AllocationResult | undefined> {
    const settle = Promise.withResolvers<AllocationResult | undefined>();
    const key = networkKey(namespace, job.range.network);
    const line = lines.get(key);
    if (line) line.push({ ...job, settle });
    else {
      lines.set(key, [{ ...job, settle }]);
      // In a microtask, so that all who ask in this turn are in the first write already.
      queueMicrotask(() => void work(namespace, key));
    }
    return settle.promise;
  }

  async function work(namespace: string, key: string): Promise<void> {
    for (let jobs = lines.get(key)?.splice(0) ?? []; jobs.length > 0; jobs = lines.get(key)?.splice(0) ?? []) {
      for (const some of Map.groupBy(jobs, ({ range }) => range.cidr).values()) {
        try {
          const results = await serve(namespace, some);
          some.forEach(({ settle }, i) => settle.resolve(results[i]));
        } catch (error) {
          for (const { settle } of some) settle.reject(error);
        }
      }
    }
    lines.delete(key);
  }

  /** All of one range. */
  async function serve(namespace: string, jobs: readonly Job[]): Promise<(AllocationResult | undefined)[]> {
    const { network, cidr } = jobs[0]!.range;
    const asked = jobs.flatMap(({ ask }) => ask ?? []);
    const requests = asked.map(({ request }) => request);
    // Who asked last knows best what the range is like.
    const range = asked.at(-1)?.range;
    let next: PoolDeclaration | undefined;
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      signal.throwIfAborted();
      if (range) {
        const unrecorded = unrecordedIn(namespace, { network, cidr });
        const needed = declarationsFor(range, [...unrecorded, ...requests], next);
        if (!(await store.declare(namespace, range, needed))) continue;
      }
      // From here to the write nothing waits.
      const before = store.ofRange(namespace, { network, cidr });
      const options = {
        now: new Date(clock.now()).toISOString(),
        elsewhere: elsewhere(namespace, { network, cidr }),
      };
      const unrecorded = range ? unrecordedIn(namespace, { network, cidr }) : [];
      const kept = allocate(before, unrecorded, options);
      const leaves = (entry: IPAllocation, { spec }: IPPool) =>
        jobs.some((job) => job.leaves?.({ entry, range: spec }));
      const released = release(merge(before, kept.changed), leaves, options.now);
      const given = allocate(merge(before, kept.changed, released), requests, options);
      const isShort = given.results.some((result) => 'failed' in result && result.failed === 'Exhausted');
      const isThere = ({ name }: PoolDeclaration): boolean => before.some(({ metadata }) => metadata.name === name);
      next = range && isShort ? poolsOf(range, before.length + 1).find((one) => !isThere(one)) : undefined;
      if (next) continue;
      const after = merge(before, kept.changed, released, given.changed);
      const changed = after.filter((pool) => !before.includes(pool));
      // What our copy says is a pod's already may be another's by now. A write that the server takes, though it changes nothing, shows that it is not.
      const reliedOn = before.filter((pool) => after.includes(pool) && given.results.some((one) => isIn(pool, one)));
      if (!(await store.record([...changed, ...reliedOn]))) continue;
      if (unrecorded.length > 0 && kept.changed.length > 0) {
        log.info({ namespace, network, addresses: unrecorded.length }, 'Recorded addresses that no IPPool had');
      }
      let i = 0;
      return jobs.map(({ ask }) => (ask ? given.results[i++] : undefined));
    }
    const key = `${namespace}/${network} (${cidr})`;
    throw new Unavailable('POOL_CONTENDED', `The pools of ${key} change all the time; is another operator at work?`);
  }

  /** What PodNetworks have of this range, and its pools do not know. */
  const unrecordedIn = (namespace: string, range: Range): PoolRequest[] => {
    const here = store.ofRange(namespace, range);
    return claims(namespace, range.network)
      .filter((claim) => claim.cidr === range.cidr && !here.some((pool) => recordOf(pool, claim.request)))
      .map(({ request }) => request);
  };

  /**
   * What this range must leave alone, though none of its pools says so: what its pools have lost lately, and what pods have because the range was declared
   * otherwise before.
   */
  function elsewhere(namespace: string, { network, cidr }: Range): IPAllocation[] {
    const concerns = (other: Range): boolean => other.network === network && overlaps(cidr, other.cidr);
    const isFormer = (other: Range): boolean => concerns(other) && other.cidr !== cidr;
    const former = store.inNamespace(namespace).filter(({ spec }) => isFormer(spec));
    return [
      ...former.flatMap(({ status }) => status?.allocations ?? []),
      ...claims(namespace, network).filter(isFormer).map(entryFor),
      ...store.lately(namespace).flatMap(({ spec, entry }) => (concerns(spec) ? [entry] : [])),
    ];
  }

  function heldBy(pod: ObjectKey): Held[] {
    const { name, namespace = '' } = parseObjectKey(pod);
    return store
      .inNamespace(namespace)
      .flatMap((pool) => entriesFor(pool, name).map((entry) => ({ entry, range: pool.spec })));
  }

  return {
    async allocate(namespace, range, request) {
      const { network, cidr } = specOfRange(range);
      const result = await add(namespace, { range: { network, cidr }, ask: { range, request } });
      if (!result) throw new Bug('NO_ANSWER', 'A request for an address was served without an answer');
      return result;
    },
    has(namespace, range, request) {
      const pool = store.holding(namespace, range, request.address ?? '');
      const entry = pool && recordOf(pool, request);
      return entry !== undefined && entry.nodeName === request.nodeName;
    },
    heldBy,
    async release(pod, leaves) {
      const { name, namespace = '' } = parseObjectKey(pod);
      const ranges = new Map(
        heldBy(pod)
          .filter(leaves)
          .map(({ range: { network, cidr } }) => [rangeKey(namespace, network, cidr), { network, cidr }]),
      );
      const isPods: Leaves = (held) => held.entry.podName === name && leaves(held);
      await Promise.all([...ranges.values()].map((range) => add(namespace, { range, leaves: isPods })));
    },
    end: () => store.end(),
  };
}

const isIn = (pool: IPPool, result: AllocationResult): boolean =>
  'address' in result && entryOf(pool, result.address.split('/')[0] ?? '') !== undefined;

/** The first pool, those of addresses that someone has or asks for, and the next where these are full. */
function declarationsFor(
  range: NetworkRange,
  requests: readonly PoolRequest[],
  next: PoolDeclaration | undefined,
): PoolDeclaration[] {
  const all = [
    ...poolsOf(range, 1),
    ...(next ? [next] : []),
    ...requests.flatMap(({ address }) => (address === undefined ? [] : (poolFor(range, address) ?? []))),
  ];
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

/** The entry of this very interface, unless it has given the address back. */
function recordOf(pool: IPPool, request: PoolRequest): IPAllocation | undefined {
  const entry = entryOf(pool, request.address ?? '');
  return entry && isOf(entry, request) && entry.releasedAt === undefined ? entry : undefined;
}

const entryFor = ({ request: { address, podName, podUid, interfaceKey } }: Claim): IPAllocation => ({
  address,
  podName,
  podUid,
  interfaceKey,
});

const isSamePool = (a: IPPool, b: IPPool): boolean => a.metadata.name === b.metadata.name;

/** The pools, each as the last of these changes leaves it. */
const merge = (before: readonly IPPool[], ...changes: readonly (readonly IPPool[])[]): IPPool[] =>
  before.map((pool) => changes.flat().findLast((one) => isSamePool(one, pool)) ?? pool);
