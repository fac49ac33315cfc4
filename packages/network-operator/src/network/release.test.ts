import { type PodNetwork, podNetworkKind } from '@podloom/api';
import type { Pod } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import type { Held, Leaves } from './allocator.ts';
import type { NetworkContext } from './context.ts';
import { type Wanted, releaseUnneeded } from './release.ts';

const key = 'PodConfig/c/pc0';
const address = '10.0.0.2/24';
const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'ns', uid: 'uid-a' } };

/** A pod that is to have its address on bridge `br2`, as its agent sees it. */
const network = (status: PodNetwork['status']): PodNetwork => ({
  apiVersion: podNetworkKind.apiVersion,
  kind: 'PodNetwork',
  metadata: { name: 'a', namespace: 'ns', generation: 2 },
  spec: {
    podUid: 'uid-a',
    nodeName: 'n1',
    interfaces: [
      {
        key,
        namePrefix: 'pc0',
        link: { type: 'veth' },
        source: { apiVersion: 'v1', kind: 'PodConfig', name: 'c' },
        addresses: [address],
        bridge: { name: 'br2', device: 'br2', gateways: [], home: 'node' },
        routes: [],
      },
    ],
  },
  ...(status && { status }),
});
const link = { key, name: 'pc07', addresses: [address] };

/** The bridges on which the pod's address is given back. */
async function givenBack(seen: PodNetwork, waiting: Wanted['waiting'] = new Map()): Promise<string[]> {
  const held = ['br', 'br2'].map((bridge): Held => ({
    entry: { address: '10.0.0.2', podName: 'a', podUid: 'uid-a', interfaceKey: key },
    range: { network: bridge, cidr: '10.0.0.0/24' },
  }));
  const back: string[] = [];
  const context = {
    client: { get: () => Promise.resolve(seen) },
    caches: { nodes: { get: () => ({}) } },
    allocator: {
      heldBy: () => held,
      release: (_: string, leaves: Leaves) => void back.push(...held.filter(leaves).map(({ range }) => range.network)),
    },
  } as unknown as NetworkContext;
  await releaseUnneeded(pod, seen, { spec: seen.spec, waiting }, context, new AbortController().signal);
  return back;
}

describe('an interface that moved to another bridge with the same range', () => {
  it.each([
    [
      'gives back its address on the former',
      { observedGeneration: 2, interfaces: [{ ...link, state: 'Attached' }] },
      ['br'],
    ],
    [
      'keeps it until the agent has seen that',
      { observedGeneration: 1, interfaces: [{ ...link, state: 'Attached' }] },
      [],
    ],
    ['keeps it while the move fails', { observedGeneration: 2, interfaces: [{ ...link, state: 'Failed' }] }, []],
  ] as const)('%s', async (_, status, bridges) => {
    expect(await givenBack(network(structuredClone(status) as never))).toEqual(bridges);
  });
});

/** The same without interface. */
const gone = (status: PodNetwork['status']): PodNetwork => {
  const { spec, ...rest } = network(status);
  return { ...rest, spec: { ...spec, interfaces: [] } };
};

describe('an interface that waits for an address', () => {
  const range = { network: 'br', cidr: '10.0.0.0/24' };
  it.each([
    [
      'keeps what it has of what it asks for',
      [
        { ...range, address: '10.0.0.2' },
        { ...range, address: '10.0.0.9' },
      ],
      ['br2'],
    ],
    ['keeps what it has where any will do', [range, { network: 'br', cidr: 'fd00::/64' }], ['br2']],
    [
      'gives back what it asks for no more: another of the pod may wait for it, and this one for that',
      [{ ...range, address: '10.0.0.9' }],
      ['br', 'br2'],
    ],
  ])('%s', async (_, requests, bridges) => {
    expect(await givenBack(gone({ observedGeneration: 2 }), new Map([[key, requests]]))).toEqual(bridges);
  });

  it('keeps it until the agent has seen that its link is gone', async () => {
    const waiting = new Map([[key, [{ ...range, address: '10.0.0.9' }]]]);
    const status = { interfaces: [{ ...link, state: 'Removing' as const }] };
    expect(await givenBack(gone({ ...status, observedGeneration: 2 }), waiting)).toEqual([]);
    expect(await givenBack(gone({ observedGeneration: 1 }), waiting)).toEqual([]);
  });
});
