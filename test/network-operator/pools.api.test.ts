/** Addresses: no pod without one that its pool records, none for two, and those who wait are served when one is free. */
import { additionalNetworkKind, ipPoolKind, Unavailable } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { jumpingClock } from './clock.ts';
import { eventsOf, world } from './world.ts';
import { seeingWrites } from './writes.ts';

const attachments = (state: string, count: number): string => `podloom_attachments{state="${state}"} ${count}`;

describe('a pool that nobody needs any more', () => {
  it('goes when its addresses have cooled down, and until then gives none of them to another', async () => {
    const w = await world();
    const clock = jumpingClock();
    await w.operator({ clock, settings: { leaseDuration: '1h' } });
    await w.agent();
    const one = [{ name: 'pc0', master: 'br', cidr: '10.61.0.0/24' }];
    await w.config('c', one);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.61.0.2/24']));
    await eventually(async () => expect(await w.used()).toBe(1));
    const remove = async (): Promise<void> => {
      await w.removeConfig('c');
      await eventually(async () => expect([await w.getConfig('c'), await w.used()]).toEqual([undefined, 0]));
    };
    await remove();
    await w.relabel('a', { podconfig: null });
    await w.pod('b', { podconfig: 'c' });
    await w.config('c', one);
    await eventually(async () => expect(await w.addressesOf('b')).toEqual(['10.61.0.3/24']));
    await eventually(async () => expect(await w.used()).toBe(1));
    await remove();
    clock.jump(59_000);
    // An object of another network makes it look at all pools, and its own status comes after that.
    await w.config('other', [{ name: 'o0', master: 'obr', cidr: '10.62.0.0/24' }]);
    await eventually(async () => expect((await w.getConfig('other'))?.status?.phase).toBe('unset'));
    expect(await w.pools()).toHaveLength(1);
    clock.jump(1_000);
    await eventually(async () => expect(await w.pools()).toEqual([]));
  });
});

it('says in its metrics how many addresses and attachments there are, and how long they took', async () => {
  const w = await world();
  const { metrics } = await w.operator();
  const agent = await w.agent();
  await w.config('c', [{ name: 'pc0', master: 'br', cidr: '10.63.0.0/29' }]);
  const shows = (...lines: string[]): Promise<void> =>
    eventually(async () => expect((await metrics.text()).split('\n')).toEqual(expect.arrayContaining(lines)));
  const addresses = (which: string, count: number): string =>
    `podloom_addresses_${which}{namespace="${w.namespace}",network="br",pool="${pool}"} ${count}`;
  await w.pod('a', { podconfig: 'c' });
  await eventually(async () => expect(await w.used()).toBe(1));
  const pool = (await w.pools())[0]?.metadata.name;
  await shows(addresses('used', 1), addresses('free', 4), attachments('Attached', 1), 'podloom_attach_seconds_count 1');
  agent.pause();
  await w.pod('b', { podconfig: 'c' });
  await shows(addresses('used', 2), addresses('free', 3), attachments('Attached', 1), attachments('Pending', 1));
  expect(await metrics.text()).toContain('podloom_attach_seconds_count 1\n');
  await w.relabel('a', { podconfig: null });
  await shows(attachments('Removing', 1), attachments('Pending', 1));
  agent.resume();
  await shows(attachments('Removing', 0), attachments('Attached', 1), addresses('used', 1));
});

describe('a network without a free address', () => {
  it('says so on the object and the pod, and serves the pod once an address has come back and cooled down', async () => {
    const w = await world();
    const clock = jumpingClock();
    // It stays the leader although the clock jumps.
    await w.operator({ clock, settings: { leaseDuration: '1h' } });
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'tiny', cidr: '10.60.0.0/30' }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.60.0.2/30']));
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => {
      const conditions = (await w.getConfig('c'))?.status?.conditions;
      expect(conditions).toMatchObject([
        { type: 'Ready', status: 'False', reason: 'Exhausted' },
        { type: 'Exhausted', status: 'True' },
      ]);
      expect(await eventsOf(w.client, w.namespace, 'b')).toEqual(['Exhausted']);
      expect(await eventsOf(w.client, w.namespace, 'c')).toContain('Exhausted');
    });
    await w.removePod('a');
    await eventually(async () => expect((await w.pools())[0]?.status?.allocations?.[0]?.releasedAt).toBeDefined());
    const waiting = [{ source: { kind: 'PodConfig', name: 'c' }, reason: 'Exhausted' }];
    expect((await w.networkOf('b'))?.spec).toMatchObject({ interfaces: [], waiting });
    clock.jump(2 * 60_000);
    await eventually(async () => expect(await w.addressesOf('b')).toEqual(['10.60.0.2/30']));
    expect((await w.networkOf('b'))?.spec.waiting).toBeUndefined();
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
    });
  });

  it('serves who waits as soon as the range is wider', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'tiny', cidr: '10.60.0.0/30' }]);
    await w.pod('a', { podconfig: 'c' });
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect((await w.getConfig('c'))?.status?.conditions?.[1]?.type).toBe('Exhausted'));
    await w.config('c', [{ name: 'pc0', master: 'tiny', cidr: '10.60.0.0/24' }]);
    await eventually(async () => {
      const all = [...(await w.addressesOf('a')), ...(await w.addressesOf('b'))];
      expect(new Set(all).size).toBe(2);
      expect(all.every((address) => address.endsWith('/24'))).toBe(true);
    });
    await eventually(async () => {
      const used = (await w.pools()).map(({ spec, status }) => [spec.cidr, status?.used]);
      expect(new Map(used as [string, number][])).toEqual(
        new Map([
          ['10.60.0.0/24', 2],
          ['10.60.0.0/30', 0],
        ]),
      );
    });
  });

  it('gives the wider prefix also when the write of the PodNetwork failed after that of the pool', async () => {
    const w = await world();
    let toFail = 0;
    await w.operator({
      wrap: (client) =>
        seeingWrites(client, (verb, plural) => {
          if (`${verb} ${plural}` !== 'update podnetworks' || toFail === 0) return;
          toFail -= 1;
          throw new Unavailable('TEST', 'The server is away');
        }),
    });
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'grows', cidr: '10.62.0.0/30' }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.62.0.2/30']));
    toFail = 1;
    await w.config('c', [{ name: 'pc0', master: 'grows', cidr: '10.62.0.0/24' }]);
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.62.0.2/24']));
    expect(toFail).toBe(0);
  });

  it('gives a pod its other networks meanwhile', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', [
      { name: 'pc0', master: 'tiny', cidr: '10.60.0.0/30' },
      { name: 'pc1', master: 'wide', cidr: '10.61.0.0/24' },
    ]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toHaveLength(2));
    await w.pod('b', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('b')).toEqual(['10.61.0.3/24']));
  });
});

const lanAt = (name: string, host: number) => ({
  podSelector: { matchLabels: { app: 'x' } },
  name,
  linkType: 'veth',
  bridge: 'lan',
  cidr: '10.65.0.0/24',
  addresses: [`10.65.0.${host}`],
});

describe('addresses', () => {
  it('of two families, with exclusions, come from a pool each', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    const range = { cidrs: ['10.62.0.0/24', 'fd62::/64'], exclude: ['10.62.0.0/29', 'fd62::/124'] };
    await w.config('c', [{ name: 'pc0', master: 'both', ...range }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.62.0.8/24', 'fd62::10/64']));
  });

  it('that are asked for by name go to one pod, and the other is told whose it is', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    const spec = {
      podSelector: { matchLabels: { app: 'x' } },
      name: 'lan0',
      linkType: 'veth',
      bridge: 'lan',
      cidr: '10.63.0.0/24',
      addresses: ['10.63.0.77'],
    } as const;
    const { client, namespace } = w;
    await client.create(
      additionalNetworkKind.resource,
      { metadata: { name: 'lan', namespace }, spec: spec as never },
      { namespace },
    );
    await w.pod('a', { app: 'x' });
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.63.0.77/24']));
    await w.pod('b', { app: 'x' });
    await eventually(async () => {
      const { status } = await client.get(additionalNetworkKind.resource, 'lan', { namespace });
      expect(status?.selectedPods).toBe(2);
      expect(status?.conditions?.[0]).toMatchObject({ status: 'False', reason: 'AddressTaken' });
      expect(status?.conditions?.[0]?.message).toContain('pod a');
    });
    expect(await w.addressesOf('b')).toEqual([]);
  });

  it('that two interfaces of a pod swap are given to both, once the agent has seen that neither has its own any more', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    const { client, namespace } = w;
    const names = ['lan0', 'lan1'];
    for (const [i, name] of names.entries()) {
      const body = { metadata: { name, namespace }, spec: lanAt(name, 7 + i) as never };
      await client.create(additionalNetworkKind.resource, body, { namespace });
    }
    await w.pod('a', { app: 'x' });
    const addresses = async (): Promise<unknown> =>
      Object.fromEntries(
        (await w.networks()).flatMap(({ spec }) => spec.interfaces.map((one) => [one.name, one.addresses])),
      );
    await eventually(async () => expect(await addresses()).toEqual({ lan0: ['10.65.0.7/24'], lan1: ['10.65.0.8/24'] }));
    for (const [i, name] of names.entries()) {
      const spec = lanAt(name, 8 - i) as never;
      await client.patch(additionalNetworkKind.resource, name, { spec }, { type: 'merge', namespace });
    }
    await eventually(async () => expect(await addresses()).toEqual({ lan0: ['10.65.0.8/24'], lan1: ['10.65.0.7/24'] }));
  });

  it('stay with their pods when the pools are lost while no operator runs', async () => {
    const w = await world();
    const first = await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'br', cidr: '10.64.0.0/24' }]);
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await w.pod(name, { podconfig: 'c' });
    await eventually(async () => expect((await w.networks()).length).toBe(4));
    const before = await Promise.all(names.map((name) => w.addressesOf(name)));
    await first.stop();
    await w.client.deleteCollection(ipPoolKind.resource, { namespace: w.namespace });
    await w.pod('new', { podconfig: 'c' });
    await w.operator();
    await eventually(async () => expect(await w.addressesOf('new')).toEqual(['10.64.0.6/24']));
    expect(await Promise.all(names.map((name) => w.addressesOf(name)))).toEqual(before);
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(5));
  });

  it('stay with their pods when the pools are deleted while an operator runs, and no new pod gets one of them', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'br', cidr: '10.64.0.0/24' }]);
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await w.pod(name, { podconfig: 'c' });
    await eventually(async () => expect(await w.used()).toBe(4));
    await eventually(async () => expect((await w.networks()).length).toBe(4));
    const before = await Promise.all(names.map((name) => w.addressesOf(name)));
    await w.client.deleteCollection(ipPoolKind.resource, { namespace: w.namespace });
    await w.pod('new', { podconfig: 'c' });
    await eventually(async () => expect(await w.addressesOf('new')).toEqual(['10.64.0.6/24']));
    expect(await Promise.all(names.map((name) => w.addressesOf(name)))).toEqual(before);
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(5));
    // Also where nobody asks for anything: the pool is there again.
    await w.client.deleteCollection(ipPoolKind.resource, { namespace: w.namespace });
    await eventually(async () => expect((await w.pools())[0]?.status?.used).toBe(5));
  });
});
