import type { KubeObject } from '@podloom/api';
import type { Cache } from './cache.ts';

/** The same cache, but it tells only of what came or changed in a way that matters, and of all that went: the rest would be work that ends in nothing. */
export function telling<T extends KubeObject, I extends string>(
  cache: Cache<T, I>,
  matters: (old: T | undefined, now: T) => boolean,
): Cache<T, I> {
  return {
    resource: cache.resource,
    get: cache.get,
    getByKey: cache.getByKey,
    list: cache.list,
    by: cache.by,
    get size() {
      return cache.size;
    },
    get isSynced() {
      return cache.isSynced;
    },
    waitForSync: () => cache.waitForSync(),
    subscribe: (listener) =>
      cache.subscribe((change) => {
        if (!change.now || matters(change.old, change.now)) listener(change);
      }),
    ended: cache.ended,
  };
}
