/**
 * A live copy of one resource (or of a selected part of it): read it at no cost, ask by index, and hear of each change. It is a little behind the
 * server, always; a reconciler that reads its own write from here may not find it yet, and is run again when it arrives.
 */
import { Unavailable } from '@podloom/api';
import type { KubeObject } from '@podloom/api';
import type { Client, Resource } from '../client/client.ts';
import { systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../process/log.ts';
import { reflect } from './reflector.ts';
import { keyOf, store } from './store.ts';
import type { Change, Indexes, StoreReader } from './store.ts';

export interface CacheOptions<T extends KubeObject, I extends string = never> {
  readonly client: Client;
  readonly resource: Resource<T>;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Left out: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** For `by(index, value)`. Each function must be pure. */
  readonly indexes?: Indexes<T, I> | undefined;
  /** What to keep of an object. `managedFields` are dropped already, as they are often half of it and nobody reads them from here. */
  readonly keep?: ((object: T) => T) | undefined;
  /** For who really needs them. */
  readonly keepManagedFields?: boolean | undefined;
  readonly pageSize?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

export interface Cache<T extends KubeObject, I extends string = never> extends StoreReader<T, I> {
  readonly resource: Resource<T>;
  /** The first list is in. */
  readonly isSynced: boolean;
  /** Resolves once the first list is in; rejects if the cache was stopped before. */
  waitForSync(): Promise<void>;
  /** Calls back for each change from now on, after the cache has it; first, with no `old`, for everything it holds already. Returns the undo. */
  subscribe(listener: (change: Change<T>) => void): () => void;
  /** Resolves when the signal has stopped the cache and nothing of it runs any more. */
  readonly ended: Promise<void>;
}

export function startCache<T extends KubeObject, I extends string = never>(options: CacheOptions<T, I>): Cache<T, I> {
  const { resource, signal, log, keepManagedFields = false, keep = (object) => object, clock = systemClock } = options;
  const objects = store<T, I>(options.indexes ?? ({} as Indexes<T, I>));
  const listeners = new Set<(change: Change<T>) => void>();
  const synced = Promise.withResolvers<void>();
  let isSynced = false;

  const trim = (object: T): T => keep(keepManagedFields ? object : withoutManagedFields(object));

  function tell(changes: readonly Change<T>[], whom: Iterable<(change: Change<T>) => void> = listeners): void {
    for (const change of changes) {
      for (const listener of whom) {
        try {
          listener(change);
        } catch (error) {
          log.error({ resource: resource.plural, object: change.key, err: error }, 'A listener of a cache broke');
        }
      }
    }
  }

  const ended = reflect(
    { ...options, clock, trim },
    {
      replace(items) {
        tell(objects.replace(items));
        isSynced = true;
        synced.resolve();
      },
      put: (object) => tell(objects.put(object)),
      remove: (object) => tell(objects.remove(object)),
    },
    signal,
  ).finally(() => {
    synced.reject(new Unavailable('CACHE_STOPPED', `The cache of ${resource.plural} was stopped before it was filled`));
  });
  synced.promise.catch(() => undefined); // who does not wait for it must not be hit by it

  return {
    resource,
    get: objects.get,
    getByKey: objects.getByKey,
    list: objects.list,
    by: objects.by,
    get size() {
      return objects.size;
    },
    get isSynced() {
      return isSynced;
    },
    waitForSync: () => synced.promise,
    subscribe(listener) {
      listeners.add(listener);
      const held = objects.list();
      tell(
        held.map((now) => ({ key: keyOf(now), old: undefined, now })),
        [listener],
      );
      return () => listeners.delete(listener);
    },
    ended,
  };
}

function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}
