import { type PodNetwork, type PodNetworkStatus, Unavailable } from '@podloom/api';
import { type ObjectKey, manualClock, settle, silentLog } from '@podloom/kube';
import { emptyNamespace } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { driftGuard } from '../drift/judge.ts';
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
  const reported: PodNetworkStatus[] = [];
  const attached: ObjectKey[] = [];
  const deps = {
    clock,
    view: { current: () => emptyNamespace, touchedBy: () => undefined },
    served: { get: () => undefined, close: () => undefined },
    guard: driftGuard('repair', clock),
    ports: new Map(),
    looked: () => undefined,
    attached: (key: ObjectKey) => void attached.push(key),
    pace: tempo,
    patience: patience(clock),
    remembered: new Map(),
    failed: new Set(),
    reporter: {
      current: () => undefined,
      report: (_: PodNetwork, status: PodNetworkStatus) => Promise.resolve(void reported.push(status)),
    },
    finder: { known: () => undefined, find },
  } as unknown as PodDeps;
  return { tempo, attached, reported, result: podNetworkReconciler(deps)(network, { log: silentLog, signal }) };
}

it('does not count a pod as attached that has no sandbox', async () => {
  const { attached, reported, result } = reconcile(() => Promise.resolve(undefined));
  expect(await result).toMatchObject({ kind: 'retryAfter' });
  expect(reported).toMatchObject([{ conditions: [{ type: 'Ready', status: 'False', reason: 'PodNotRunning' }] }]);
  expect(attached).toEqual([]);
});

describe('a runtime that does not answer', () => {
  it('keeps nobody else waiting', async () => {
    const { tempo } = reconcile(() => new Promise(() => undefined));
    await settle();
    let isCalm = false;
    void tempo.calm(signal).then(() => (isCalm = true));
    await settle();
    expect(isCalm).toBe(true);
  });

  it('shows on the PodNetwork, which is tried again', async () => {
    const silent = new Unavailable('CRI_UNAVAILABLE', 'The container runtime does not answer');
    const { reported, result } = reconcile(() => Promise.reject(silent));
    expect(await result).toEqual({ kind: 'failed', error: silent });
    expect(reported).toMatchObject([
      { conditions: [{ type: 'Ready', status: 'False', reason: 'NodeUnavailable', message: silent.message }] },
    ]);
  });
});
