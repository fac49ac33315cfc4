/** Tells the controller of things that are not in the API: the kernel or the runtime says that a pod should be looked at. */
import { type KubeObject, podNetworkKind } from '@podloom/api';
import { type Cache, type Change, type ObjectKey, parseObjectKey } from '@podloom/kube';

export interface Knocks {
  /** In the shape of a cache that holds nothing: a controller takes it as one more thing to watch. */
  readonly source: Cache<KubeObject>;
  knock(key: ObjectKey): void;
}

export function knocks(): Knocks {
  const listeners = new Set<(change: Change<KubeObject>) => void>();
  const { apiVersion, kind } = { apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PodNetwork' };
  return {
    source: {
      resource: podNetworkKind.resource,
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
      const now: KubeObject = { apiVersion, kind, metadata: { name, namespace } };
      for (const listener of listeners) listener({ key, old: undefined, now });
    },
  };
}
