/**
 * What a cache holds: the objects, found by key or by index, and the difference that each update makes. It is told what the server
 * said, in order, and knows nothing of how that arrived; reflector.ts feeds it.
 *
 * Objects are frozen, all the way down: everyone who asks gets the same one, and a change made to it by mistake would be seen by all.
 */
import type { KubeObject } from '@podloom/api';

/** `namespace/name`, or `name` alone where there is no namespace. */
export type ObjectKey = string & { readonly __brand: 'ObjectKey' };

/** Of an object that has a name, as every one that the server sent. */
export function keyOf({ metadata }: Pick<KubeObject, 'metadata'>): ObjectKey {
  return objectKey(metadata.name ?? '', metadata.namespace);
}

export function objectKey(name: string, namespace?: string): ObjectKey {
  return (namespace ? `${namespace}/${name}` : name) as ObjectKey;
}

export function parseObjectKey(key: ObjectKey): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** An object came (`old` is missing), went (`now` is missing) or changed. One that was replaced under its name goes, then comes. */
export interface Change<T> {
  readonly key: ObjectKey;
  readonly old: T | undefined;
  readonly now: T | undefined;
}

/** An index gives each object any number of values, under which it is then found. */
export type Indexes<T, I extends string> = Readonly<Record<I, (object: T) => Iterable<string>>>;

export interface StoreReader<T, I extends string> {
  readonly get: (name: string, namespace?: string) => T | undefined;
  readonly getByKey: (key: ObjectKey) => T | undefined;
  readonly list: () => T[];
  /** In no promised order. */
  readonly by: (index: I, value: string) => T[];
  readonly size: number;
}

export interface Store<T, I extends string> extends StoreReader<T, I> {
  put(object: T): Change<T>[];
  remove(object: T): Change<T>[];
  /** Makes the store hold exactly these. What has the same uid and resourceVersion as before is no change. */
  replace(objects: Iterable<T>): Change<T>[];
}

export function store<T extends KubeObject, I extends string>(indexes: Indexes<T, I>): Store<T, I> {
  const objects = new Map<ObjectKey, T>();
  const names = Object.keys(indexes) as I[];
  const found = new Map<I, Map<string, Set<ObjectKey>>>(names.map((name) => [name, new Map()]));

  function index(key: ObjectKey, object: T): void {
    for (const [name, values] of found) {
      for (const value of indexes[name](object)) {
        let keys = values.get(value);
        if (!keys) values.set(value, (keys = new Set()));
        keys.add(key);
      }
    }
  }
  function unindex(key: ObjectKey, object: T): void {
    for (const [name, values] of found) {
      for (const value of indexes[name](object)) {
        const keys = values.get(value);
        keys?.delete(key);
        if (keys?.size === 0) values.delete(value);
      }
    }
  }
  function forget(key: ObjectKey): Change<T>[] {
    const old = objects.get(key);
    if (!old) return [];
    unindex(key, old);
    objects.delete(key);
    return [{ key, old, now: undefined }];
  }
  function put(object: T): Change<T>[] {
    const key = keyOf(object);
    const old = objects.get(key);
    if (old && isSame(old, object)) return [];
    const gone = old && old.metadata.uid !== object.metadata.uid ? forget(key) : [];
    const before = objects.get(key);
    if (before) unindex(key, before);
    deepFreeze(object);
    objects.set(key, object);
    index(key, object);
    return [...gone, { key, old: before, now: object }];
  }
  const present = (keys: Iterable<ObjectKey>): T[] =>
    Array.from(keys, (key) => objects.get(key)).filter((object) => object !== undefined);

  return {
    put,
    remove: (object) => forget(keyOf(object)),
    replace(fresh) {
      const changes: Change<T>[] = [];
      const kept = new Set<ObjectKey>();
      for (const object of fresh) {
        kept.add(keyOf(object));
        changes.push(...put(object));
      }
      const gone = [...objects.keys()].filter((key) => !kept.has(key));
      return [...gone.flatMap(forget), ...changes];
    },
    get: (name, namespace) => objects.get(objectKey(name, namespace)),
    getByKey: (key) => objects.get(key),
    list: () => [...objects.values()],
    by: (name, value) => present(found.get(name)?.get(value) ?? []),
    get size() {
      return objects.size;
    },
  };
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
}
