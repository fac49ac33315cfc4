/**
 * Makes what an owner has in the cluster equal to a list: applies what is in it, and prunes what carries the label, is controlled by the owner and is
 * not in it any more. Each object stands alone: where one fails, the others are still done, and the answer names each failure.
 *
 * What exists is read from caches, which also tell the controller (`owns`). A cache is a little behind, so the last write of each object is remembered:
 * an object that is as we left it is not written again, and one that the cache has not shown yet can still be pruned.
 */
import { createHash } from 'node:crypto';
import { Conflict, type KubeObject, Unavailable } from '@podloom/api';
import type { Cache } from '../cache/cache.ts';
import { keyOf } from '../cache/store.ts';
import type { Applied, CallOptions, Client } from '../client/client.ts';
import { isNotFound, isStale } from '../client/errors.ts';
import { apiVersionOf } from '../client/paths.ts';
import { type Clock, systemClock } from '../clock/clock.ts';
import { applyObject, ownerReference } from './apply.ts';
import {
  type Found,
  type Named,
  type OwnedLabel,
  type Written,
  controllerOf,
  rememberWrites,
  slotOf,
} from './written.ts';

/** An object as it must be: only the fields that are ours. */
export interface Desired {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly [field: string]: unknown;
}

export interface OwnedFailure {
  /** `Kind namespace/name`. */
  readonly object: string;
  readonly error: unknown;
}

export interface OwnedResult {
  /** `Kind namespace/name` of what was created or changed. */
  readonly changed: readonly string[];
  readonly pruned: readonly string[];
  /** Objects of the owner that are pruned, but not gone yet: a namespace takes its time. */
  readonly leaving: readonly string[];
  readonly failures: readonly OwnedFailure[];
}

export interface OwnedObjects {
  /** `label` marks what may be pruned; every desired object must carry it. */
  apply(owner: KubeObject, desired: readonly Desired[], label: OwnedLabel, options?: CallOptions): Promise<OwnedResult>;
}

export interface OwnedOptions {
  readonly client: Client;
  readonly fieldManager: string;
  /** One for each kind that an owner may have, made with `controllerIndex`. Pruning goes through them from the last to the first. */
  readonly caches: readonly Cache<KubeObject, 'controller'>[];
  readonly clock?: Clock | undefined;
}

/** A write that the cache does not show for so long was lost, whatever the reason. */
const trustMs = 10_000;

export function ownedObjects({ client, fieldManager, caches, clock = systemClock }: OwnedOptions): OwnedObjects {
  const cacheByKind = new Map(caches.map((cache) => [`${apiVersionOf(cache.resource)} ${cache.resource.kind}`, cache]));
  const memory = rememberWrites(caches);

  return {
    async apply(owner, desired, label, options = {}) {
      const changed: string[] = [];
      const pruned: string[] = [];
      const leaving: string[] = [];
      const failures: OwnedFailure[] = [];
      const attempt = async (object: string, run: () => Promise<unknown>): Promise<void> => {
        try {
          await run();
        } catch (error) {
          if (options.signal?.aborted) throw error;
          failures.push({ object, error });
        }
      };
      const applyAll = (objects: readonly Desired[]) =>
        Promise.all(
          objects.map((object) =>
            attempt(nameOf(object), async () => {
              if (await applyOne(owner, object, options)) changed.push(nameOf(object));
            }),
          ),
        );
      // A namespace comes before what is in it.
      await applyAll(desired.filter(({ kind }) => kind === 'Namespace'));
      await applyAll(desired.filter(({ kind }) => kind !== 'Namespace'));

      const wanted = new Set(desired.map((object) => slotOf(cacheOf(object), object)));
      for (const cache of caches.toReversed()) {
        for (const found of memory.of(owner, cache, label)) {
          if (wanted.has(slotOf(cache, { metadata: found }))) continue;
          const name = nameOf({ kind: cache.resource.kind, metadata: found });
          if (found.isLeaving) leaving.push(name);
          else
            await attempt(name, async () =>
              ((await deleteOne(owner, cache, found, options)) ? pruned : leaving).push(name),
            );
        }
      }
      return { changed, pruned, leaving, failures };
    },
  };

  function cacheOf({ apiVersion, kind }: Desired): Cache<KubeObject, 'controller'> {
    const cache = cacheByKind.get(`${apiVersion} ${kind}`);
    if (!cache) throw new TypeError(`There is no cache of ${apiVersion} ${kind}`);
    return cache;
  }

  /** Whether anything changed on the server. */
  async function applyOne(owner: KubeObject, object: Desired, options: CallOptions): Promise<boolean> {
    const cache = cacheOf(object);
    const seen = cache.getByKey(keyOf(object));
    const last = memory.get(owner, cache, object);
    refuseForeign(object, seen, owner);
    const { name, namespace, labels = {} } = object.metadata;
    const room = namespace && cacheByKind.get('v1 Namespace')?.get(namespace);
    if (seen?.metadata.deletionTimestamp ?? (room && room.metadata.deletionTimestamp)) {
      throw new Unavailable(
        'OWNED_LEAVING',
        `${nameOf(object)} is still being deleted; it is made again when that is done`,
      );
    }
    const content = digestOf(object);
    if (last?.content === content && isAsWeLeft(last, seen, clock.monotonicMs())) return false;
    const full = {
      ...object,
      metadata: { ...object.metadata, ownerReferences: [ownerReference(owner)] },
    } as unknown as Applied<KubeObject>;
    const now = await applyObject(client, cache.resource, full, { ...options, fieldManager });
    const { uid, resourceVersion = '' } = now.metadata;
    const atMs = clock.monotonicMs();
    memory.put(owner, { cache, name, namespace, labels, uid, resourceVersion, content, atMs, isLeaving: false });
    return resourceVersion !== (last?.resourceVersion ?? seen?.metadata.resourceVersion);
  }

  /** False: nothing of this uid is there any more, though the cache may still show it. */
  async function deleteOne(
    owner: KubeObject,
    cache: Cache<KubeObject>,
    { name, namespace, uid }: Found,
    options: CallOptions,
  ): Promise<boolean> {
    const isDeleted = await client
      .delete(cache.resource, name, { ...options, namespace, uid, propagationPolicy: 'Background' })
      .then(
        () => true,
        (error: unknown) => (isNotFound(error) || isStale(error) ? false : Promise.reject(error)),
      );
    memory.forget(owner.metadata.uid, cache, { metadata: { name, namespace } });
    return isDeleted;
  }
}

/** The server would refuse a second controller, too, but without saying whose object it is. */
function refuseForeign(object: Desired, seen: KubeObject | undefined, owner: KubeObject): void {
  const other = seen && controllerOf(seen);
  if (!other || other.uid === owner.metadata.uid) return;
  const message = `${nameOf(object)} belongs to ${other.kind} ${other.name}; delete that, or choose another name`;
  throw new Conflict('OWNED_BY_ANOTHER', message);
}

/** The cache shows our last write, or is not there yet. */
function isAsWeLeft(last: Written, seen: KubeObject | undefined, nowMs: number): boolean {
  if (seen && seen.metadata.resourceVersion === last.resourceVersion) return true;
  const isBehind = !seen || isOlder(seen.metadata.resourceVersion, last.resourceVersion);
  return isBehind && nowMs - last.atMs < trustMs;
}

/** Versions of one resource can be compared as numbers (KEP-5504); what is no number is taken for news. */
function isOlder(a: string | undefined, b: string): boolean {
  return a !== undefined && /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}

const digestOf = (object: Desired): string => createHash('sha256').update(JSON.stringify(object)).digest('base64url');

const nameOf = ({ kind, metadata }: Named & { readonly kind: string }): string => `${kind} ${keyOf({ metadata })}`;
