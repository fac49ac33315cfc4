/**
 * Writes statuses: one write a real change and none otherwise. The cache is a little behind our own writes, so what was written last is remembered
 * until the cache has it.
 */
import { type PodNetwork, type PodNetworkStatus, podNetworkKind } from '@podloom/api';
import { type Client, type ObjectKey, applyStatus, isNotFound, isSameJson, keyOf } from '@podloom/kube';

export interface Reporter {
  /** The status as the server has it, as far as we know. */
  current(network: PodNetwork): PodNetworkStatus | undefined;
  /** Resolves when it is written; at once where nothing changed. */
  report(network: PodNetwork, status: PodNetworkStatus, signal: AbortSignal): Promise<void>;
  /** This very version is one that we wrote. */
  isOurs(network: PodNetwork): boolean;
  /** The object is gone, and nothing about it is on its way any more. */
  forget(key: ObjectKey): void;
}

interface Written {
  /** One of the same name is another object. */
  readonly uid: string;
  readonly resourceVersion: bigint;
  readonly status: PodNetworkStatus | undefined;
}

const fieldManager = 'podloom-agent';
const uidOf = ({ metadata }: PodNetwork): string => metadata.uid ?? '';
const versionOf = ({ metadata }: PodNetwork): bigint => BigInt(metadata.resourceVersion ?? 0);

export function statusReporter(client: Client): Reporter {
  const written = new Map<ObjectKey, Written>();

  function current(network: PodNetwork): PodNetworkStatus | undefined {
    const last = written.get(keyOf(network));
    if (last?.uid !== uidOf(network)) return network.status;
    if (versionOf(network) < last.resourceVersion) return last.status;
    if (versionOf(network) > last.resourceVersion) written.delete(keyOf(network));
    return network.status;
  }

  return {
    current,
    async report(network, status, signal) {
      if (isSameJson(current(network), status)) return;
      try {
        const applied = await applyStatus(client, podNetworkKind.resource, network, status, { fieldManager, signal });
        const resourceVersion = versionOf(applied);
        written.set(keyOf(network), { uid: uidOf(network), resourceVersion, status: applied.status });
      } catch (error) {
        if (!isNotFound(error)) throw error; // deleted meanwhile: its absence is the next thing that we look at
      }
    },
    isOurs(network) {
      const [key, uid, resourceVersion] = [keyOf(network), uidOf(network), versionOf(network)];
      const last = written.get(key);
      if (last?.uid !== uid || last.resourceVersion !== resourceVersion) return false;
      // The cache has it by now: one copy is enough.
      written.set(key, { uid, resourceVersion, status: network.status });
      return true;
    },
    forget: (key) => void written.delete(key),
  };
}
