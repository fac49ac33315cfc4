/** Objects that go: nothing of theirs is left on a living node before they are gone. */
import { bridgeKind } from '@podloom/api';
import { coreEvents, nodes } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { eventsOf, world } from './world.ts';
import { seeingWrites } from './writes.ts';

const one = [{ name: 'pc0', master: 'pcbr0', cidr: '10.50.0.0/24' }];

describe('a PodConfig that is deleted', () => {
  it('takes its interfaces and addresses with it, and then goes', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.podConfigurations).toHaveLength(2));
    await w.removeConfig('c');
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
  });

  it('waits for an agent that is down, says so, and goes when it is back', async () => {
    const w = await world();
    await w.operator();
    const agent = await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
    await eventually(async () => expect((await w.getConfig('c'))?.metadata.finalizers).toHaveLength(1));
    agent.pause();
    await w.removeConfig('c');
    await eventually(async () => {
      const ready = (await w.getConfig('c'))?.status?.conditions?.[0];
      expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'Removing' });
      expect(ready?.message).toContain(w.node);
    });
    expect((await w.pools())[0]?.status?.used).toBe(1);
    agent.resume();
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
  });

  it('waits for an agent that is down also across a restart of the operator', async () => {
    const w = await world();
    const first = await w.operator();
    const agent = await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('configured'));
    await eventually(async () => expect((await w.getConfig('c'))?.metadata.finalizers).toHaveLength(1));
    agent.pause();
    await w.removeConfig('c');
    await eventually(async () => expect((await w.networkOf('a'))?.spec.interfaces).toEqual([]));
    await first.stop();
    await w.operator();
    await w.config(
      'other',
      one.map((link) => ({ ...link, name: 'x0', master: 'xbr' })),
    );
    await w.pod('b', { podconfig: 'other' });
    await eventually(async () => expect(await w.addressesOf('b')).toHaveLength(1));
    expect(await w.getConfig('c')).toBeDefined();
    agent.resume();
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
  });

  it('does not wait for a node that is gone for good', async () => {
    const w = await world();
    await w.operator();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(1));
    await eventually(async () => expect((await w.getConfig('c'))?.metadata.finalizers).toHaveLength(1));
    await w.removeConfig('c');
    await eventually(async () => expect((await w.networkOf('a'))?.spec.interfaces).toEqual([]));
    expect(await w.getConfig('c')).toBeDefined();
    await w.client.delete(nodes, w.node);
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
  });

  it('goes while its pods go, too', async () => {
    const w = await world();
    await w.operator();
    const agent = await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect(await w.networks()).toHaveLength(2));
    await eventually(async () => expect((await w.getConfig('c'))?.metadata.finalizers).toHaveLength(1));
    agent.pause();
    await Promise.all([w.removePod('a'), w.removeConfig('c'), w.removePod('b')]);
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
  });

  it('before it could be held is gone at once, and nothing was done for it', async () => {
    const w = await world();
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const written: string[] = [];
    await w.operator({
      wrap: (client) =>
        seeingWrites(client, async (verb, plural) => {
          if (plural !== 'events' && plural !== 'leases') written.push(`${verb} ${plural}`);
          if (`${verb} ${plural}` !== 'patch podconfigs') return;
          asked.resolve();
          await gone.promise;
        }),
    });
    await w.agent();
    await w.pod('a', { podconfig: 'c' });
    await w.config('c', one);
    await asked.promise;
    expect(written.filter((one) => !one.startsWith('apply podconfigs'))).toEqual(['patch podconfigs']);
    await w.removeConfig('c');
    expect(await w.getConfig('c')).toBeUndefined();
    gone.resolve();
    // It goes on with others.
    await w.config('d', one);
    await w.relabel('a', { podconfig: 'd' });
    await eventually(async () => expect((await w.getConfig('d'))?.status?.phase).toBe('configured'));
    expect((await w.networkOf('a'))?.spec.interfaces.map(({ source }) => source.name)).toEqual(['d']);
    // To lose a race is no news for anybody.
    await eventually(async () => expect(await eventsOf(w.client, w.namespace, 'a')).toEqual(['Attached']));
  });

  it('that nothing was done for goes at once', async () => {
    const w = await world();
    await w.operator();
    await w.config('c', one);
    await eventually(async () => expect((await w.getConfig('c'))?.status?.phase).toBe('unset'));
    await w.removeConfig('c');
    expect(await w.getConfig('c')).toBeUndefined();
  });
});

describe('a Bridge', () => {
  it('gives its range and gateway to links on it, reports where it is, and takes them back', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const spec = { name: 'lan', cidr: '10.51.0.0/24', mtu: 1400 };
    await client.create(bridgeKind.resource, { metadata: { name: 'lan', namespace }, spec }, { namespace });
    await eventually(async () => {
      const { status } = await client.get(bridgeKind.resource, 'lan', { namespace });
      expect(status).toMatchObject({ conditions: [{ reason: 'NoPods', message: 'No pod has a link on it' }] });
    });
    await w.config('c', [{ name: 'pc0', master: 'lan' }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.51.0.2/24']));
    await eventually(async () => {
      const { status, metadata } = await client.get(bridgeKind.resource, 'lan', { namespace });
      expect(metadata.finalizers).toEqual(['bridge.finalizers.opdev.io']);
      expect(status).toMatchObject({
        phase: 'configured',
        bridgeConfigs: [{ nodeName: w.node, device: 'lan', addresses: ['10.51.0.1/24'], ports: 1 }],
      });
      const { items } = await client.list(coreEvents, { namespace, fieldSelector: 'involvedObject.name=lan' });
      expect(items).toMatchObject([{ reason: 'Configured', message: '1 pod is as declared', count: 1 }]);
    });
    await client.delete(bridgeKind.resource, 'lan', { namespace });
    await eventually(async () => {
      expect((await client.list(bridgeKind.resource, { namespace })).items).toEqual([]);
      expect((await w.networkOf('a'))?.spec.interfaces[0]).toMatchObject({ addresses: [], bridge: { gateways: [] } });
    });
  });
});
