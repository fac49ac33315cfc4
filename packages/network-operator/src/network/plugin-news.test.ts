import type { PodInterfaceStatus, PodNetwork } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { pluginNews } from './plugin-news.ts';

const link = (state: PodInterfaceStatus['state'], more: Partial<PodInterfaceStatus> = {}): PodInterfaceStatus => ({
  key: 'NetworkAttachmentDefinition/a/:1',
  name: 'net1',
  state,
  ...more,
});
const network = (...interfaces: PodInterfaceStatus[]): PodNetwork =>
  ({
    metadata: { name: 'p', namespace: 'lab' },
    spec: { podUid: 'u', nodeName: 'n', interfaces: [] },
    status: { interfaces },
  }) as unknown as PodNetwork;
const told = (old: PodNetwork | undefined, now: PodNetwork | undefined) =>
  pluginNews(old, now).map(({ reason, message }) => `${reason}: ${message}`);

describe('Events of plugins', () => {
  it('tell what came, failed and went', () => {
    const attached = network(link('Attached', { addresses: ['10.1.0.7/24'] }));
    const failed = network(link('Failed', { message: 'no room' }));
    expect(told(network(), attached)).toEqual(['AddedInterface: Add net1 from lab/a with 10.1.0.7/24']);
    expect(told(attached, network())).toEqual(['RemovedInterface: Remove net1 of lab/a']);
    expect(told(attached, undefined)).toEqual(['RemovedInterface: Remove net1 of lab/a']);
    expect(told(network(), failed)).toEqual(['FailedAddingInterface: net1 from lab/a: no room']);
    expect(told(network(link('Removing')), failed)).toEqual(['FailedRemovingInterface: net1 from lab/a: no room']);
  });

  it('do not tell what is known, what was there before, or what the kernel makes', () => {
    const attached = network(link('Attached'));
    expect(told(attached, attached)).toEqual([]);
    expect(told(undefined, attached)).toEqual([]);
    expect(told(network(link('Failed', { message: 'm' })), network(link('Failed', { message: 'm' })))).toEqual([]);
    expect(told(network(link('Failed', { message: 'm' })), network())).toEqual([]);
    expect(told(network(), network(link('Attached', { key: 'PodConfig/a/pc0' })))).toEqual([]);
  });
});
