import { type PodNetwork, type PodNetworkStatus, Unavailable } from '@podloom/api';
import { type ObjectKey, manualClock, silentLog } from '@podloom/kube';
import { emptyNamespace } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { driftGuard } from '../drift/judge.ts';
import { podInterface, podSpec } from '../testing/specs.ts';
import { patience } from './patience.ts';
import { type PodDeps, podNetworkReconciler } from './pod.ts';

const networkOf = (podUid: string): PodNetwork => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: podUid, namespace: 'here', uid: 'u', generation: 1 },
  spec: podSpec(podUid, [podInterface(2)]),
});
const { signal } = new AbortController();

/** A reconciler with a runtime that answers so. */
function setUp(find: (podUid: string) => Promise<undefined>) {
  const clock = manualClock();
  const reported: PodNetworkStatus[] = [];
  const attached: ObjectKey[] = [];
  const deps = {
    clock,
    view: { current: () => emptyNamespace, touchedBy: () => undefined },
    served: { get: () => undefined, close: () => undefined },
    plugins: { serve: () => Promise.resolve({}), statuses: () => [] },
    guard: driftGuard('repair', clock),
    attached: (key: ObjectKey) => void attached.push(key),
    patience: patience(clock),
    remembered: new Map(),
    failed: new Set(),
    reporter: {
      current: () => undefined,
      report: (_: PodNetwork, status: PodNetworkStatus) => Promise.resolve(void reported.push(status)),
    },
    finder: { known: () => undefined, find },
  } as unknown as PodDeps;
  const reconcile = podNetworkReconciler(deps);
  return {
    attached,
    reported,
    reconcile: (podUid = 'pod-uid') => reconcile(networkOf(podUid), { log: silentLog, signal }),
  };
}

it('does not count a pod as attached that has no sandbox', async () => {
  const { attached, reported, reconcile } = setUp(() => Promise.resolve(undefined));
  expect(await reconcile()).toMatchObject({ kind: 'retryAfter' });
  expect(reported).toMatchObject([{ conditions: [{ type: 'Ready', status: 'False', reason: 'PodNotRunning' }] }]);
  expect(attached).toEqual([]);
});

describe('a runtime that does not answer', () => {
  it('keeps nobody else waiting', async () => {
    const { reported, reconcile } = setUp((podUid) =>
      podUid === 'silent' ? new Promise(() => undefined) : Promise.resolve(undefined),
    );
    void reconcile('silent');
    await reconcile();
    expect(reported).toHaveLength(1);
  });

  it('shows on the PodNetwork, which is tried again', async () => {
    const silent = new Unavailable('CRI_UNAVAILABLE', 'The container runtime does not answer');
    const { reported, reconcile } = setUp(() => Promise.reject(silent));
    expect(await reconcile()).toEqual({ kind: 'failed', error: silent });
    expect(reported).toMatchObject([
      { conditions: [{ type: 'Ready', status: 'False', reason: 'NodeUnavailable', message: silent.message }] },
    ]);
  });
});
