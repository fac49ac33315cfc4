/** From an object and a pod to a PodNetwork with addresses, and back to the object's status. */
import { podConfigKind } from '@podloom/api';
import { coreEvents } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually, world } from './world.ts';

const seed = [
  { name: 'pc0', linkType: 'veth', master: 'pcbr0', parent: 'pc0', cidr: '192.168.100.0/24' },
  { name: 'pc1', linkType: 'veth', master: 'pcbr1', parent: 'pc1', cidr: '192.168.101.0/24' },
];

describe('a PodConfig', () => {
  it('with VLANs says that there are none yet, and gives the pod the rest', async () => {
    const { client, namespace, ...w } = await world();
    await w.operator();
    await w.agent();
    await w.config('tagged', seed.slice(0, 1), { vlans: [{ parentInterfaceName: 'eth1', vlanID: 7 }] });
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
    await w.config('tagged', seed.slice(0, 1), { vlans: [] });
    await eventually(async () => expect((await w.getConfig('tagged'))?.status?.phase).toBe('configured'));
  });

  it('gives a running pod with its label one PodNetwork, with addresses that the pools record', async () => {
    const { client, namespace, node, ...w } = await world();
    await w.operator();
    await w.agent();
    await w.config('sample', seed);
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
