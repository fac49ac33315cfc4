/** How many attachments there are and how they fare; counted when someone asks, and never otherwise. */
import type { Metrics } from '@podloom/kube';
import type { Caches } from './caches.ts';
import { isObserved } from './pod-network.ts';

const states = ['Attached', 'Pending', 'Failed', 'Removing'] as const;

/** Returns the undo. */
export function measureAttachments({ podNetworks }: Caches, metrics: Metrics): () => void {
  const undo = states.map((state) =>
    metrics.sampled('podloom_attachments', 'How many interfaces of pods are in which state?', { state }, () =>
      count(state),
    ),
  );
  function count(state: (typeof states)[number]): number {
    return podNetworks.list().reduce((sum, network) => {
      const seen = new Map((network.status?.interfaces ?? []).map((one) => [one.key, one.state]));
      const wanted = network.spec.interfaces.map(({ key }) =>
        isObserved(network) ? (seen.get(key) ?? 'Pending') : 'Pending',
      );
      const keys = new Set(network.spec.interfaces.map(({ key }) => key));
      const removing = [...seen.keys()].filter((key) => !keys.has(key)).map(() => 'Removing' as const);
      return sum + [...wanted, ...removing].filter((one) => one === state).length;
    }, 0);
  }
  return () => undo.forEach((step) => step());
}
