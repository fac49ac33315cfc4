/**
 * The pools as this leader knows them: the cache, and what it wrote itself a moment ago. A pool is written only on the resourceVersion that it was read
 * with; who comes second reads it again, and is told so.
 */
import { type IPAllocation, type IPPool, ipPoolKind, parseIp } from '@podloom/api';
import { type Cache, type Client, isAlreadyExists, isNotFound, isStale, objectKey } from '@podloom/kube';
import { type NetworkRange, type PoolDeclaration, numbersOf, poolFor, specOfRange } from '@podloom/network';
import { rangeKey } from './caches.ts';
import { fresh } from './fresh.ts';

export interface PoolStore {
  inNamespace(namespace: string): IPPool[];
  ofRange(namespace: string, range: Pick<IPPool['spec'], 'network' | 'cidr'>): IPPool[];
  /** The pool that this address is in, unless the range is declared otherwise by now. None has what is reserved, as the gateway is: also a pod that had it goes without. */
  holding(namespace: string, range: NetworkRange, address: string): IPPool | undefined;
  /** Makes what is missing, and tells all pools of the range what it is like now. False where someone else has written one of them meanwhile. */
  declare(namespace: string, range: NetworkRange, declarations: readonly PoolDeclaration[]): Promise<boolean>;
  /** Writes the statuses. False where someone else was there first: what was refused is read again by then, the others are written. */
  record(changed: readonly IPPool[]): Promise<boolean>;
  end(): void;
}

export interface PoolStoreOptions {
  readonly client: Client;
  readonly pools: Cache<IPPool, 'namespace' | 'range'>;
  readonly signal: AbortSignal;
}

const resource = ipPoolKind.resource;

export function poolStore({ client, pools, signal }: PoolStoreOptions): PoolStore {
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
    end: () => known.end(),
  };
}

const withSpec = (pool: IPPool, spec: IPPool['spec']): IPPool => ({ ...pool, spec });

type Bounds = Pick<IPPool['spec'], 'gateway' | 'exclude'>;
export const hasSameBounds = (a: Bounds, b: Bounds): boolean =>
  a.gateway === b.gateway && a.exclude.join() === b.exclude.join();

export function covers({ spec }: IPPool, address: string): boolean {
  const { family, first, last } = numbersOf(spec);
  const ip = parseIp(address);
  return ip.family === family && ip.value >= first && ip.value <= last;
}

/** What the pool says of an address. */
export const entryOf = (pool: IPPool, address: string): IPAllocation | undefined => byAddress(pool).get(address);
/** What pods of this name have in the pool and have not given back. */
export const entriesFor = (pool: IPPool, podName: string): readonly IPAllocation[] => byPod(pool).get(podName) ?? [];

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

const rangeOf = ({ metadata: { namespace = '' }, spec }: IPPool): string =>
  rangeKey(namespace, spec.network, spec.cidr);
