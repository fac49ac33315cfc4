/** Tells a controller of things that are not in the API: something else says that an object should be looked at. */
import type { KubeObject, Resource } from '@podloom/api';
import type { Cache } from '../cache/cache.ts';
import { type Change, type ObjectKey, parseObjectKey } from '../cache/store.ts';

export interface Knocks {
  /** In the shape of a cache that holds nothing: a controller takes it as one more thing to watch. */
  readonly source: Cache<KubeObject>;
  knock(key: ObjectKey): void;
}

export function knocks(resource: Resource): Knocks {
  const listeners = new Set<(change: Change<KubeObject>) => void>();
  const { group, version, kind } = resource;
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
        return () => listeners.delete(listener);
      },
      ended: Promise.resolve(),
    },
    knock(key) {
      const { name, namespace } = parseObjectKey(key);
      const apiVersion = group === '' ? version : `${group}/${version}`;
      const now: KubeObject = { apiVersion, kind, metadata: { name, namespace } };
      for (const listener of listeners) listener({ key, old: undefined, now });
    },
  };
}
