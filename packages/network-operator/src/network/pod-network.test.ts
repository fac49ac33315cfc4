import type { PodNetwork } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { holders, isClean, leavingAnnotation, withSpec } from './pod-network.ts';

type Primary = PodNetwork['spec']['primary'];
type Record = NonNullable<PodNetwork['status']>['primary'];

const network = (primary: Primary, record: Record): PodNetwork => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { namespace: 'a', generation: 2, annotations: { [leavingAnnotation]: 'PrimaryNetwork/old' } },
  spec: { podUid: 'u', nodeName: 'n', interfaces: [], ...(primary ? { primary } : {}) },
  status: { observedGeneration: 2, ...(record ? { primary: record } : {}) },
});
const wanted = { interfaceName: 'net1', mtuBytes: 1400, sources: [] };

describe('a PodNetwork whose primary link was changed', () => {
  it.each([
    ['has values to give back', undefined, { before: { mtuBytes: 1500 } }],
    ['has routes to take away', undefined, { interfaceName: 'net1' }],
    ['has another link to restore first', wanted, { before: { mtuBytes: 1500 } }],
  ])('holds who asked for it while it %s', (_, primary, record) => {
    expect(holders(network(primary, record))).toHaveLength(1);
    expect(isClean(network(primary, record))).toBe(false);
  });

  it.each([
    ['as long as it is to be restored', { before: { mtuBytes: 1500 } }, 1],
    ['not if it is restored', undefined, 0],
  ])('holds them also when the pod changes again, %s', (_, record, count) => {
    const seen = network(undefined, record);
    const changed = withSpec(seen, { ...seen.spec, waiting: [] });
    expect(holders({ ...changed, metadata: { ...changed.metadata, generation: 3 } })).toHaveLength(count);
  });

  it('holds them no longer then', () => {
    expect(holders(network(wanted, { interfaceName: 'net1', before: { mtuBytes: 9000 } }))).toEqual([]);
    expect(holders(network(wanted, { state: 'Failed', reason: 'PrimaryLinkMissing' }))).toEqual([]);
    expect(holders(network(undefined, undefined))).toEqual([]);
    expect(isClean(network(undefined, undefined))).toBe(true);
  });
});
