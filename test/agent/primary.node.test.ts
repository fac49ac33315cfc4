/** The primary link of pods, by the whole agent: nothing that was there is lost, on whichever link, and whether the pod is found or not. */
import { type PodNetwork, Unavailable, podNetworkKind } from '@podloom/api';
import { findCondition } from '@podloom/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Agent, type World, linkNames, makeWorld, podInterface } from './world.ts';

let world: World;
let agent: Agent;
let count = 0;
let name = '';

beforeAll(async () => {
  world = await makeWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  agent = world.startAgent();
  name = `pod-${(count += 1)}`;
  world.runtime.start(name);
});
afterEach(async () => {
  await world.client.delete(podNetworkKind.resource, name);
  await vi.waitUntil(() => linkNames(world.node).every((link) => !link.includes('pc')), { timeout: 120_000 });
  await agent.stop();
});

const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 120_000, interval: 10 });
const sandboxId = expect.any(String) as unknown;
const readyOf = ({ status }: PodNetwork) => findCondition(status?.conditions, 'Ready');
const mtu = (link = 'eth0'): number | undefined => world.runtime.netns(name).link.get(link).mtu;
const ask = (mtuBytes: number, interfaceName = 'eth0', more = {}) =>
  world.declare(name, { primary: { interfaceName, mtuBytes, sources: [], ...more } });
const restored = () => eventually(async () => expect((await world.settled(name)).status?.primary).toBeUndefined());

describe('a primary link that is not eth0', () => {
  beforeEach(() => world.runtime.netns(name).link.add({ kind: 'bridge', name: 'net1', mtu: 9000 }));

  it('is the one that is changed and given back', async () => {
    await ask(2000, 'net1');
    const { status } = await world.settled(name);
    expect(status?.primary).toMatchObject({ interfaceName: 'net1', before: { mtuBytes: 9000 } });
    expect([mtu(), mtu('net1')]).toEqual([1500, 2000]);
    await world.declare(name, {});
    await restored();
    expect([mtu(), mtu('net1')]).toEqual([1500, 9000]);
  });

  it('is changed in the place of eth0, which is given back, in one go', async () => {
    await ask(1400);
    await world.settled(name);
    await ask(2000, 'net1');
    const { status } = await world.settled(name);
    expect(status?.primary).toEqual({
      interfaceName: 'net1',
      sandboxId,
      before: { mtuBytes: 9000 },
      applied: { mtuBytes: 2000 },
    });
    expect([mtu(), mtu('net1')]).toEqual([1500, 2000]);
  });

  it('gets and loses routes', async () => {
    const netns = world.runtime.netns(name);
    netns.link.set('net1', { up: true });
    await world.declare(name, {
      primary: { interfaceName: 'net1', routes: [{ to: '198.51.100.0/24' }], sources: [] },
    });
    expect((await world.settled(name)).status?.primary).toEqual({ interfaceName: 'net1', sandboxId });
    expect(netns.route.list({ protocol: 149 })).toHaveLength(1);
    await world.declare(name, {});
    await restored();
    expect(netns.route.list({ protocol: 149 })).toEqual([]);
  });

  it.each([
    ['net1', 'eth0', 1500],
    ['eth0', 'net1', 9000],
  ])('that is gone has nothing to give back, and nobody else gets it: %s', async (gone, other, theirs) => {
    await ask(2000, gone);
    await world.settled(name);
    world.runtime.netns(name).link.delete(gone);
    await eventually(async () => expect(readyOf(await world.get(name))?.reason).toBe('PrimaryLinkMissing'));
    await world.declare(name, {});
    await restored();
    expect(mtu(other)).toBe(theirs);
  });

  it('gets its MTU back when the PodNetwork is deleted', async () => {
    await ask(2000, 'net1');
    await world.settled(name);
    await world.client.delete(podNetworkKind.resource, name);
    await eventually(() => expect([mtu(), mtu('net1')]).toEqual([1500, 9000]));
    await world.declare(name, {});
  });
});

describe('a PodNetwork that is deleted by hand and composed again before anyone looked', () => {
  it('knows what the primary link had', async () => {
    await ask(1400);
    const { metadata: former } = await world.settled(name);
    // While one of its statuses is being written nothing else is done about it.
    const late = Promise.withResolvers<never>();
    const apply = world.client.apply.bind(world.client);
    using writing = vi
      .spyOn(world.client, 'apply')
      .mockImplementation((resource, object, options) =>
        object.metadata.uid === former.uid ? late.promise : apply(resource, object, options),
      );
    await ask(1300);
    await eventually(() => expect(writing.mock.calls.map(([, , { subresource }]) => subresource)).toContain('status'));
    await world.client.delete(podNetworkKind.resource, name);
    await ask(1200);
    // What was declared after it is settled, so the agent has heard of it.
    const other = `${name}-other`;
    await world.declare(other, {});
    await world.settled(other);
    late.reject(new Unavailable('TOO_LATE', 'The former one is gone'));
    expect((await world.settled(name)).status?.primary).toMatchObject({ before: { mtuBytes: 1500 } });
    expect(mtu()).toBe(1200);
    await world.client.delete(podNetworkKind.resource, other);
  });
});

describe('a pod whose sandbox is made anew while the agent is away, as when its node starts anew', () => {
  beforeEach(async () => {
    await ask(1400);
    await world.settled(name);
    await agent.stop();
    await world.runtime.recreate(name);
    world.runtime.netns(name).link.set('eth0', { mtu: 1450 });
  });

  it('gets back what its link has there, and not what the former one had', async () => {
    agent = world.startAgent();
    await eventually(() => expect(mtu()).toBe(1400));
    await world.client.delete(podNetworkKind.resource, name);
    await eventually(() => expect(mtu()).toBe(1450));
    await world.declare(name, {});
  });

  it('keeps what it has where nobody asks any more', async () => {
    await world.declare(name, {});
    agent = world.startAgent();
    await restored();
    expect(mtu()).toBe(1450);
  });
});

describe('a pod that the runtime does not know', () => {
  it('is waited for, and what its primary link had stays on record', async () => {
    await ask(1400);
    await world.settled(name);
    const show = world.runtime.hide(name);
    const { status } = await world.settled(name, false);
    expect(status?.primary).toEqual({ interfaceName: 'eth0', sandboxId, before: { mtuBytes: 1500 } });
    expect(findCondition(status?.conditions, 'Ready')?.reason).toBe('PodNotRunning');
    show();
    await world.settled(name);
    await world.declare(name, {});
    await restored();
    expect(mtu()).toBe(1500);
  });

  it('is looked for again also by an agent that is told nothing', async () => {
    const show = world.runtime.hide(name);
    await ask(1400);
    expect(readyOf(await world.settled(name, false))?.reason).toBe('PodNotRunning');
    show(false);
    await world.settled(name);
    expect(mtu()).toBe(1400);
  });

  it('keeps the links that it has', async () => {
    await world.declare(name, { interfaces: [podInterface(2)] });
    const { hostName = '' } = (await world.settled(name)).status?.interfaces?.[0] ?? {};
    const { index } = world.node.link.get(hostName);
    const show = world.runtime.hide(name);
    await world.settled(name, false);
    expect(world.node.link.get(hostName).index).toBe(index);
    show();
    await world.settled(name);
    expect(world.node.link.get(hostName).index).toBe(index);
  });
});

describe('what cannot be done', () => {
  it('is taken back as a whole', async () => {
    await ask(1300, 'eth0', { sysctls: { 'net.ipv4.conf.rp_filter': 'abc' } });
    const network = await world.settled(name, false);
    expect(readyOf(network)?.reason).toBe('KernelRefused');
    expect(network.status?.primary?.applied).toBeUndefined();
    await eventually(() => expect(mtu()).toBe(1500));
  });

  it('does not keep the rest of the pod, where it is a setting that cannot be read', async () => {
    const sysctls = { 'net.ipv6.conf.stable_secret': '2001:db8::1' };
    await world.declare(name, {
      interfaces: [podInterface(2)],
      primary: { interfaceName: 'eth0', sysctls, grantedSysctls: Object.keys(sysctls), sources: [] },
    });
    const network = await world.settled(name, false);
    expect(readyOf(network)).toMatchObject({ reason: 'SettingMissing' });
    expect(network.status?.interfaces).toMatchObject([{ state: 'Attached' }]);
  });

  it('shows on the PodNetwork also where not even looking works, and is tried again', async () => {
    await agent.stop();
    await world.declare(name, { interfaces: [podInterface(2)] });
    {
      using _ = vi.spyOn(world.node.rule, 'list').mockImplementation(() => {
        throw new Error('The kernel does not say');
      });
      agent = world.startAgent();
      const told = { status: 'False', reason: 'InternalError', message: 'The kernel does not say' };
      await eventually(async () => expect(readyOf(await world.get(name))).toMatchObject(told));
    }
    await world.settled(name);
  });
});
