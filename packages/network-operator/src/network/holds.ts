/**
 * Finalizers: an object from which networks come stays in sight until nothing of it is left anywhere. It has its finalizer before anything of it is
 * written, and loses it (source.ts) only while nothing of it is being written.
 */
import { Unavailable } from '@podloom/api';
import { type Client, ensureFinalizer, hasFinalizer, isNotFound, isStale, objectKey, unlessGone } from '@podloom/kube';
import { type SourceObject, sourceTypeOf } from '@podloom/network';
import type { Fresh } from './fresh.ts';
import { type SourceKey, keyOfSource, parseSourceKey } from './sources.ts';

export interface Holds {
  /** Resolves when each of these objects has its finalizer. One that is about to go gets none. */
  ensure(sources: readonly SourceObject[]): Promise<void>;
  /** Until it is disposed of, these objects are not let go: something of theirs is being written. */
  use(sources: readonly SourceObject[]): Disposable;
  isUsed(source: SourceKey): boolean;
}

export interface HoldsOptions {
  readonly client: Client;
  readonly sources: ReadonlyMap<string, Fresh<SourceObject>>;
  readonly signal: AbortSignal;
  /** Nothing of the object is being written any more. */
  readonly released: (source: SourceKey) => void;
}

export function sourceHolds({ client, sources, signal, released }: HoldsOptions): Holds {
  /** What is being written: many pods wait for the same finalizer. */
  const writing = new Map<SourceKey, Promise<void>>();

  async function write(key: SourceKey): Promise<void> {
    const { namespace, kind, name } = parseSourceKey(key);
    const [type, known] = [sourceTypeOf(kind), sources.get(kind)];
    const source = known?.get(objectKey(name, namespace));
    const { finalizer } = type ?? {};
    if (!type || finalizer === undefined || !source || source.metadata.deletionTimestamp) return;
    const { resource } = type.kind;
    const add = async (to: SourceObject): Promise<void> =>
      known?.wrote(await ensureFinalizer(client, resource, to, finalizer, { signal }));
    try {
      await add(source);
    } catch (error) {
      if (!isStale(error) && !isNotFound(error)) throw error;
      // Mostly our own status, of which the cache has not heard.
      const now = await unlessGone(() => client.get(resource, name, { namespace, signal }));
      if (!now || now.metadata.deletionTimestamp) throw goes(key, error);
      await add(now);
    }
  }

  function ensureOne(source: SourceObject): Promise<void> {
    const key = keyOfSource(source);
    const now = sources.get(source.kind)?.get(objectKey(source.metadata.name ?? '', source.metadata.namespace));
    const finalizer = sourceTypeOf(source.kind)?.finalizer;
    if (finalizer === undefined || hasFinalizer(now ?? source, finalizer)) return Promise.resolve();
    const known = writing.get(key);
    if (known) return known;
    const one = write(key).finally(() => writing.delete(key));
    writing.set(key, one);
    return one;
  }

  return {
    ensure: async (wanted) => void (await Promise.all(wanted.map(ensureOne))),
    ...uses(released),
  };
}

/** Nothing is wrong: whoever wanted something of the object composes without it, when the cache has heard of it. */
const goes = (key: SourceKey, cause: unknown): Unavailable =>
  new Unavailable('SOURCE_GOES', `${key} was deleted while a pod was about to get something of it`, { cause });

function uses(released: HoldsOptions['released']): Pick<Holds, 'use' | 'isUsed'> {
  const used = new Map<SourceKey, number>();
  function release(key: SourceKey): void {
    const left = (used.get(key) ?? 1) - 1;
    if (left > 0) used.set(key, left);
    else {
      used.delete(key);
      released(key);
    }
  }
  return {
    use(wanted) {
      const keys = wanted.map(keyOfSource);
      for (const key of keys) used.set(key, (used.get(key) ?? 0) + 1);
      return { [Symbol.dispose]: () => keys.forEach(release) };
    },
    isUsed: (key) => used.has(key),
  };
}
