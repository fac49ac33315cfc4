/** The whole agent against a real API server and the real kernel: what is declared is so, whatever happens in between. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type PodNetwork, Unavailable, podNetworkKind } from '@podloom/api';
import { coreEvents, findCondition } from '@podloom/kube';
import type { Netns } from '@podloom/netlink';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type Agent, type World, linkNames, makeWorld, podInterface } from './world.ts';

const forwarding = 3; // BR_STATE_FORWARDING
const linkScope = 253; // RT_SCOPE_LINK

let world: World;
let agent: Agent;
let count = 0;
/** Each test has pods of its own on the one node. */
const newName = (): string => `pod-${(count += 1)}`;

beforeAll(async () => {
  world = await makeWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
afterEach(async () => {
  // One test's failure is not the next one's.
  const { items } = await world.client.list(podNetworkKind.resource);
  for (const { metadata } of items) await world.client.delete(podNetworkKind.resource, metadata.name ?? '');
  await vi.waitUntil(() => linkNames(world.node).every((name) => !name.includes('pc')), { timeout: 120_000 });
  await agent.stop();
});

const addressesOf = (netns: Netns, link: string): string[] =>
  netns.address
    .list({ link })
    .map(({ prefix }) => prefix)
    .filter((prefix) => !prefix.startsWith('fe80'));
const names = ({ status }: PodNetwork): { name: string; hostName: string } => {
  const { name = '', hostName = '' } = status?.interfaces?.[0] ?? {};
  return { name, hostName };
};
/** Kinds of the objects of this name that have an Event of this reason. */
const toldOn = async (name: string, reason: string): Promise<string[]> => {
  const { items } = await world.client.list(coreEvents);
  const told = items.filter((event) => event.involvedObject.name === name && event.reason === reason);
  return [...new Set(told.map(({ involvedObject }) => involvedObject.kind ?? ''))].toSorted();
};
const remove = async (...pods: string[]): Promise<void> => {
  for (const name of pods) await world.client.delete(podNetworkKind.resource, name);
};
const versionOf = async (name: string): Promise<string> => (await world.get(name)).metadata.resourceVersion ?? '';

async function attached(host: number): Promise<{ name: string; pid: number; network: PodNetwork }> {
  const name = newName();
  const pid = world.runtime.start(name);
  await world.declare(name, { interfaces: [podInterface(host)] });
  return { name, pid, network: await world.settled(name) };
}

/** Interfaces on one bridge, one of which has a route. */
const both = (hosts: readonly number[], routed: number) =>
  hosts.map((host, i) =>
    podInterface(host, {
      key: `PodConfig/nets/${i}`,
      namePrefix: `pc${i}`,
      routes: i === routed ? [{ to: '203.0.113.0/24' }] : [],
    }),
  );

/** Takes an address of the pod and returns when it is back: what the agent had heard of before, it has dealt with. */
async function repaired({ name, network }: { name: string; network: PodNetwork }, host: number): Promise<void> {
  const netns = world.runtime.netns(name);
  const link = names(network).name;
  netns.address.delete({ link, address: `192.168.100.${host}/24` });
  await eventually(() => expect(addressesOf(netns, link)).toContain(`192.168.100.${host}/24`));
  await eventually(async () => expect(await toldOn(name, 'DriftRepaired')).toEqual(['Pod', 'PodNetwork']));
}

describe('a pod', () => {
  it('whose PodNetwork is there before its first container is named by that container', async () => {
    agent = world.startAgent();
    const name = newName();
    await world.declare(name, { interfaces: [podInterface(2)] });
    await eventually(async () =>
      expect((await world.get(name)).status?.interfaces).toMatchObject([{ state: 'Pending' }]),
    );
    world.runtime.startSandbox(name);
    const other = await attached(3);
    await repaired(other, 3);
    expect(linkNames(world.runtime.netns(name)).toSorted()).toEqual(['eth0', 'lo']);
    const pid = await world.runtime.restartContainer(name);
    expect((await world.settled(name)).status).toMatchObject({ podPid: pid, networks: `pc0${pid}` });
  });

  it('gets what is declared, and the PodNetwork says so in one write', async () => {
    using applied = vi.spyOn(world.client, 'apply');
    agent = world.startAgent();
    const { name, pid, network } = await attached(2);
    const other = await attached(3);
    await repaired(other, 3);
    const statuses = applied.mock.calls.filter(
      ([, { metadata }, { subresource }]) => subresource === 'status' && metadata.name === name,
    );
    expect(statuses).toHaveLength(1);
    await remove(other.name);
    expect(network.status).toMatchObject({
      podPid: pid,
      networks: `pc0${pid}`,
      interfaces: [
        {
          name: `pc0${pid}`,
          hostName: `hpc0${pid}`,
          addresses: ['192.168.100.2/24', 'fd00:100::2/64'],
          bridgeDevice: 'pcbr0',
          state: 'Attached',
        },
      ],
    });
    expect(addressesOf(world.runtime.netns(name), `pc0${pid}`)).toEqual(['192.168.100.2/24', 'fd00:100::2/64']);
    expect(linkNames(world.node)).toEqual(expect.arrayContaining(['pcbr0', `hpc0${pid}`]));
    await remove(name);
    await eventually(() => expect(linkNames(world.node)).not.toContain('pcbr0'));
    expect(linkNames(world.runtime.netns(name)).toSorted()).toEqual(['eth0', 'lo']);
  });

  it('that starts after its PodNetwork is attached when it does', async () => {
    agent = world.startAgent();
    const name = newName();
    await world.declare(name, { interfaces: [podInterface(2)] });
    const waiting = await world.settled(name, false);
    expect(waiting.status?.interfaces).toMatchObject([{ state: 'Pending', reason: 'PodNotRunning' }]);
    const pid = world.runtime.start(name);
    expect(names(await world.settled(name)).name).toBe(`pc0${pid}`);
    await remove(name);
  });

  it('gains, changes and loses interfaces as its PodNetwork does', async () => {
    agent = world.startAgent();
    const { name, pid } = await attached(2);
    const netns = world.runtime.netns(name);
    const second = podInterface(5, {
      key: 'PodConfig/nets/1',
      namePrefix: 'pc1',
      bridge: { name: 'pcbr1', device: 'pcbr1', gateways: ['192.168.101.1/24'], home: 'node' },
      addresses: ['192.168.101.5/24'],
    });
    await world.declare(name, { interfaces: [podInterface(3), second] });
    await eventually(() => expect(addressesOf(netns, `pc0${pid}`)).toEqual(['192.168.100.3/24', 'fd00:100::3/64']));
    expect((await world.settled(name)).status?.networks).toBe(`pc0${pid},pc1${pid}`);
    await world.declare(name, { interfaces: [second] });
    await eventually(() => expect(linkNames(netns)).not.toContain(`pc0${pid}`));
    await eventually(() => expect(linkNames(world.node)).not.toContain('pcbr0'));
    expect((await world.settled(name)).status?.interfaces).toHaveLength(1);
    await world.declare(name, { interfaces: [] });
    await eventually(async () => expect((await world.get(name)).status?.interfaces ?? []).toEqual([]));
    expect(linkNames(netns).toSorted()).toEqual(['eth0', 'lo']);
    await remove(name);
  });

  it('whose interfaces swap addresses and a route has them so, and no failure is told on the way', async () => {
    agent = world.startAgent();
    const { name, pid } = await attached(2);
    const netns = world.runtime.netns(name);
    await world.declare(name, { interfaces: both([2, 3], 0) });
    await world.settled(name);
    await world.declare(name, { interfaces: both([3, 2], 1) });
    const { status } = await world.settled(name);
    expect(status?.interfaces?.map(({ state }) => state)).toEqual(['Attached', 'Attached']);
    expect(addressesOf(netns, `pc0${pid}`)).toEqual(['192.168.100.3/24', 'fd00:100::3/64']);
    expect(addressesOf(netns, `pc1${pid}`)).toEqual(['192.168.100.2/24', 'fd00:100::2/64']);
    expect([...(await toldOn(name, 'MacTaken')), ...(await toldOn(name, 'RouteTaken'))]).toEqual([]);
    await remove(name);
  });

  it('that comes together with another and asks for the same MAC says so, or the other does', async () => {
    const pods = [newName(), newName()];
    for (const [i, name] of pods.entries()) {
      world.runtime.start(name);
      await world.declare(name, { interfaces: [podInterface(2 + i, { macAddress: '02:00:00:00:00:aa' })] });
    }
    agent = world.startAgent();
    await eventually(async () => {
      const [a, b] = await Promise.all(pods.map((name) => world.get(name)));
      const states = [a, b].map((network) => network?.status?.interfaces?.[0]);
      expect(new Set(states.map((state) => state?.reason ?? state?.state))).toEqual(new Set(['Attached', 'MacTaken']));
    });
    await remove(...pods);
  });

  it("has its bridge follow when an MTU is asked for and when it is not any more, and calls that nobody else's", async () => {
    agent = world.startAgent({ driftPolicy: 'report' });
    const [{ name }, other] = [await attached(2), await attached(3)];
    const { bridge } = podInterface(2);
    const mtuBytes = 1400;
    const mtuOf = (): number | undefined => world.node.link.get('pcbr0').mtu;
    for (const [pod, host] of [
      [name, 2],
      [other.name, 3],
    ] as const) {
      await world.declare(pod, { interfaces: [podInterface(host, { bridge: { ...bridge!, mtuBytes } })] });
      await world.settled(pod);
    }
    await eventually(() => expect(mtuOf()).toBe(mtuBytes));
    await world.declare(name, { interfaces: [podInterface(2, { mtuBytes: 9000 })] });
    await world.settled(name);
    await world.declare(other.name, { interfaces: [podInterface(3, { mtuBytes: 9000 })] });
    await world.settled(other.name);
    await eventually(() => expect(mtuOf()).toBe(9000));
    expect(await toldOn(name, 'Drift')).toEqual([]);
    await remove(other.name);
    await remove(name);
  });

  it('keeps its links and names when its container restarts', async () => {
    agent = world.startAgent();
    const { name, pid, network } = await attached(2);
    const { index } = world.runtime.netns(name).link.get(`pc0${pid}`);
    const version = network.metadata.resourceVersion;
    await world.runtime.restartContainer(name);
    const other = await attached(3);
    expect(world.runtime.netns(name).link.get(`pc0${pid}`).index).toBe(index);
    expect(await versionOf(name)).toBe(version);
    await remove(name, other.name);
  });

  it('is attached again, under the same names, when its sandbox is made anew', async () => {
    agent = world.startAgent();
    const { name, network } = await attached(2);
    await world.runtime.recreate(name);
    await eventually(() => expect(linkNames(world.runtime.netns(name))).toContain(names(network).name));
    await eventually(async () => expect(names(await world.settled(name))).toEqual(names(network)));
    await remove(name);
  });

  it('of the host network is left alone, and told why', async () => {
    agent = world.startAgent();
    const name = newName();
    world.runtime.startOnNode(name);
    // The ends of pods that are gone go when the kernel finds the time.
    const present = (): string[] => linkNames(world.node).filter((link) => !link.startsWith('cni'));
    const before = present();
    await world.declare(name, { interfaces: [podInterface(2)] });
    const { status } = await world.settled(name, false);
    expect(findCondition(status?.conditions, 'Ready')?.reason).toBe('HostNetwork');
    expect(present()).toEqual(before);
    await remove(name);
  });

  it('has the MTU of its primary link changed and, when nobody asks any more, given back', async () => {
    agent = world.startAgent();
    const name = newName();
    world.runtime.start(name);
    const mtu = (): number | undefined => world.runtime.netns(name).link.get('eth0').mtu;
    const sources = [{ apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PodNetworkConfig', name: 'mtu' }];
    const sysctls = { 'net.ipv4.conf.arp_ignore': '1' };
    await world.declare(name, { primary: { interfaceName: 'eth0', mtuBytes: 1400, sysctls, sources } });
    await eventually(() => expect(mtu()).toBe(1400));
    const { status } = await world.settled(name);
    expect(status?.primary).toEqual({
      interfaceName: 'eth0',
      sandboxId: expect.any(String) as unknown,
      before: { mtuBytes: 1500, sysctls: { 'net.ipv4.conf.arp_ignore': '0' } },
      applied: { mtuBytes: 1400, sysctls },
    });
    expect(world.runtime.netns(name).sysctl.get('ipv4/conf/eth0/arp_ignore')).toBe('1');
    await world.declare(name, {});
    await eventually(() => expect(mtu()).toBe(1500));
    await eventually(async () => expect((await world.get(name)).status?.primary).toBeUndefined());
    await remove(name);
  });

  it('gets its primary link back also when the PodNetwork is deleted at once', async () => {
    agent = world.startAgent();
    const name = newName();
    world.runtime.start(name);
    const mtu = (): number | undefined => world.runtime.netns(name).link.get('eth0').mtu;
    await world.declare(name, { primary: { interfaceName: 'eth0', mtuBytes: 1300, sources: [] } });
    await world.settled(name);
    expect(mtu()).toBe(1300);
    await remove(name);
    await eventually(() => expect(mtu()).toBe(1500));
  });
});

describe('an agent that was away', () => {
  it('changes nothing that is right', async () => {
    agent = world.startAgent();
    const { name, pid, network } = await attached(2);
    const { index } = world.node.link.get(`hpc0${pid}`);
    await agent.stop();
    agent = world.startAgent();
    const other = await attached(3);
    expect(world.node.link.get(`hpc0${pid}`).index).toBe(index);
    expect(await versionOf(name)).toBe(network.metadata.resourceVersion);
    await remove(name, other.name);
  });

  it('removes what belongs to nobody any more, and nothing that is not ours', async () => {
    agent = world.startAgent();
    const { name, pid } = await attached(2);
    await agent.stop();
    world.node.link.add({ kind: 'bridge', name: 'foreign' });
    await remove(name);
    agent = world.startAgent();
    await eventually(() => expect(linkNames(world.node)).not.toContain('pcbr0'));
    expect(linkNames(world.node)).not.toContain(`hpc0${pid}`);
    expect(linkNames(world.node)).toContain('foreign');
    expect(world.node.rule.list().filter(({ protocol }) => protocol === 149)).toEqual([]);
    world.node.link.delete('foreign');
  });

  it('waits for the one before it, which was forced away and has its port', async () => {
    const former = createServer().listen(0, '::');
    await once(former, 'listening');
    agent = world.startAgent({ port: (former.address() as AddressInfo).port });
    const waiting = 'The port is taken, waiting for the agent before this one to end';
    await eventually(() => expect(agent.log.map(({ msg }) => msg)).toContain(waiting));
    former.close();
    await attached(2);
  });

  it('removes nothing while the API server is away', async () => {
    agent = world.startAgent();
    const { name, pid } = await attached(2);
    await agent.stop();
    const indexes = (): number[] => [`hpc0${pid}`, 'pcbr0'].map((link) => world.node.link.get(link).index);
    const before = indexes();
    await world.controlPlane.killApiServer();
    agent = world.startAgent();
    await eventually(() => expect(agent.log.map(({ msg }) => msg)).toContain('Lost watch, will resume'));
    // Whoever changes a bridge has the node looked at as a whole.
    world.node.address.add({ link: 'pcbr0', address: '192.168.100.99/24' });
    await world.controlPlane.startApiServer();
    await eventually(() => expect(addressesOf(world.node, 'pcbr0')).not.toContain('192.168.100.99/24'));
    const other = await attached(3);
    expect(indexes()).toEqual(before);
    await remove(name, other.name);
    await eventually(() => expect(linkNames(world.node)).not.toContain('pcbr0'));
  });
});

describe('what someone changes by hand', () => {
  it.each<[string, (pod: Netns, pod0: string, port: string) => void]>([
    ['a link removed from the pod', (pod, link) => pod.link.delete(link)],
    ['a link removed from the node', (_, __, port) => world.node.link.delete(port)],
    ['an address removed', (pod, link) => pod.address.delete({ link, address: '192.168.100.2/24' })],
    ['an address added', (pod, link) => pod.address.add({ link, address: '192.168.100.99/24' })],
    ['a MAC changed', (pod, link) => pod.link.set(link, { address: '02:00:00:00:00:01' })],
    ['a link taken down', (pod, link) => pod.link.set(link, { up: false })],
    ['a port taken off its bridge', (_, __, port) => world.node.link.set(port, { master: 0 })],
    ['port flags', (_, __, port) => world.node.link.set(port, { portKind: 'bridge', port: { flood: true } })],
    ['the bridge removed', () => world.node.link.delete('pcbr0')],
    ['the gateway address removed', () => world.node.address.delete({ link: 'pcbr0', address: '192.168.100.1/24' })],
    ['a route of the bridge removed', () => removeRoute(world.node)],
    ['a rule of the bridge removed', () => world.node.rule.delete({ iif: 'pcbr0', priority: 4901 })],
    ['the port filter removed', (_, __, port) => world.node.qdisc.delete({ link: port, kind: 'clsact' })],
  ])('is mended: %s', async (_, change) => {
    agent = world.startAgent();
    const { name, network } = await attached(2);
    const pod = world.runtime.netns(name);
    const { name: link, hostName } = names(network);
    const shape = (): unknown => [
      addressesOf(pod, link),
      pod.link.get(link).address,
      pod.link.get(link).up,
      world.node.link.get(hostName).master === world.node.link.get('pcbr0').index,
      world.node.link.get(hostName).port,
      addressesOf(world.node, 'pcbr0'),
      world.node.route.list({ protocol: 149 }).map(({ dst }) => dst),
      world.node.rule.list().map(({ priority, iif }) => [priority, iif]),
      world.node.filter.list({ link: hostName, parent: 'ingress' }).length,
      world.node.fdb.list({ link: hostName }).filter(({ flags }) => flags === 64).length,
    ];
    const stable = (): unknown =>
      JSON.parse(
        JSON.stringify(shape(), (key, value: unknown) =>
          key.endsWith('Timer') || key === 'number' || key === 'id' || key === 'designatedPort' ? undefined : value,
        ),
      );
    // A port forwards when the kernel has noticed that its other end is up.
    await eventually(() => expect(world.node.link.get(hostName).port).toMatchObject({ state: forwarding }));
    const before = stable();
    change(pod, link, hostName);
    expect(() => expect(stable()).toEqual(before)).toThrow(/deeply equal|ENODEV/);
    await eventually(() => expect(stable()).toEqual(before));
    await remove(name);
    await eventually(() => expect(linkNames(world.node)).not.toContain('pcbr0'));
  });

  it.each<[string, (pod: Netns, link: string) => void]>([
    ['in the pod', (pod, link) => pod.address.delete({ link, address: '192.168.100.2/24' })],
    ['on the node', (_, link) => world.node.link.set(`h${link}`, { up: false })],
  ])('is mended also where it was changed right after something else was: %s', async (_, change) => {
    agent = world.startAgent();
    const { name, network } = await attached(2);
    const pod = world.runtime.netns(name);
    const { name: link, hostName } = names(network);
    const isWhole = (): void => {
      expect(addressesOf(pod, link).toSorted()).toEqual(['192.168.100.2/24', 'fd00:100::2/64']);
      expect(world.node.link.get(hostName)).toMatchObject({ up: true, master: world.node.link.get('pcbr0').index });
    };
    // What the kernel does with a new link by itself is over when it has its last address.
    await eventually(() => expect(pod.address.list({ link }).map(({ scope }) => scope)).toContain(linkScope));
    await eventually(isWhole);
    const replace = world.node.fdb.replace.bind(world.node.fdb);
    using last = vi.spyOn(world.node.fdb, 'replace').mockImplementationOnce((entry) => {
      replace(entry); // the last step of mending a port
      change(pod, link);
    });
    world.node.link.set(hostName, { master: 0 });
    await eventually(() => expect(last).toHaveBeenCalled());
    await eventually(isWhole);
    await remove(name);
  });

  it('shows as an Event of the pod and of its PodNetwork', async () => {
    agent = world.startAgent();
    const { name, network } = await attached(2);
    world.runtime.netns(name).link.delete(names(network).name);
    await eventually(async () => expect(await toldOn(name, 'DriftRepaired')).toEqual(['Pod', 'PodNetwork']));
    await remove(name);
  });

  it('is only reported where the policy says so', async () => {
    agent = world.startAgent({ driftPolicy: 'report' });
    const { name, network } = await attached(2);
    const netns = world.runtime.netns(name);
    netns.address.delete({ link: names(network).name, address: '192.168.100.2/24' });
    const { status } = await world.settled(name, false);
    expect(status?.interfaces).toMatchObject([{ state: 'Failed', reason: 'Drift' }]);
    expect(status?.interfaces?.[0]?.message).toContain('ip addr add 192.168.100.2/24');
    expect(addressesOf(netns, names(network).name)).toEqual(['fd00:100::2/64']);
    await world.declare(name, { interfaces: [podInterface(4)] });
    expect((await world.settled(name)).status?.interfaces).toMatchObject([{ state: 'Attached' }]);
    await remove(name);
  });
});

describe('what someone changes while the agent is away', () => {
  const address = '192.168.100.2/24';

  it.each([
    ['is only reported where the policy says so', 'report', 'Drift'],
    ['is mended, and told', 'repair', 'DriftRepaired'],
  ] as const)('%s', async (_, driftPolicy, reason) => {
    agent = world.startAgent({ driftPolicy });
    const { name, network } = await attached(2);
    await agent.stop();
    const [netns, { name: link }] = [world.runtime.netns(name), names(network)];
    netns.address.delete({ link, address });
    agent = world.startAgent({ driftPolicy });
    await eventually(async () => expect(await toldOn(name, reason)).toEqual(['Pod', 'PodNetwork']));
    await world.settled(name, driftPolicy === 'repair');
    expect(addressesOf(netns, link).includes(address)).toBe(driftPolicy === 'repair');
    await remove(name);
  });
});

describe('a runtime that does not answer', () => {
  it('shows on the PodNetwork, which is attached when it does', async () => {
    const name = newName();
    world.runtime.start(name);
    {
      const silent = new Unavailable('CRI_UNAVAILABLE', 'The container runtime does not answer');
      using _ = vi.spyOn(world.runtime.cri, 'sandboxes').mockRejectedValue(silent);
      agent = world.startAgent();
      await world.declare(name, { interfaces: [podInterface(2)] });
      await eventually(async () =>
        expect(findCondition((await world.get(name)).status?.conditions, 'Ready')).toMatchObject({
          status: 'False',
          reason: 'NodeUnavailable',
          message: 'The container runtime does not answer',
        }),
      );
    }
    await world.settled(name);
    await remove(name);
  });
});

describe('what the kernel refuses', () => {
  it('shows with its own words, and is mended by the next wish', async () => {
    agent = world.startAgent();
    const name = newName();
    world.runtime.start(name);
    const routes = [{ to: '203.0.113.0/24', via: '198.51.100.1' }];
    await world.declare(name, { interfaces: [podInterface(2, { routes })] });
    const { status } = await world.settled(name, false);
    expect(status?.interfaces).toMatchObject([{ state: 'Failed', reason: 'KernelRefused' }]);
    expect(status?.interfaces?.[0]?.message).toContain('Nexthop has invalid gateway');
    await eventually(async () => expect(await toldOn(name, 'KernelRefused')).toContain('PodNetwork'));
    await world.declare(name, { interfaces: [podInterface(2)] });
    await world.settled(name);
    await remove(name);
  });
});

it('writes nothing while nothing changes, and says what it did in its metrics', async () => {
  agent = world.startAgent();
  const { name } = await attached(2);
  const { name: other } = await attached(3);
  const before = [await versionOf(name), await versionOf(other)];
  for (const pod of [name, other]) {
    // News that mean nothing: a foreign link comes and goes in the pod.
    world.runtime.netns(pod).link.add({ kind: 'bridge', name: 'mine' });
    world.runtime.netns(pod).link.delete('mine');
  }
  const last = await attached(4);
  await repaired(last, 4);
  expect([await versionOf(name), await versionOf(other)]).toEqual(before);
  // They are counted in the cache, which hears of our own writes, too, a little later.
  await eventually(async () => {
    expect(await agent.metrics.text()).toMatch(/podloom_attachments\{state="Attached"\} 3/);
    expect(await agent.metrics.text()).toContain('podloom_agent_attach_seconds_count 3');
  });
  await remove(name, other, last.name);
});

function removeRoute(node: Netns): void {
  const route = node.route.list({ protocol: 149 }).find(({ dst }) => dst === '192.168.100.0/24');
  if (route) node.route.delete({ dst: route.dst, table: route.table });
}
