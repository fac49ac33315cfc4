/**
 * Writes statuses: one write a real change and none otherwise. The cache is a little behind our own writes, so what was written last is remembered
 * until the cache has it.
 */
import { type PodNetwork, type PodNetworkStatus, podNetworkKind } from '@podloom/api';
import { type Client, applyStatus, isNotFound, isSameJson } from '@podloom/kube';

export interface Reporter {
  /** The status as the server has it, as far as we know. */
  current(network: PodNetwork): PodNetworkStatus | undefined;
  /** Resolves when it is written; at once where nothing changed. */
  report(network: PodNetwork, status: PodNetworkStatus, signal: AbortSignal): Promise<void>;
  /** This very version is one that we wrote. */
  isOurs(network: PodNetwork): boolean;
  /** The object with this uid is gone. */
  forget(uid: string): void;
}

interface Written {
  readonly resourceVersion: bigint;
  readonly status: PodNetworkStatus | undefined;
}

const fieldManager = 'podloom-agent';
const uidOf = ({ metadata }: PodNetwork): string => metadata.uid ?? '';
const versionOf = ({ metadata }: PodNetwork): bigint => BigInt(metadata.resourceVersion ?? 0);

export function statusReporter(client: Client): Reporter {
  const written = new Map<string, Written>();

  function current(network: PodNetwork): PodNetworkStatus | undefined {
    const last = written.get(uidOf(network));
    if (!last) return network.status;
    if (versionOf(network) < last.resourceVersion) return last.status;
    if (versionOf(network) > last.resourceVersion) written.delete(uidOf(network));
    return network.status;
  }

  return {
    current,
    async report(network, status, signal) {
      if (isSameJson(current(network), status)) return;
      try {
        const applied = await applyStatus(client, podNetworkKind.resource, network, status, { fieldManager, signal });
        written.set(uidOf(network), { resourceVersion: versionOf(applied), status: applied.status });
      } catch (error) {
        if (!isNotFound(error)) throw error; // deleted meanwhile: its absence is the next thing that we look at
      }
    },
    isOurs(network) {
      const [uid, resourceVersion] = [uidOf(network), versionOf(network)];
      if (written.get(uid)?.resourceVersion !== resourceVersion) return false;
      // The cache has it by now: one copy is enough.
      written.set(uid, { resourceVersion, status: network.status });
      return true;
    },
    forget: (uid) => void written.delete(uid),
  };
}
