/** From an object and a pod to a PodNetwork with addresses, and back to the object's status. */
import { additionalNetworkKind, podConfigKind, podNetworkKind } from '@podloom/api';
import { coreEvents } from '@podloom/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { jumpingClock } from './clock.ts';
import { quota, removeQuota } from './quota.ts';
import { eventsOf, world } from './world.ts';
import { seeingWrites } from './writes.ts';

const sample = [
  { name: 'pc0', linkType: 'veth', master: 'pcbr0', parent: 'pc0', cidr: '192.168.100.0/24' },
  { name: 'pc1', linkType: 'veth', master: 'pcbr1', parent: 'pc1', cidr: '192.168.101.0/24' },
];

const links = (from: number, to: number): { name: string; master: string }[] =>
  Array.from({ length: to - from }, (_, i) => ({ name: `n${from + i}`, master: `br${from + i}` }));

describe('a PodConfig', () => {
  it('with VLANs says that there are none yet, and gives the pod the rest', async () => {
    const { client, namespace, ...w } = await world();
    await w.operator();
    await w.agent();
    await w.config('tagged', sample.slice(0, 1), { vlans: [{ parentInterfaceName: 'eth1', vlanID: 7 }] });
    await w.pod('a', { podconfig: 'tagged' });
    await eventually(async () => {
      const { status } = (await w.getConfig('tagged'))!;
      expect(status).toMatchObject({ phase: 'configuring', podConfigurations: [{ podName: 'a' }] });
      expect(status?.conditions).toMatchObject([
        { type: 'Ready', status: 'False', reason: 'UnsupportedVlans', message: expect.stringContaining('spec.vlans') },
      ]);
      const { items } = await client.list(coreEvents, { namespace });
      expect(items).toContainEqual(
        expect.objectContaining({
          reason: 'UnsupportedVlans',
          involvedObject: expect.objectContaining({ name: 'tagged' }),
        }),
      );
    });
    await w.config('tagged', sample.slice(0, 1), { vlans: [] });
    await eventually(async () => expect((await w.getConfig('tagged'))?.status?.phase).toBe('configured'));
  });

  it.each([
    ['the gateway', { addresses: ['192.168.100.1'] }, 'AddressOutsideRange'],
    ['the gateway, in another spelling', { cidr: 'fd00::/64', addresses: ['fd00:0::0001'] }, 'AddressOutsideRange'],
    ['the gateway that it chose', { gateway: '192.168.100.9', addresses: ['192.168.100.9'] }, 'AddressOutsideRange'],
    ['the network address', { gateway: 'None', addresses: ['192.168.100.0'] }, 'AddressOutsideRange'],
    ['the broadcast address', { addresses: ['192.168.100.255'] }, 'AddressOutsideRange'],
    ['the broadcast address as gateway', { gateway: '192.168.100.255' }, 'InvalidSpec'],
  ])('that asks for %s has nothing and says why', async (_, more, reason) => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/24', ...more }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => {
      const [ready] = (await w.getConfig('c'))?.status?.conditions ?? [];
      expect(ready).toMatchObject({ status: 'False', reason, message: expect.stringContaining('broadcast address') });
    });
    expect(await w.addressesOf('a')).toEqual([]);
  });

  it('that waits for its pods says once that it is configured', async () => {
    const { client, namespace, ...w } = await world();
    const clock = jumpingClock();
    await w.operator({ clock, settings: { leaseDuration: '120s' } });
    await w.agent();
    await w.config('early', sample.slice(0, 1));
    await eventually(async () => {
      expect((await w.getConfig('early'))?.status?.conditions?.[0]).toMatchObject({ reason: 'NoPods' });
    });
    await w.pod('a', { podconfig: 'early' });
    await eventually(async () => expect(await eventsOf(client, namespace, 'early')).toEqual(['Configured']));
    expect((await w.getConfig('early'))?.status?.conditions?.[0]?.message).toBe('1 pod is as declared');
    await w.pod('b', { podconfig: 'early' });
    await eventually(async () => {
      expect((await w.getConfig('early'))?.status?.conditions?.[0]?.message).toContain('2 pods');
    });
    // What is said again within ten seconds is counted after them. What another object says then comes after that.
    clock.jump(11_000);
    await w.config('later', sample.slice(1));
    await w.pod('c', { podconfig: 'later' });
    await eventually(async () => expect(await eventsOf(client, namespace, 'later')).toEqual(['Configured']));
    const { items } = await client.list(coreEvents, { namespace, fieldSelector: 'involvedObject.name=early' });
    expect(items.map(({ count }) => count)).toEqual([1]);
  });

  it('is not configured before its PodNetworks say what it asks for now', async () => {
    const w = await world();
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    await w.operator({
      wrap: (client) =>
        seeingWrites(client, (verb, plural) =>
          `${verb} ${plural}` === 'update podnetworks' ? held.promise : undefined,
        ),
    });
    await w.agent();
    await w.config('c', sample.slice(0, 1));
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
    await w.config('c', [{ ...sample[0], mtu: 1400 }]);
    await eventually(async () => expect((await w.getConfig('c'))?.status?.observedGeneration).toBe(2));
    expect((await w.getConfig('c'))?.status).toMatchObject({
      phase: 'configuring',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Configuring', observedGeneration: 2 }],
    });
    held.resolve();
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
    expect((await w.networkOf('a'))?.spec.interfaces).toMatchObject([{ mtuBytes: 1400 }]);
  });

  it('shows what the API server will not have, and goes on when it will', async () => {
    const { client, namespace, ...w } = await world();
    await quota(client, namespace, 'podnetworks.podnetwork.opdev.io');
    const spec = { podUid: 'u', nodeName: 'n', interfaces: [] };
    const draft = { metadata: { name: 'other', namespace }, spec };
    const tryOne = () => client.create(podNetworkKind.resource, draft, { namespace, dryRun: true });
    await eventually(async () => await expect(tryOne()).rejects.toThrow('exceeded quota'));
    await w.operator();
    await w.agent();
    await w.config('c', sample);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'ApiRefused',
        message: expect.stringContaining('exceeded quota'),
      });
      expect(await eventsOf(client, namespace, 'c')).toContain('ApiRefused');
    });
    await removeQuota(client, namespace);
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
  });

  it('gets what fits into a PodNetwork, and the youngest who does not fit is told', async () => {
    const { client, namespace, ...w } = await world();
    await w.operator();
    await w.agent();
    // A PodNetwork has room for 64 interfaces.
    await w.config('many', links(0, 32));
    for (const { name, master } of links(32, 65)) {
      const spec = { podSelector: {}, name, bridge: master };
      const object = { metadata: { name, namespace }, spec } as never;
      await client.create(additionalNetworkKind.resource, object, { namespace });
    }
    await w.pod('a', { podconfig: 'many' });
    await eventually(async () => {
      expect((await w.networkOf('a'))?.spec).toMatchObject({
        interfaces: { length: 64 },
        waiting: [{ reason: 'InterfaceConflict', message: expect.stringContaining('64 interfaces') }],
      });
    });
    await client.delete(additionalNetworkKind.resource, 'n40', { namespace });
    await eventually(async () => expect((await w.networkOf('a'))?.spec.waiting).toBeUndefined());
    await eventually(async () => expect((await w.getConfig('many'))?.status?.phase).toBe('configured'));
    expect((await w.networkOf('a'))?.spec.interfaces).toHaveLength(64);
  });

  it('gives a running pod with its label one PodNetwork, with addresses that the pools record', async () => {
    const { client, namespace, node, ...w } = await world();
    await w.operator();
    await w.agent();
    await w.config('sample', sample);
    const pod = await w.pod('a', { podconfig: 'sample' });
    await eventually(async () => {
      expect(await w.networkOf('a')).toMatchObject({
        metadata: {
          labels: { 'podnetwork.opdev.io/node': node },
          ownerReferences: [{ kind: 'Pod', uid: pod.metadata.uid }],
        },
        spec: {
          podUid: pod.metadata.uid,
          nodeName: node,
          interfaces: [
            {
              namePrefix: 'pc0',
              addresses: ['192.168.100.2/24'],
              bridge: { device: 'pcbr0', gateways: ['192.168.100.1/24'] },
            },
            {
              namePrefix: 'pc1',
              addresses: ['192.168.101.2/24'],
              bridge: { device: 'pcbr1', gateways: ['192.168.101.1/24'] },
            },
          ],
        },
      });
    });
    await eventually(async () => {
      const pools = await w.pools();
      expect(pools.map(({ spec, status }) => [spec.network, status?.allocations?.[0]?.address, status?.used])).toEqual([
        ['pcbr0', '192.168.100.2', 1],
        ['pcbr1', '192.168.101.2', 1],
      ]);
    });
    await eventually(async () => {
      const { status, metadata } = await client.get(podConfigKind.resource, 'sample', { namespace });
      expect(status?.phase).toBe('configured');
      expect(status?.podConfigurations).toEqual([
        {
          podName: 'a',
          configList: [
            expect.stringMatching(
              /^\{podVethName:pc0\d+ podIPAddr:192.168.100.2\/24 peerVethName:hpc0\d+ bridge:pcbr0\}$/,
            ),
            expect.stringMatching(
              /^\{podVethName:pc1\d+ podIPAddr:192.168.101.2\/24 peerVethName:hpc1\d+ bridge:pcbr1\}$/,
            ),
          ],
        },
      ]);
      expect(status?.conditions?.[0]).toMatchObject({
        type: 'Ready',
        status: 'True',
        observedGeneration: metadata.generation,
      });
      expect(metadata.finalizers).toEqual(['podconfig.finalizers.opdev.io']);
    });
  });
});
