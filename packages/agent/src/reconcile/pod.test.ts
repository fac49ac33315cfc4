import type { PodNetwork } from '@podloom/api';
import { manualClock, settle, silentLog } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { podInterface, podSpec } from '../testing/specs.ts';
import { pace } from './pace.ts';
import { patience } from './patience.ts';
import { type PodDeps, podNetworkReconciler } from './pod.ts';

const network: PodNetwork = {
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: 'pod', namespace: 'here', uid: 'u', generation: 1 },
  spec: podSpec('pod-uid', [podInterface(2)]),
};
const { signal } = new AbortController();

/** Reconciles with a runtime that answers so. */
function reconcile(find: () => Promise<undefined>) {
  const clock = manualClock();
  const tempo = pace(clock);
  const deps = {
    clock,
    pace: tempo,
    patience: patience(clock),
    remembered: new Map(),
    finder: { known: () => undefined, find },
  } as unknown as PodDeps;
  return { tempo, result: podNetworkReconciler(deps)(network, { log: silentLog, signal }) };
}

describe('a runtime that does not answer', () => {
  it('keeps nobody else waiting', async () => {
    const { tempo } = reconcile(() => new Promise(() => undefined));
    await settle();
    let isCalm = false;
    void tempo.calm(signal).then(() => (isCalm = true));
    await settle();
    expect(isCalm).toBe(true);
  });
});
