/** The cache of PodNetworks without our own echo: a status that we wrote ourselves is no reason to look at the pod again. */
import type { PodNetwork } from '@podloom/api';
import type { Cache } from '@podloom/kube';

export function withoutEcho(cache: Cache<PodNetwork>, isOurs: (network: PodNetwork) => boolean): Cache<PodNetwork> {
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
        const { old, now } = change;
        const asksTheSame = old && now && old.metadata.generation === now.metadata.generation && isOurs(now);
        if (!asksTheSame) listener(change);
      }),
    ended: cache.ended,
  };
}
