import { type PodNetwork, podNetworkKind } from '@podloom/api';
import { type Pod, manualClock } from '@podloom/kube';
import type { AddressRequest, PoolRequest } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { giveAddresses } from './addresses.ts';
import { withUnread } from './pod-network-writes.ts';

const key = 'PodConfig/c/pc0';
const pod = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
});
const link = (bridge: string) => ({
  key,
  namePrefix: 'pc0',
  source: { apiVersion: 'v1', kind: 'PodConfig', namespace: 'ns', name: 'c' },
  link: { type: 'veth' as const },
  bridge: { name: bridge, device: bridge, gateways: [], home: 'node' as const },
  routes: [],
});
const range = (address?: string, cidr = '10.0.0.0/24'): AddressRequest => ({
  network: 'br',
  cidr,
  ...(address !== undefined && { address }),
});

/** The PodNetwork of a pod that has this on a bridge. */
const network = (name: string, bridge: string, addresses: string[]): PodNetwork => ({
  apiVersion: podNetworkKind.apiVersion,
  kind: 'PodNetwork',
  metadata: { name, namespace: 'ns' },
  spec: { podUid: `uid-${name}`, nodeName: 'n', interfaces: [{ ...link(bridge), addresses }] },
});

/** Addresses by name, for whoever comes first. */
function world(taken: Record<string, string> = {}) {
  const owners = new Map(Object.entries(taken));
  const asked: string[] = [];
  const allocator = {
    has: (_: string, __: AddressRequest, { address = '', podName }: PoolRequest) => owners.get(address) === podName,
    async allocate(_: string, { cidr }: AddressRequest, { address = 'any', podName, hasIt }: PoolRequest) {
      asked.push(`${podName} ${address}${hasIt ? ' that it has' : ''}`);
      await Promise.resolve();
      const owner = address === 'any' ? podName : (owners.get(address) ?? podName);
      if (owner !== podName) return { failed: 'AddressTaken', message: `belongs to pod ${owner}` };
      owners.set(address, podName);
      return { address: `${address}/${cidr.split('/')[1]}` };
    },
  };
  const context = { allocator, clock: manualClock(0), waiting: { set: () => undefined } } as unknown as Parameters<
    typeof giveAddresses
  >[3];
  const give = (name: string, requests: readonly AddressRequest[], before?: PodNetwork) =>
    giveAddresses(pod(name), { interfaces: [{ interface: link('br'), requests }] }, before, context);
  return { owners, asked, give };
}

describe('an interface with several addresses', () => {
  const both = [range('10.0.0.6'), range('10.0.0.5')];

  it('gets them in the order in which they are written, asked for in that of the addresses', async () => {
    const { give, asked } = world();
    const { interfaces } = await give('a', [range('fd00::1', 'fd00::/64'), ...both]);
    expect(interfaces[0]?.addresses).toEqual(['fd00::1/64', '10.0.0.6/24', '10.0.0.5/24']);
    expect(asked).toEqual(['a 10.0.0.5', 'a 10.0.0.6', 'a fd00::1']);
  });

  it('leaves the second to whoever has the first', async () => {
    const { give } = world({ '10.0.0.5': 'a' });
    const [other, owner] = await Promise.all([give('b', both), give('a', both, network('a', 'br', ['10.0.0.5/24']))]);
    expect(owner.interfaces[0]?.addresses).toEqual(['10.0.0.6/24', '10.0.0.5/24']);
    expect(other).toMatchObject({ interfaces: [], problems: [{ reason: 'AddressTaken' }] });
  });

  it('waits with none that come after the one that it lacks', async () => {
    const { give } = world({ '10.0.0.5': 'a', '10.0.0.6': 'b' });
    const { waiting } = await give('b', both, network('b', 'br', ['10.0.0.6/24']));
    expect([...waiting]).toEqual([[key, [range('10.0.0.5')]]]);
  });
});

describe('an interface that moves to another bridge with the same range', () => {
  it('has the address of the former no more', async () => {
    const { give, asked } = world();
    await give('a', [range()], network('a', 'former', ['10.0.0.9/24']));
    await give('a', [range()], network('a', 'br', ['10.0.0.9/24']));
    expect(asked).toEqual(['a any', 'a 10.0.0.9 that it has']);
  });
});

describe('an annotation that cannot be read', () => {
  it('leaves the pod what it has of the kind that it names, and gives nothing anew', () => {
    const before = network('a', 'br', ['10.0.0.9/24']);
    const none = { interfaces: [] };
    expect(withUnread(none, before, { unread: ['PodConfig'] }).interfaces).toEqual(before.spec.interfaces);
    expect(withUnread(none, before, { unread: ['Bridge'] }).interfaces).toEqual([]);
    expect(withUnread(none, undefined, { unread: ['PodConfig'] }).interfaces).toEqual([]);
  });
});
