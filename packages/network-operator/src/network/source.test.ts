import {
  Conflict,
  type PodConfig,
  type PodNetwork,
  podConfigFinalizer,
  podConfigKind,
  podNetworkKind,
} from '@podloom/api';
import { manualClock } from '@podloom/kube';
import { settleNamespace } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import type { NetworkContext } from './context.ts';
import { type Told, reconcileSource } from './source.ts';
import { keyOfSource } from './sources.ts';

const config = (spec: object = {}, metadata: object = {}): PodConfig =>
  podConfigKind.parse({
    apiVersion: podConfigKind.apiVersion,
    kind: podConfigKind.kind,
    metadata: { name: 'c', namespace: 'ns', uid: 'u', generation: 1, ...metadata },
    spec,
  });

/** Pods on a node each, whose agents have not answered yet. */
const networks = (count: number): PodNetwork[] =>
  Array.from({ length: count }, (_, i) => ({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name: `p${i}`, namespace: 'ns' },
    spec: { podUid: `u${i}`, nodeName: `node-${i}`, interfaces: [] },
    status: { interfaces: [{ key: 'PodConfig/c/pc0', name: 'pc01', state: 'Removing' }] },
  }));

function world(first: PodConfig) {
  let now = first;
  const clock = manualClock(Date.UTC(2030, 0, 1));
  const told: Told = new Map();
  const held: PodNetwork[] = [];
  const messages: (string | undefined)[] = [];
  const warnings: string[] = [];
  const context = {
    clock,
    client: {
      apply(_: unknown, { status }: Pick<PodConfig, 'status'>) {
        now = { ...now, status };
        messages.push(status?.conditions?.[0]?.message);
        return Promise.resolve(now);
      },
      create: () => Promise.reject(new Conflict('API_FORBIDDEN', 'exceeded quota')),
    },
    sources: new Map([['PodConfig', { get: () => now, wrote: () => undefined }]]),
    caches: { podNetworks: { by: () => held }, nodes: { get: () => ({}) }, deployments: { by: () => [] } },
    view: { chosenBy: () => [], settledIn: () => settleNamespace('ns', [now], { reserved: [] }) },
    events: { normal: () => undefined, warning: (_: unknown, reason: string) => warnings.push(reason) },
    holds: { isUsed: () => false },
  } as unknown as NetworkContext;
  return {
    clock,
    held,
    messages,
    warnings,
    becomes: (next: PodConfig) => {
      now = { ...next, ...(now.status && { status: now.status }) };
    },
    look: () => reconcileSource(keyOfSource(now), context, told, new AbortController().signal),
  };
}

describe('an object that goes', () => {
  it('names a few of the nodes that it waits for', async () => {
    const { held, messages, warnings, look } = world(
      config({}, { deletionTimestamp: '2029-12-31T23:00:00Z', finalizers: [podConfigFinalizer] }),
    );
    held.push(...networks(2_000));
    await look();
    expect(messages).toEqual([
      'Waiting for 2000 pods on node-0, node-1, node-10, node-100, node-1000, and 1995 more until the agent there has taken everything away',
    ]);
    await look();
    expect(messages).toHaveLength(1);
    expect(warnings).toEqual(['Removing']);
  });
});

describe('an object with two problems of its own', () => {
  it('is told of each once, and of what is in no condition again when it is changed', async () => {
    const vlans = { vlans: [{ parentInterfaceName: 'eth1', vlanID: 5 }] };
    const sampleDeployment = { create: true, name: 'taken' };
    const { clock, messages, warnings, becomes, look } = world(config({ ...vlans, sampleDeployment }));
    for (let i = 0; i < 3; i += 1) {
      await look();
      await clock.advance(30_000);
    }
    expect([messages, warnings]).toEqual([
      [expect.stringContaining('exceeded quota')],
      ['SampleRefused', 'UnsupportedVlans'],
    ]);
    becomes(config({ ...vlans, sampleDeployment }, { generation: 2 }));
    await look();
    expect(warnings.slice(2)).toEqual(['UnsupportedVlans']);
  });
});
