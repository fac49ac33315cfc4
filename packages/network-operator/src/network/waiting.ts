/** Pods that wait for an address, by network: a pool that changes calls them. Who restarts looks at every pod anyway, so nothing of it is kept. */
import type { IPPool } from '@podloom/api';
import { type ObjectKey, type ObjectName, parseObjectKey } from '@podloom/kube';
import type { ComposedInterface } from '@podloom/network';

export interface WaitingList {
  /** What the pod waits for now; nothing takes it off the list. */
  set(pod: ObjectKey, interfaces: readonly ComposedInterface[]): void;
  podsFor(pool: IPPool): ObjectName[];
}

export function waitingList(): WaitingList {
  const byNetwork = new Map<string, Set<ObjectKey>>();
  const byPod = new Map<ObjectKey, readonly string[]>();
  return {
    set(pod, interfaces) {
      const { namespace } = parseObjectKey(pod);
      for (const network of byPod.get(pod) ?? []) {
        byNetwork.get(network)?.delete(pod);
        if (byNetwork.get(network)?.size === 0) byNetwork.delete(network);
      }
      const networks = interfaces.flatMap(({ requests }) => requests.map(({ network }) => `${namespace}/${network}`));
      if (networks.length === 0) byPod.delete(pod);
      else byPod.set(pod, networks);
      for (const network of networks) byNetwork.set(network, (byNetwork.get(network) ?? new Set()).add(pod));
    },
    podsFor: ({ metadata, spec }) =>
      [...(byNetwork.get(`${metadata.namespace}/${spec.network}`) ?? [])].map((key) => parseObjectKey(key)),
  };
}
