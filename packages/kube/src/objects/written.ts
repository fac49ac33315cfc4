/**
 * What we wrote last of each owned object. A cache is a little behind: this knows what was made a moment ago, and whether an object is as we left it.
 */
import type { KubeObject, OwnerReference } from '@podloom/api';
import type { Cache } from '../cache/cache.ts';
import { keyOf } from '../cache/store.ts';

export interface OwnedLabel {
  readonly key: string;
  readonly value: string;
}

/** For the `indexes` of a cache: by the uid of the controller. */
export const controllerIndex = {
  controller: (object: KubeObject): string[] => {
    const uid = controllerOf(object)?.uid;
    return uid ? [uid] : [];
  },
} as const;

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export interface Found {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly isLeaving: boolean;
}

/** What we wrote last of an object, as long as the cache has not shown that it is gone. */
export interface Written extends Found {
  readonly cache: Cache<KubeObject, 'controller'>;
  readonly labels: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
  readonly content: string;
  readonly atMs: number;
}

/** The last write of each object, by owner: a cache shows it a moment later. */
export function rememberWrites(caches: readonly Cache<KubeObject, 'controller'>[]) {
  const byOwner = new Map<string, Map<string, Written>>();

  function forget(owner: string | undefined, cache: Cache<KubeObject>, object: Named): void {
    const written = byOwner.get(owner ?? '');
    written?.delete(slotOf(cache, object));
    if (written?.size === 0) byOwner.delete(owner ?? '');
  }

  for (const cache of caches) {
    cache.subscribe(({ old, now }) => {
      if (!old || old.metadata.uid === now?.metadata.uid) return;
      const owner = controllerOf(old)?.uid;
      const last = byOwner
        .get(owner ?? '')
        ?.get(slotOf(cache, { metadata: { ...old.metadata, name: old.metadata.name ?? '' } }));
      if (last && last.uid === old.metadata.uid) forget(owner, cache, { metadata: last });
    });
  }

  return {
    forget,
    get: (owner: KubeObject, cache: Cache<KubeObject>, object: Named) =>
      byOwner.get(owner.metadata.uid ?? '')?.get(slotOf(cache, object)),
    put(owner: KubeObject, written: Written): void {
      const uid = owner.metadata.uid ?? '';
      const ofOwner = byOwner.get(uid) ?? new Map<string, Written>();
      byOwner.set(uid, ofOwner.set(slotOf(written.cache, { metadata: written }), written));
    },
    /** What the owner has of one kind: what the cache shows, and what it does not show yet. */
    of(owner: KubeObject, cache: Cache<KubeObject, 'controller'>, { key, value }: OwnedLabel): Found[] {
      const uid = owner.metadata.uid ?? '';
      const seen = cache
        .by('controller', uid)
        .filter(({ metadata }) => metadata.labels?.[key] === value)
        .map(({ metadata }) => ({
          name: metadata.name ?? '',
          namespace: metadata.namespace,
          uid: metadata.uid,
          isLeaving: metadata.deletionTimestamp !== undefined,
        }));
      const unseen = [...(byOwner.get(uid)?.values() ?? [])].filter(
        (one) => one.cache === cache && one.labels[key] === value && !cache.get(one.name, one.namespace),
      );
      return [...seen, ...unseen];
    },
  };
}

export interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

export const slotOf = ({ resource }: Cache<KubeObject>, object: Named): string => `${resource.plural} ${keyOf(object)}`;
