/** Pods that come, change and go: each ends in exactly what is declared. */
import { coreEvents, nodes, pods } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { eventsOf, world } from './world.ts';

const one = [{ name: 'pc0', master: 'pcbr0', cidr: '10.40.0.0/24' }];
const two = [...one, { name: 'pc1', master: 'pcbr1', cidr: '10.41.0.0/24' }];

const attachedOnce = (host: number): unknown => [
  {
    reason: 'Attached',
    message: expect.stringMatching(`^Has pc0\\d+ 10.40.0.${host}/24, pc1\\d+ 10.41.0.${host}/24$`) as string,
    count: 1,
  },
];

describe('a pod', () => {
  it('loses its interface with the label, and the address comes back only after the agent has seen that', async () => {
    const w = await world();
    await w.operator();
    const agent = await w.agent();
    await w.config('c', one);
    await w.pod('a');
    await w.relabel('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24']));
    await eventually(async () => expect((await w.networkOf('a'))?.status?.interfaces).toHaveLength(1));

    agent.pause();
    await w.relabel('a', { podconfig: null });
    await eventually(async () => expect((await w.networkOf('a'))?.spec.interfaces).toEqual([]));
    // A pod that comes meanwhile shows that the operator is not only slow.
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('b')).toEqual(['10.40.0.3/24']));
    const held = (await w.pools())[0]?.status?.allocations?.find(({ podName }) => podName === 'a');
    expect(held).toMatchObject({ address: '10.40.0.2' });
    expect(held?.releasedAt).toBeUndefined();

    agent.resume();
    await eventually(async () => expect(await w.networkOf('a')).toBeUndefined());
    await eventually(async () => {
      const entry = (await w.pools())[0]?.status?.allocations?.find(({ podName }) => podName === 'a');
      expect(entry?.releasedAt).toBeDefined();
    });
  });

  it('gets and loses single attachments as the object changes, and keeps the others as they are', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24']));
    await w.config('c', two);
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24', '10.41.0.2/24']));
    await w.config('c', two.slice(1));
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.41.0.2/24']));
    await eventually(async () => {
      const inUse = (await w.pools()).filter(({ status }) => status?.used !== 0);
      expect(inUse.map(({ spec }) => spec.network)).toEqual(['pcbr1']);
    });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.podConfigurations?.[0]?.configList).toEqual([
        expect.stringContaining('podIPAddr:10.41.0.2/24'),
      ]);
    });
  });

  it('that is gone leaves neither PodNetwork nor address', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24']));
    await w.removePod('a');
    await eventually(async () => expect(await w.networkOf('a')).toBeUndefined());
    await eventually(async () => expect((await w.pools())[0]?.status).toMatchObject({ used: 0, free: 252 }));
    await eventually(async () =>
      expect((await w.getConfig('c'))?.status).toMatchObject({ phase: 'unset', podConfigurations: [] }),
    );
  });

  it('that comes back under its name gets a PodNetwork of its own and another address', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24']));
    await w.removePod('a');
    const again = await w.pod('a', { podconfig: 'c' });
    await eventually(async () => {
      const network = await w.networkOf('a');
      expect(network?.spec.podUid).toBe(again.metadata.uid);
      expect(network?.metadata.ownerReferences?.[0]?.uid).toBe(again.metadata.uid);
      expect(network?.spec.interfaces[0]?.addresses).toEqual(['10.40.0.3/24']);
    });
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(1));
  });

  it('has its PodNetwork from when it is on a node, and a pod on none has nothing', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.config('c', one);
    const containers = [{ name: 'main', image: 'none' }];
    await client.create(pods, {
      metadata: { name: 'unbound', namespace, labels: { podconfig: 'c' } },
      spec: { containers },
    });
    await w.pod('a', { podconfig: 'c' }, { phase: 'Pending' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(1));
    expect(await w.networkOf('unbound')).toBeUndefined();
    await eventually(async () => {
      const [ready] = (await w.getConfig('c'))?.status?.conditions ?? [];
      expect(ready).toMatchObject({ reason: 'Configuring', message: '1 of 1 pods are not as declared yet' });
    });
    await w.removePod('a');
    await eventually(async () => expect([await w.networkOf('a'), await w.used()]).toEqual([undefined, 0]));
  });

  it('that has finished gives everything back while its object still exists', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(1));
    const { client, namespace } = w;
    await client.patch(
      pods,
      'a',
      { status: { phase: 'Succeeded' } },
      { type: 'merge', namespace, subresource: 'status' },
    );
    await eventually(async () => expect(await w.networkOf('a')).toBeUndefined());
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(0));
  });

  it('that is about to end keeps what it has and gets nothing new', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(1));
    await w.client.delete(pods, 'a', { namespace: w.namespace, gracePeriodSeconds: 600 });
    // News of pods comes apart from that of objects: who serves this one knows that the other is about to end.
    await w.pod('after', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('after')).toHaveLength(1));
    await w.config('c', two);
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('b')).toHaveLength(2));
    expect(await w.addressesOf('a')).toEqual(['10.40.0.2/24']);
  });

  it("that uses its node's network is told that it gets none of its own, and so is the object", async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', one);
    await w.pod('host', { podconfig: 'c' }, { hostNetwork: true });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'HostNetwork',
      });
      expect(await eventsOf(w.client, w.namespace, 'host')).toContain('HostNetwork');
    });
    expect(await w.networkOf('host')).toBeUndefined();
  });

  it('on a node that does not run Linux is told so, has nothing, and keeps no object from going', async () => {
    const w = await world();
    await w.operator();
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(1));
    await w.client.patch(nodes, w.node, { metadata: { labels: { 'kubernetes.io/os': 'windows' } } }, { type: 'merge' });
    await eventually(async () => expect([await w.networks(), await w.used()]).toEqual([[], 0]));
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'NodeUnsupported',
        message: expect.stringContaining(`node ${w.node}, which runs windows`),
      });
      expect(await eventsOf(w.client, w.namespace, 'b')).toEqual(['NodeUnsupported']);
    });
    expect(await w.networks()).toEqual([]);
    await w.removeConfig('c');
    await eventually(async () => expect(await w.getConfig('c')).toBeUndefined());
  });

  it('is told by one Event that it is attached, and by no other when it is looked at again', async () => {
    const w = await world();
    const { metrics } = await w.operator();
    await w.agent();
    await w.config('c', two);
    const told = async (name: string): Promise<unknown> => {
      const fieldSelector = `involvedObject.name=${name}`;
      const { items } = await w.client.list(coreEvents, { namespace: w.namespace, fieldSelector });
      return items.map(({ reason, message, count }) => ({ reason, message, count }));
    };
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await told('a')).toEqual(attachedOnce(2)));
    await w.relabel('a', { tier: 'front' });
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect(await told('b')).toEqual(attachedOnce(3)));
    expect(await told('a')).toEqual(attachedOnce(2));
    // What is said again is written later, but measured at once.
    expect(await metrics.text()).toContain('podloom_attach_seconds_count 2');
  });
});
