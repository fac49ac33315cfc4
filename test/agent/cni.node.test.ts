/** CNI plugins by the whole agent: the real bridge, host-local and static, in pods that run. What fails is in packages/agent/src/cni. */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type PodNetwork, podNetworkKind } from '@podloom/api';
import { binaries } from '@podloom/local';
import { linkGroup } from '@podloom/network';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Agent, type World, linkNames, makeWorld } from './world.ts';

let world: World;
let agent: Agent;
let folder = '';
let binPath = '';
let count = 0;
const bridge = 'pl0123456789ab';

beforeAll(async () => {
  const built = await binaries({ modules: ['node'] });
  binPath = dirname(built.path('bridge'));
  world = await makeWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-cni-'));
  agent = start();
});
afterEach(async () => {
  const all = await world.client.list(podNetworkKind.resource);
  for (const { metadata } of all.items) await world.client.delete(podNetworkKind.resource, metadata.name ?? '');
  const isClean = async () => (await journal()).length === 0 && !linkNames(world.node).includes(bridge);
  try {
    await vi.waitUntil(isClean, { timeout: 120_000 });
  } finally {
    // Also where something is left: two agents would fight over the pods of the next test.
    await agent.stop();
  }
  await rm(folder, { recursive: true });
});

const eventually = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 120_000, interval: 10 });
const start = (settings = {}): Agent =>
  world.startAgent({
    cniAllowedPlugins: 'bridge,host-local,static',
    cniBinPath: binPath,
    cniStatePath: join(folder, 'state'),
    ...settings,
  });
const journal = (): Promise<string[]> => namesIn(join(folder, 'state'));
const leases = async (): Promise<string[]> =>
  (await namesIn(join(folder, 'ipam/data'))).filter((name) => name.startsWith('10.9.'));

async function namesIn(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

const newPod = (): string => {
  const name = `cni-${(count += 1)}`;
  world.runtime.start(name);
  return name;
};
const hostLocal = () => ({ type: 'host-local', dataDir: join(folder, 'ipam'), ranges: [[{ subnet: '10.9.0.0/24' }]] });
const plugin = (ipam: object, more: object = {}) => ({ type: 'bridge', bridge, mtu: 1400, ipam, ...more });
const declare = (name: string, plugins: readonly object[], more: object = {}) =>
  world.declare(name, {
    interfaces: [
      {
        key: 'NetworkAttachmentDefinition/data/0',
        name: 'net1',
        source: { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'data' },
        link: { type: 'veth' },
        addresses: [],
        routes: [],
        cni: { config: JSON.stringify({ cniVersion: '1.0.0', name: 'data', plugins }), ...more },
      },
    ],
  });
const addressesIn = (name: string): string[] => {
  const netns = world.runtime.netns(name);
  const link = netns.link.list().find((one) => one.name === 'net1');
  return netns.address
    .list()
    .filter(({ index, family }) => index === link?.index && family === 2)
    .map(({ prefix }) => prefix);
};
const interfaceOf = ({ status }: PodNetwork) => status?.interfaces?.[0];

it('gives a pod an interface with an address, and takes both back', async () => {
  const name = newPod();
  await declare(name, [plugin(hostLocal())]);
  const made = await world.settled(name);
  const { address } = world.runtime.netns(name).link.get('net1');
  expect(interfaceOf(made)).toMatchObject({
    name: 'net1',
    state: 'Attached',
    addresses: ['10.9.0.2/24'],
    macAddress: address,
  });
  expect(made.status?.networks).toBe('net1');
  expect(addressesIn(name)).toEqual(['10.9.0.2/24']);
  expect(await leases()).toEqual(['10.9.0.2']);
  expect(world.node.link.get(bridge)).toMatchObject({ kind: 'bridge', group: linkGroup });

  await world.declare(name, {});
  await eventually(() => expect(linkNames(world.runtime.netns(name))).not.toContain('net1'));
  await eventually(async () => expect([await leases(), await journal()]).toEqual([[], []]));
  await eventually(() => expect(linkNames(world.node)).not.toContain(bridge));
});

it('makes what was changed anew, with the text that it was made by before', async () => {
  const name = newPod();
  await declare(name, [plugin(hostLocal())]);
  await world.settled(name);
  const addresses = { type: 'static', addresses: [{ address: '10.8.0.7/24' }] };
  await declare(name, [plugin(addresses)]);
  await eventually(() => expect(addressesIn(name)).toEqual(['10.8.0.7/24']));
  expect(await leases()).toEqual([]);
  expect(interfaceOf(await world.settled(name))).toMatchObject({ state: 'Attached', addresses: ['10.8.0.7/24'] });
});

it('gives a plugin the addresses and the MAC that the element asks for', async () => {
  const name = newPod();
  const capabilities = { ips: ['10.8.0.9/24'], mac: '02:00:00:00:00:09' };
  await declare(name, [plugin({ type: 'static' }, { capabilities: { ips: true, mac: true } })], { capabilities });
  expect(interfaceOf(await world.settled(name))).toMatchObject({
    macAddress: '02:00:00:00:00:09',
    addresses: ['10.8.0.9/24'],
  });
  expect(world.runtime.netns(name).link.get('net1').address).toBe('02:00:00:00:00:09');
});

it('makes an interface anew that somebody removed', async () => {
  const name = newPod();
  await declare(name, [plugin(hostLocal())]);
  await world.settled(name);
  const netns = world.runtime.netns(name);
  const { index } = netns.link.get('net1');
  netns.link.delete('net1');
  await eventually(() => expect(netns.link.get('net1').index).not.toBe(index));
  await eventually(async () => expect(await leases()).toHaveLength(1));
});

it('refuses a plugin that the node does not allow, and nothing else of the pod', async () => {
  const name = newPod();
  await declare(name, [{ type: 'macvlan', master: 'eth0' }]);
  await eventually(async () => {
    expect(interfaceOf(await world.get(name))).toMatchObject({ state: 'Failed', reason: 'PluginNotAllowed' });
  });
  expect(linkNames(world.runtime.netns(name))).not.toContain('net1');
});

describe('while no agent runs', () => {
  it('a pod and its PodNetwork end: the next agent releases what they had', async () => {
    const name = newPod();
    await declare(name, [plugin(hostLocal())]);
    await world.settled(name);
    await agent.stop();
    await world.runtime.stop(name);
    await world.client.delete(podNetworkKind.resource, name);
    expect(await leases()).toEqual(['10.9.0.2']);
    agent = start();
    await eventually(async () => expect([await leases(), await journal()]).toEqual([[], []]));
  });

  it('nothing changes: the next agent leaves it as it is', async () => {
    const name = newPod();
    await declare(name, [plugin(hostLocal())]);
    await world.settled(name);
    const { index } = world.runtime.netns(name).link.get('net1');
    const [file] = await journal();
    const before = await readFile(join(folder, 'state', file!), 'utf8');
    await agent.stop();
    agent = start();
    // Something else, so that it is known when the agent has looked.
    const { interfaces } = (await world.get(name)).spec;
    await world.declare(name, { interfaces, primary: { interfaceName: 'eth0', mtuBytes: 1400, sources: [] } });
    await world.settled(name);
    expect(world.runtime.netns(name).link.get('net1').index).toBe(index);
    expect(await readFile(join(folder, 'state', file!), 'utf8')).toBe(before);
  });
});

it('ends with no lease, link or entry left of many pods that come and go at once', async () => {
  const names = Array.from({ length: 20 }, newPod);
  await Promise.all(names.map((name) => declare(name, [plugin(hostLocal())])));
  await Promise.all(names.map((name) => world.settled(name)));
  expect(await leases()).toHaveLength(20);
  await Promise.all(names.map((name) => world.client.delete(podNetworkKind.resource, name)));
  await Promise.all(names.map((name) => world.runtime.stop(name)));
  await eventually(async () => expect([await leases(), await journal()]).toEqual([[], []]));
  await eventually(() => expect(linkNames(world.node)).not.toContain(bridge));
});
