/** Tells a controller of things that are not in the API: something else says that an object should be looked at. */
import type { KubeObject, Resource } from '@podloom/api';
import type { Cache } from '../cache/cache.ts';
import { type Change, type ObjectKey, parseObjectKey } from '../cache/store.ts';

export interface Knocks {
  /** In the shape of a cache that holds nothing: a controller takes it as one more thing to watch. */
  readonly source: Cache<KubeObject>;
  knock(key: ObjectKey): void;
}

/** `first`: objects that are looked at when the controller begins, also those that are not there any more. */
export function knocks(resource: Resource, first: () => Iterable<ObjectKey> = () => []): Knocks {
  const listeners = new Set<(change: Change<KubeObject>) => void>();
  const { group, version, kind } = resource;
  function changeOf(key: ObjectKey): Change<KubeObject> {
    const { name, namespace } = parseObjectKey(key);
    const apiVersion = group === '' ? version : `${group}/${version}`;
    return { key, old: undefined, now: { apiVersion, kind, metadata: { name, namespace } } };
  }
  return {
    source: {
      resource,
      get: () => undefined,
      getByKey: () => undefined,
      list: () => [],
      by: () => [],
      size: 0,
      isSynced: true,
      waitForSync: () => Promise.resolve(),
      subscribe(listener) {
        listeners.add(listener);
        for (const key of first()) listener(changeOf(key));
        return () => listeners.delete(listener);
      },
      ended: Promise.resolve(),
    },
    knock(key) {
      for (const listener of listeners) listener(changeOf(key));
    },
  };
}
