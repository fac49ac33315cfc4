/**
 * The pools as this leader knows them: the cache, and what it wrote itself a moment ago. A pool is written only on the resourceVersion that it was read
 * with; who comes second reads it again, and is told so.
 *
 * What someone deletes from a pool, or with it, is remembered until it would have cooled down: a pod may be about to use an address that was just handed
 * out, and no PodNetwork tells of it yet.
 */
import { type IPAllocation, type IPPool, ipPoolKind, parseIp } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type ObjectKey,
  isAlreadyExists,
  isNotFound,
  isStale,
  keyOf,
  objectKey,
} from '@podloom/kube';
import { type NetworkRange, type PoolDeclaration, coolDownMs, numbersOf, poolFor, specOfRange } from '@podloom/network';
import { rangeKey } from './caches.ts';
import { fresh } from './fresh.ts';
import { once } from './once.ts';

export interface PoolStore {
  inNamespace(namespace: string): IPPool[];
  ofRange(namespace: string, range: Pick<IPPool['spec'], 'network' | 'cidr'>): IPPool[];
  /** The pool that this address is in, unless the range is declared otherwise by now. None has what is reserved, as the gateway is: also a pod that had it goes without. */
  holding(namespace: string, range: NetworkRange, address: string): IPPool | undefined;
  /** Makes what is missing, and tells all pools of the range what it is like now. False where someone else has written one of them meanwhile. */
  declare(namespace: string, range: NetworkRange, declarations: readonly PoolDeclaration[]): Promise<boolean>;
  /** Writes the statuses. False where someone else was there first: what was refused is read again by then, the others are written. */
  record(changed: readonly IPPool[]): Promise<boolean>;
  /** What pools of the namespace have lost lately without giving it back. Counts as given back at that moment. */
  lately(namespace: string): LostEntry[];
  end(): void;
}

export interface LostEntry {
  readonly spec: IPPool['spec'];
  readonly entry: IPAllocation;
}

export interface PoolStoreOptions {
  readonly client: Client;
  readonly pools: Cache<IPPool, 'namespace' | 'range'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** No pool records any more that this pod has an address. */
  readonly lost: (pod: ObjectKey) => void;
}

const resource = ipPoolKind.resource;

export function poolStore({ client, pools, clock, signal, lost }: PoolStoreOptions): PoolStore {
  const losses = lossesOf(clock, lost);
  // Before `known` hears of it: it may have the newer copy of a pool that is gone.
  const endListening = pools.subscribe(({ key, old, now }) => {
    if (old) losses.note(now ? old : (known.get(key) ?? old), now);
  });
  const known = fresh(pools);

  /** Also pools that were made here a moment ago, of which the cache has not heard. */
  const newest = (index: 'namespace' | 'range', key: string): IPPool[] => [
    ...known.newest(pools.by(index, key)),
    ...known.unheard().filter((pool) => key === (index === 'range' ? rangeOf(pool) : pool.metadata.namespace)),
  ];
  const ofRange: PoolStore['ofRange'] = (namespace, { network, cidr }) =>
    newest('range', rangeKey(namespace, network, cidr));

  async function make({ name, spec }: PoolDeclaration, namespace: string): Promise<boolean> {
    try {
      known.wrote(await client.create(resource, { metadata: { name, namespace }, spec }, { namespace, signal }));
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      try {
        known.wrote(await client.get(resource, name, { namespace, signal }));
        return true;
      } catch (gone) {
        if (isNotFound(gone)) return false;
        throw gone;
      }
    }
  }

  async function writeAll(changed: readonly IPPool[], subresource?: 'status'): Promise<boolean> {
    const outcomes = await Promise.all(
      changed.map(async (pool) => {
        try {
          const { namespace } = pool.metadata;
          known.wrote(await client.update(resource, pool, { namespace, subresource, signal }));
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
      forget(pool);
      return;
    }
    if (!isStale(error)) throw error;
    const { name = '', namespace } = pool.metadata;
    try {
      known.wrote(await client.get(resource, name, { namespace, signal }));
    } catch (gone) {
      if (!isNotFound(gone)) throw gone;
      forget(pool);
    }
  }

  function forget(pool: IPPool): void {
    losses.note(known.get(keyOf(pool)) ?? pool, undefined);
    known.deleted(pool);
  }

  return {
    inNamespace: (namespace) => newest('namespace', namespace),
    ofRange,
    holding(namespace, range, address) {
      const declaration = poolFor(range, address);
      const pool = declaration && known.get(objectKey(declaration.name, namespace));
      if (!pool || !hasSameBounds(pool.spec, declaration.spec)) return undefined;
      return numbersOf(pool.spec).isReserved(parseIp(address).value) ? undefined : pool;
    },
    async declare(namespace, range, declarations) {
      const missing = declarations.filter(({ name }) => !known.get(objectKey(name, namespace)));
      const made = await Promise.all(missing.map((one) => make(one, namespace)));
      const declared = specOfRange(range);
      const outdated = ofRange(namespace, declared).filter(({ spec }) => !hasSameBounds(spec, declared));
      const changed = outdated.map((pool) => withSpec(pool, { ...declared, range: pool.spec.range }));
      return (await writeAll(changed)) && made.every(Boolean);
    },
    record: (changed) => writeAll(changed, 'status'),
    lately: losses.in,
    end() {
      endListening();
      known.end();
    },
  };
}

function lossesOf(clock: Clock, lost: PoolStoreOptions['lost']) {
  let all: readonly (LostEntry & { readonly namespace: string })[] = [];
  const cooling = () => all.filter(({ entry }) => !hasCooledDown(entry, clock.now()));
  return {
    /** What `now` does not have of `old`, and nobody has given back. */
    note(old: IPPool, now: IPPool | undefined): void {
      const { namespace = '' } = old.metadata;
      const isLost = ({ address, podUid }: IPAllocation): boolean => (now && entryOf(now, address))?.podUid !== podUid;
      const gone = entriesOf(old).filter((entry) => isLost(entry) && !hasCooledDown(entry, clock.now()));
      if (gone.length === 0) return;
      const releasedAt = new Date(clock.now()).toISOString();
      const noted = gone.map((entry) => ({ namespace, spec: old.spec, entry: { releasedAt, ...entry } }));
      all = [...cooling(), ...noted];
      for (const entry of gone) {
        if (entry.releasedAt === undefined) lost(objectKey(entry.podName, namespace));
      }
    },
    in: (namespace: string): LostEntry[] => cooling().filter((one) => one.namespace === namespace),
  };
}

const hasCooledDown = ({ releasedAt }: IPAllocation, nowMs: number): boolean =>
  releasedAt !== undefined && Date.parse(releasedAt) + coolDownMs <= nowMs;

const withSpec = (pool: IPPool, spec: IPPool['spec']): IPPool => ({ ...pool, spec });

type Bounds = Pick<IPPool['spec'], 'gateway' | 'exclude'>;
const hasSameBounds = (a: Bounds, b: Bounds): boolean =>
  a.gateway === b.gateway && a.exclude.join() === b.exclude.join();

/** What the pool says of an address. */
export const entryOf = (pool: IPPool, address: string): IPAllocation | undefined => byAddress(pool).get(address);
/** What pods of this name have in the pool and have not given back. */
export const entriesFor = (pool: IPPool, podName: string): readonly IPAllocation[] => byPod(pool).get(podName) ?? [];

const entriesOf = ({ status }: IPPool): readonly IPAllocation[] => status?.allocations ?? [];
const byAddress = once((pool: IPPool) => new Map(entriesOf(pool).map((entry) => [entry.address, entry])));
const byPod = once((pool: IPPool) =>
  Map.groupBy(
    entriesOf(pool).filter(({ releasedAt }) => releasedAt === undefined),
    ({ podName }) => podName,
  ),
);

const rangeOf = ({ metadata: { namespace = '' }, spec }: IPPool): string =>
  rangeKey(namespace, spec.network, spec.cidr);
