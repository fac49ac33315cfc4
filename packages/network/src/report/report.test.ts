import { type PodConfig, type PodNetwork, podConfigKind, podNetworkKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { wish } from '../plan/builders.ts';
import { configLine } from './line.ts';
import { type SelectedPod, type SourceReport, reportSource } from './source.ts';

const now = '2030-01-01T00:00:00Z';
const source: PodConfig = podConfigKind.parse({
  apiVersion: podConfigKind.apiVersion,
  kind: 'PodConfig',
  metadata: { name: 'a', namespace: 'cnf-test', generation: 3 },
  spec: {},
});
const attached = {
  key: wish().key,
  name: 'pc02841804',
  hostName: 'hpc02841804',
  addresses: ['192.168.100.2/24'],
  bridgeDevice: 'pcbr0',
  state: 'Attached',
};
const podNetwork = (status: object, generation = 1): PodNetwork =>
  podNetworkKind.parse({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name: 'p', namespace: 'cnf-test', generation },
    spec: { podUid: 'u', nodeName: 'n', interfaces: [wish()] },
    status: { observedGeneration: 1, ...status },
  });
const report = (pods: readonly SelectedPod[], more: Partial<Parameters<typeof reportSource>[0]> = {}): SourceReport =>
  reportSource({ source, pods, conflicts: [], now, ...more });
const conflict = {
  loser: { apiVersion: 'v', kind: 'PodConfig', name: 'a' },
  winner: { apiVersion: 'v', kind: 'PodNetworkConfig', name: 'b' },
  reason: 'InterfaceConflict',
  message: 'The pod has an interface pc0 from PodNetworkConfig b; choose another name',
} as const;

describe('reportSource', () => {
  it('shows a configured pod with the line of the documents', () => {
    const shown = report([{ name: 'p', podNetwork: podNetwork({ interfaces: [attached] }) }]);
    expect(shown.phase).toBe('configured');
    expect(shown.pods).toEqual([
      {
        podName: 'p',
        configList: ['{podVethName:pc02841804 podIPAddr:192.168.100.2/24 peerVethName:hpc02841804 bridge:pcbr0}'],
      },
    ]);
    expect(shown.conditions).toMatchObject([
      { type: 'Ready', status: 'True', observedGeneration: 3 },
      { type: 'Conflict', status: 'False' },
    ]);
  });

  it.each([
    ['without PodNetwork', { name: 'p' }, 'Composing'],
    ['that is being attached', { name: 'p', podNetwork: podNetwork({}) }, 'Attaching'],
    [
      'whose status is of an older wish',
      { name: 'p', podNetwork: podNetwork({ interfaces: [attached] }, 2) },
      'Attaching',
    ],
    [
      'that waits for an address',
      { name: 'p', waiting: { reason: 'Exhausted', message: 'none is free' } },
      'Exhausted',
    ],
    [
      'that failed',
      {
        name: 'p',
        podNetwork: podNetwork({ interfaces: [{ key: wish().key, state: 'Failed', reason: 'NameTaken' }] }),
      },
      'NameTaken',
    ],
  ])('is configuring with a pod %s', (_, pod: SelectedPod, reason) => {
    const shown = report([pod, { name: 'q', podNetwork: podNetwork({ interfaces: [attached] }) }]);
    expect(shown.phase).toBe('configuring');
    expect(shown.conditions[0]).toMatchObject({ status: 'False', reason });
  });

  it('is unset while no pod is selected', () => {
    expect(report([])).toMatchObject({ phase: 'unset', selectedPods: 0, pods: [] });
  });

  it('tells the loser of a conflict who won, and the winner who lost', () => {
    const pod = { name: 'p', podNetwork: podNetwork({ interfaces: [attached] }) };
    const lost = report([pod], { conflicts: [conflict] });
    expect(lost.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'InterfaceConflict' },
      { type: 'Conflict', status: 'True', message: conflict.message },
    ]);
    const won = report([pod], { conflicts: [{ ...conflict, loser: conflict.winner, winner: conflict.loser }] });
    expect(won.phase).toBe('configured');
    expect(won.conditions[1]).toMatchObject({
      status: 'True',
      reason: 'OlderWins',
      message: 'PodNetworkConfig b wants what this object has',
    });
  });

  it('keeps the time of a condition that stays', () => {
    const first = report([]);
    const later = report([], { previous: first.conditions, now: '2031-01-01T00:00:00Z' });
    expect(later).toEqual(first);
  });
});

describe('configLine', () => {
  it('joins several addresses', () => {
    const line = configLine({ key: 'k', state: 'Attached', name: 'a', addresses: ['10.0.0.2/24', 'fd00::2/64'] });
    expect(line).toBe('{podVethName:a podIPAddr:10.0.0.2/24,fd00::2/64 peerVethName: bridge:}');
  });
});
