import type { PodInterfaceStatus, PodNetwork, PodNetworkStatus } from '@podloom/api';
import { findCondition, isSameJson } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { podInterface, podSpec } from '../testing/specs.ts';
import { type StatusInput, statusOf } from './status.ts';

const network: PodNetwork = {
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: 'pod', namespace: 'here', uid: 'u', generation: 3 },
  spec: podSpec('pod-uid', [podInterface(2)]),
};
const { key } = network.spec.interfaces[0]!;
const planned = (more: Partial<PodInterfaceStatus> = {}): PodInterfaceStatus => ({
  key,
  name: 'pc07',
  hostName: 'hpc07',
  addresses: ['192.168.100.2/24'],
  state: 'Pending',
  ...more,
});
const minute = 60_000;
const report = (more: Partial<StatusInput> = {}): PodNetworkStatus =>
  statusOf({
    network,
    old: undefined,
    plan: { interfaces: [planned()], primary: undefined, recordFirst: false },
    plugins: [],
    failed: new Map(),
    failures: [],
    podPid: 7,
    sandboxId: undefined,
    nowMs: minute,
    ...more,
  });
const ready = (status: PodNetworkStatus) => findCondition(status.conditions, 'Ready');

describe('statusOf', () => {
  it('calls an interface attached once its steps are done', () => {
    const status = report();
    expect(status).toMatchObject({ observedGeneration: 3, podPid: 7, networks: 'pc07' });
    expect(status.interfaces).toMatchObject([{ state: 'Attached', since: '1970-01-01T00:01:00Z' }]);
    expect(ready(status)).toMatchObject({ status: 'True', reason: 'Attached', message: '1 of 1 interface attached' });
  });

  it('says why a step failed, and keeps the names that were chosen', () => {
    const status = report({ failed: new Map([[key, { reason: 'KernelRefused', message: 'link.add: EEXIST' }]]) });
    expect(status.interfaces).toMatchObject([{ name: 'pc07', state: 'Failed', reason: 'KernelRefused' }]);
    expect(status.interfaces?.[0]?.addresses).toBeUndefined();
    expect(status.networks).toBeUndefined();
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'KernelRefused' });
  });

  it('is not ready while the pod waits for something, and says for what', () => {
    const source = { apiVersion: 'v1', kind: 'PodConfig', name: 'c' };
    const waiting = [{ source, reason: 'Exhausted', message: 'No address of br is free' }];
    const status = report({ network: { ...network, spec: { ...network.spec, waiting } } });
    expect(status.interfaces).toMatchObject([{ state: 'Attached' }]);
    expect(ready(status)).toMatchObject({
      status: 'False',
      reason: 'Exhausted',
      message: '1 of 2 interfaces attached: No address of br is free',
    });
  });

  it('waits for a pod that does not run, without a name that nobody chose', () => {
    const waiting = planned({
      name: '',
      hostName: '',
      reason: 'PodNotRunning',
      message: 'The pod has no namespace yet',
    });
    const status = report({
      plan: { interfaces: [waiting], primary: undefined, recordFirst: false },
      podPid: undefined,
    });
    expect(status.interfaces).toEqual([
      expect.not.objectContaining({ name: expect.anything() as unknown, hostName: expect.anything() as unknown }),
    ]);
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'PodNotRunning' });
  });

  it('shows what is removed only while it cannot be removed', () => {
    const gone = planned({ key: 'other', state: 'Removing' });
    const plan = { interfaces: [planned(), gone], primary: undefined, recordFirst: false };
    expect(report({ plan }).interfaces).toHaveLength(1);
    const failures = [{ reason: 'KernelRefused', message: 'link.delete: EBUSY' }];
    expect(report({ plan, failures }).interfaces).toMatchObject([{ key }, { key: 'other', state: 'Removing' }]);
  });

  it('is the same when nothing changed, whatever the time', () => {
    const first = report();
    expect(isSameJson(first, report({ old: first, nowMs: 90 * minute }))).toBe(true);
    const failed = report({ old: first, failed: new Map([[key, { reason: 'A', message: 'b' }]]), nowMs: 2 * minute });
    expect(failed.interfaces?.[0]?.since).toBe('1970-01-01T00:02:00Z');
  });

  const record = { interfaceName: 'eth0', before: { mtuBytes: 1500 } };

  it('records what the primary link had, and what holds only once it does', () => {
    const primary = { record, applied: { mtuBytes: 1400 }, state: 'Pending' } as const;
    const plan = { interfaces: [], primary, recordFirst: false };
    expect(report({ plan }).primary).toEqual({ ...record, applied: { mtuBytes: 1400 } });
    const failures = [{ reason: 'KernelRefused', message: 'link.set: EINVAL' }];
    expect(report({ plan, failures }).primary).toEqual({ ...record, state: 'Failed', ...failures[0] });
  });

  it('says why the primary link cannot be as asked, also while an interface fails and without anything on record', () => {
    const why = { reason: 'PrimaryLinkMissing', message: 'The pod has no link eth9' };
    const plan = { interfaces: [planned()], primary: { state: 'Failed', ...why } as const, recordFirst: false };
    const failed = new Map([[key, { reason: 'KernelRefused', message: 'link.add: EBUSY' }]]);
    const status = report({ plan, failed });
    expect(status.primary).toEqual({ state: 'Failed', ...why });
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'KernelRefused' });
  });

  it('is not ready while what the primary link had is only being written down', () => {
    const primary = { record, applied: { mtuBytes: 1400 }, state: 'Pending' } as const;
    const status = report({ plan: { interfaces: [planned()], primary, recordFirst: true } });
    expect(status.primary).toEqual(record);
    expect(status.observedGeneration).toBeUndefined();
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'Recording' });
    expect(status.interfaces).toMatchObject([{ state: 'Attached' }]);
  });

  it('keeps the record and waits while the pod of a primary link is not found', () => {
    const primary = {
      record,
      state: 'Pending',
      reason: 'PodNotRunning',
      message: 'The pod has no namespace yet',
    } as const;
    const status = report({ plan: { interfaces: [], primary, recordFirst: false } });
    expect(status.primary).toEqual(record);
    expect(ready(status)).toMatchObject({ status: 'False', reason: 'PodNotRunning' });
  });
});
