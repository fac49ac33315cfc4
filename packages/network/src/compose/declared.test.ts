import { type PodConfig, bridgeKind, podConfigKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { declaredNetworks } from './declared.ts';
import { settleNamespace } from './settle.ts';

const config = (namespace: string, attachments: object[], metadata: object = {}): PodConfig =>
  podConfigKind.parse({
    apiVersion: podConfigKind.apiVersion,
    kind: 'PodConfig',
    metadata: { name: 'a', namespace, ...metadata },
    spec: { networkAttachments: attachments },
  });

describe('declaredNetworks', () => {
  it('names bridge and range of links and bridges of the namespace, and of no other, and nothing of a link without bridge', () => {
    const bridge = bridgeKind.parse({
      apiVersion: bridgeKind.apiVersion,
      kind: 'Bridge',
      metadata: { name: 'b', namespace: 'here' },
      spec: { name: 'br1', cidr: 'fd00::/64' },
    });
    const sources = [
      config('here', [
        { name: 'pc0', master: 'br0', cidr: '10.1.0.0/24' },
        { name: 'pc1', cidr: '10.2.0.0/24' },
      ]),
      config('there', [{ name: 'pc0', master: 'br9', cidr: '10.9.0.0/24' }]),
      bridge,
    ];
    expect(declaredNetworks(settleNamespace('here', sources, { reserved: [] }))).toEqual([
      { network: 'br0', cidr: '10.1.0.0/24' },
      { network: 'br1', cidr: 'fd00::/64' },
    ]);
  });

  it('knows nothing of what is being deleted', () => {
    const going = config('here', [{ name: 'pc0', master: 'br0', cidr: '10.1.0.0/24' }], {
      deletionTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(declaredNetworks(settleNamespace('here', [going], { reserved: [] }))).toEqual([]);
  });
});
