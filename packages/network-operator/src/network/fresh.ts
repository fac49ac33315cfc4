/**
 * A cache, corrected by what we wrote ourselves. The answer to a write comes before the watch tells of it; who asks in between must not do the
 * same again. Nothing here outlives the moment: the watch takes over as soon as it has caught up.
 */
import type { KubeObject } from '@podloom/api';
import { type Cache, type ObjectKey, keyOf } from '@podloom/kube';

export interface Fresh<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  /** The objects that the cache gave, each in its newest form. */
  newest(objects: readonly T[]): T[];
  /** What we made and the cache has not heard of. */
  unheard(): T[];
  wrote(object: T): void;
  deleted(object: T): void;
  end(): void;
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion ?? 0);

export function fresh<T extends KubeObject>(cache: Pick<Cache<T>, 'getByKey' | 'subscribe'>): Fresh<T> {
  /** No object: we deleted the one with this uid. */
  const own = new Map<ObjectKey, { readonly uid: string | undefined; readonly object?: T }>();
  const end = cache.subscribe(({ key, old, now }) => {
    const mine = own.get(key);
    if (!mine) return;
    const caughtUp = now
      ? mine.object
        ? versionOf(now) >= versionOf(mine.object)
        : now.metadata.uid !== mine.uid
      : old?.metadata.uid === mine.uid;
    if (caughtUp) own.delete(key);
  });
  const get = (key: ObjectKey): T | undefined => {
    const mine = own.get(key);
    return mine ? mine.object : cache.getByKey(key);
  };
  const isKnown = (object: T): boolean => {
    const cached = cache.getByKey(keyOf(object));
    return cached !== undefined && versionOf(cached) >= versionOf(object);
  };
  return {
    get,
    newest: (objects) => objects.map((object) => get(keyOf(object))).filter((object) => object !== undefined),
    unheard: () => [...own].flatMap(([key, { object }]) => (object && cache.getByKey(key) === undefined ? object : [])),
    wrote(object) {
      if (!isKnown(object)) own.set(keyOf(object), { uid: object.metadata.uid, object });
    },
    deleted(object) {
      if (cache.getByKey(keyOf(object))?.metadata.uid === object.metadata.uid) {
        own.set(keyOf(object), { uid: object.metadata.uid });
      } else if (own.get(keyOf(object))?.uid === object.metadata.uid) own.delete(keyOf(object));
    },
    end,
  };
}
