/** What two objects cannot both have, and what a namespace may not have. */
import {
  type Kind,
  type KubeObject,
  Unavailable,
  additionalNetworkKind,
  bridgeKind,
  networkGrantKind,
  podConfigKind,
  podNetworkConfigKind,
  podNetworkKind,
  primaryNetworkKind,
} from '@podloom/api';
import { namespaces, nodes, serviceCidrs } from '@podloom/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type World, eventsOf, world } from './world.ts';

const config = async ({ client, namespace }: World, name: string, spec: object): Promise<void> => {
  const object = { metadata: { name, namespace }, spec } as never;
  await client.create(podNetworkConfigKind.resource, object, { namespace });
};

/**
 * A status that was just written has its object looked at once more. One of the same kind that is made now has its own look, and so its status, after
 * that: what is told then has another cause.
 */
async function settled({ client, namespace }: World, { resource }: Kind, spec: object): Promise<void> {
  const metadata = { generateName: 'later-', namespace };
  const { name = '' } = (await client.create<KubeObject>(resource, { metadata, spec }, { namespace })).metadata;
  await eventually(async () => {
    expect((await client.get<KubeObject>(resource, name, { namespace })).status).toBeDefined();
  });
}

const linksOf = async (w: World) => (await w.networks()).flatMap(({ spec }) => spec.interfaces);

describe('two objects that want the same', () => {
  it('both show it, the older has it, and the younger gets it when the older goes', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('older', [{ name: 'net0', master: 'br0', cidr: '10.80.0.0/24' }]);
    // Ages are whole seconds; within one second kind and name decide.
    const madeMs = Date.parse((await w.getConfig('older'))?.metadata.creationTimestamp ?? '');
    await eventually(() => expect(Date.now()).toBeGreaterThan(madeMs + 1_000));
    await config(w, 'younger', { additionalNetworks: [{ networkName: 'net0', master: 'br9', cidr: '10.89.0.0/24' }] });
    await w.pod('a', { podconfig: 'older', podNetworkConfig: 'younger' });
    await eventually(async () =>
      expect((await w.networkOf('a'))?.spec).toMatchObject({
        interfaces: [{ addresses: ['10.80.0.2/24'] }],
        waiting: [{ source: { kind: 'PodNetworkConfig', name: 'younger' }, reason: 'InterfaceConflict' }],
      }),
    );
    const { client, namespace } = w;
    await eventually(async () => {
      const younger = await client.get(podNetworkConfigKind.resource, 'younger', { namespace });
      expect(younger.status).toMatchObject({ phase: 'configuring', PodNetworkConfigs: [] });
      expect(younger.status?.conditions).toMatchObject([
        { type: 'Ready', status: 'False', reason: 'InterfaceConflict' },
        { type: 'Conflict', status: 'True' },
      ]);
      const older = await w.getConfig('older');
      expect(older?.status?.conditions).toMatchObject([
        { type: 'Ready', status: 'True' },
        { type: 'Conflict', status: 'True', message: expect.stringContaining('PodNetworkConfig younger') },
      ]);
      for (const name of ['a', 'older', 'younger']) {
        expect(await eventsOf(client, namespace, name)).toContain('InterfaceConflict');
      }
    });
    await w.removeConfig('older');
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.89.0.2/24']));
    await eventually(async () => {
      const younger = await client.get(podNetworkConfigKind.resource, 'younger', { namespace });
      expect(younger.status?.phase).toBe('configured');
      expect(younger.status?.conditions).toHaveLength(1);
      expect(await w.getConfig('older')).toBeUndefined();
    });
  });

  it('both show it, be it a route, an address or the MTU of a bridge', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const make = (kind: Kind, name: string, spec: object) =>
      client.create<KubeObject>(kind.resource, { metadata: { name, namespace }, spec }, { namespace });
    const link = (name: string, bridge: string, cidr: string, more: object) =>
      make(additionalNetworkKind, name, { podSelector: {}, name, bridge, cidr, ...more });
    const to = '198.51.100.0/24';
    // Made in the order of their names, which decides within one second.
    await link('route-1', 'br1', '10.71.0.0/24', { routes: [{ to, via: '10.71.0.1' }] });
    await link('route-2', 'br2', '10.72.0.0/24', { routes: [{ to, via: '10.72.0.1' }] });
    await link('same-1', 'br3', '10.73.0.0/24', { addresses: ['10.73.0.9'] });
    await link('same-2', 'br3', '10.73.0.0/24', { addresses: ['10.73.0.9'] });
    await make(bridgeKind, 'size-1', { name: 'br4', mtu: 1400 });
    await make(bridgeKind, 'size-2', { name: 'br4', mtu: 1300 });
    await w.pod('a');
    for (const [kind, name, reason] of [
      [additionalNetworkKind, 'route', 'RouteConflict'],
      [additionalNetworkKind, 'same', 'AddressConflict'],
      [bridgeKind, 'size', 'BridgeConflict'],
    ] as const) {
      const [winner, loser] = [`${kind.kind} ${name}-1`, `${kind.kind} ${name}-2`];
      const lost = { reason, message: expect.stringContaining(`from ${winner};`) };
      const won = { reason, message: expect.stringContaining(`${loser} asks for what this object has`) };
      const get = (which: string) => client.get<KubeObject>(kind.resource, which, { namespace });
      await eventually(async () => {
        expect((await get(`${name}-2`)).status).toMatchObject({
          conditions: [
            { type: 'Ready', status: 'False', ...lost },
            { type: 'Conflict', status: 'True', ...lost },
          ],
        });
        expect((await get(`${name}-1`)).status).toMatchObject({
          conditions: [
            { type: 'Ready', status: 'True' },
            { type: 'Conflict', status: 'True', ...won },
          ],
        });
      });
    }
    expect((await w.networkOf('a'))?.spec.interfaces.map(({ name }) => name)).toEqual(['route-1', 'same-1']);
  });
});

describe('an object that loses one thing and wins another', () => {
  it('shows both', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const madeBefore = async (name: string): Promise<void> => {
      const { metadata } = await client.get(podNetworkConfigKind.resource, name, { namespace });
      const madeMs = Date.parse(metadata.creationTimestamp ?? '');
      await eventually(() => expect(Date.now()).toBeGreaterThan(madeMs + 1_000));
    };
    await config(w, 'first', { additionalNetworks: [{ networkName: 'n', master: 'br0', cidr: '10.85.0.0/24' }] });
    await madeBefore('first');
    await config(w, 'two', {
      eth0: { mtu: 1400 },
      additionalNetworks: [{ networkName: 'm', master: 'br0', cidr: '10.86.0.0/24' }],
    });
    await madeBefore('two');
    const spec = { podSelector: {}, interfaceName: 'eth0', mtuBytes: 1300 };
    await client.create(primaryNetworkKind.resource, { metadata: { name: 'prim', namespace }, spec }, { namespace });
    await w.pod('a', { podNetworkConfig: 'two' });
    await eventually(async () => {
      const { status } = await client.get(podNetworkConfigKind.resource, 'two', { namespace });
      const conflict = status?.conditions?.find(({ type }) => type === 'Conflict')?.message;
      expect(conflict).toMatch(/PodNetworkConfig first.*PrimaryNetwork prim/);
    });
    await w.relabel('a', { podNetworkConfig: null });
    await client.delete(primaryNetworkKind.resource, 'prim', { namespace });
    await eventually(async () => expect(await eventsOf(client, namespace, 'a')).toContain('Detached'));
  });
});

describe('a bridge that two objects want otherwise', () => {
  it('is lost by the younger, without any pod, until the older goes', async () => {
    const w = await world();
    await w.operator();
    await w.agent();
    await w.config('a', [{ name: 'pc0', master: 'br0', cidr: '10.87.0.0/24' }]);
    await w.pod('a', { podconfig: 'a' });
    await eventually(async () => expect((await w.getConfig('a'))?.status?.phase).toBe('configured'));
    await settled(w, podConfigKind, {});
    const conflict = { type: 'Conflict', status: 'True', reason: 'BridgeConflict' };
    await w.config('b', [{ name: 'pc0', master: 'br0', cidr: '10.88.0.0/24' }]);
    await eventually(async () => {
      expect((await w.getConfig('b'))?.status?.conditions).toMatchObject([{ reason: 'BridgeConflict' }, conflict]);
      expect((await w.getConfig('a'))?.status?.conditions).toMatchObject([{ status: 'True' }, conflict]);
    });
    await settled(w, podConfigKind, {});
    await w.removeConfig('a');
    await eventually(async () => {
      expect((await w.getConfig('b'))?.status?.conditions).toMatchObject([{ type: 'Ready', reason: 'NoPods' }]);
    });
  });

  it('is shown by both Bridges, and by none when one asks for another', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    const bridge = (name: string, spec: object) =>
      client.apply(bridgeKind.resource, { metadata: { name, namespace }, spec }, { fieldManager: 'tenant', namespace });
    const get = (name: string) => client.get(bridgeKind.resource, name, { namespace });
    const conflictsOf = async (name: string): Promise<string[]> => {
      const { status } = await get(name);
      return (status?.conditions ?? []).filter(({ type }) => type === 'Conflict').map(({ reason }) => reason);
    };
    await bridge('a', { name: 'br0', cidr: '10.87.0.0/24' });
    await eventually(async () => expect((await get('a')).status?.phase).toBe('configured'));
    await settled(w, bridgeKind, { name: 'br9' });
    await bridge('b', { name: 'br0', cidr: '10.88.0.0/24' });
    await eventually(async () => {
      expect([await conflictsOf('a'), await conflictsOf('b')]).toEqual([['BridgeConflict'], ['BridgeConflict']]);
    });
    await settled(w, bridgeKind, { name: 'br9' });
    await bridge('a', { name: 'br1', cidr: '10.87.0.0/24' });
    await eventually(async () => expect([await conflictsOf('a'), await conflictsOf('b')]).toEqual([[], []]));
  });
});

describe('a namespace', () => {
  it("may not use ranges of the cluster, nor of a node's pods", async () => {
    const w = await world();
    await w.client.patch(
      nodes,
      w.node,
      { spec: { podCIDR: '10.244.7.0/24', podCIDRs: ['10.244.7.0/24'] } },
      { type: 'merge' },
    );
    await w.operator({ settings: { reservedCidrs: '10.96.0.0/12' } });
    await w.agent();
    await w.config('services', [{ name: 'pc0', master: 'br0', cidr: '10.100.1.0/24' }]);
    await w.config('pods', [{ name: 'pc0', master: 'br1', cidr: '10.244.0.0/16' }]);
    await w.pod('a', { podconfig: 'services' });
    await w.pod('b', { podconfig: 'pods' });
    for (const name of ['services', 'pods']) {
      await eventually(async () => {
        expect((await w.getConfig(name))?.status?.conditions?.[0]).toMatchObject({
          status: 'False',
          reason: 'RangeReserved',
        });
      });
    }
    expect([await linksOf(w), await w.used()]).toEqual([[], 0]);
  });

  it('may not use what the cluster says of itself: Services, addresses of nodes, and pod ranges from when they are known', async () => {
    const w = await world();
    const [services] = (await w.client.list(serviceCidrs)).items.flatMap(({ spec }) => spec?.cidrs ?? []);
    const addresses = [{ type: 'InternalIP', address: '10.83.1.9' }];
    await w.client.patch(nodes, w.node, { status: { addresses } }, { type: 'merge', subresource: 'status' });
    await w.operator();
    await w.agent();
    for (const [name, cidr] of [
      ['services', services],
      ['nodes', '10.83.0.0/16'],
      ['pods', '10.84.0.0/24'],
    ]) {
      await w.config(name!, [{ name: 'pc0', master: `br-${name}`, cidr }]);
      await w.pod(name!, { podconfig: name! });
    }
    const isRefused = (name: string): Promise<void> =>
      eventually(async () => {
        expect((await w.getConfig(name))?.status?.conditions?.[0]).toMatchObject({ reason: 'RangeReserved' });
      });
    await isRefused('services');
    await isRefused('nodes');
    await eventually(async () => expect((await w.getConfig('pods'))?.status?.phase).toBe('configured'));
    await w.client.patch(nodes, w.node, { spec: { podCIDRs: ['10.84.0.0/16'] } }, { type: 'merge' });
    await isRefused('pods');
    await eventually(async () => expect([await linksOf(w), await w.used()]).toEqual([[], 0]));
  });

  it('may not use the ranges of Services, however long they take to read and whenever they come', async () => {
    const w = await world();
    let toFail = 2;
    const wrap = (client: World['client']): World['client'] =>
      new Proxy(client, {
        get(target, name, receiver) {
          if (name !== 'list') return Reflect.get(target, name, receiver) as unknown;
          const list: typeof client.list = async (resource, options) => {
            if (resource.plural !== 'servicecidrs' || toFail === 0) return await target.list(resource, options);
            toFail -= 1;
            throw new Unavailable('TEST', 'The server is away');
          };
          return list;
        },
      });
    await w.operator({ wrap });
    await w.agent();
    const [services] = (await w.client.list(serviceCidrs)).items.flatMap(({ spec }) => spec?.cidrs ?? []);
    const isRefused = (name: string): Promise<void> =>
      eventually(async () => {
        expect((await w.getConfig(name))?.status?.conditions?.[0]).toMatchObject({ reason: 'RangeReserved' });
      });
    await w.config('services', [{ name: 'pc0', master: 'br0', cidr: services }]);
    await w.pod('a', { podconfig: 'services' });
    await isRefused('services');
    expect(toFail).toBe(0);
    await w.config('later', [{ name: 'pc0', master: 'br1', cidr: '10.77.1.0/24' }]);
    await w.pod('b', { podconfig: 'later' });
    await eventually(async () => expect((await w.getConfig('later'))?.status?.phase).toBe('configured'));
    const more = { metadata: { name: w.namespace }, spec: { cidrs: ['10.77.0.0/16'] } };
    await w.client.create(serviceCidrs, more);
    onTestFinished(() => w.client.delete(serviceCidrs, w.namespace));
    await isRefused('later');
  });

  it('takes no name and no bridge from a younger object with what it may not have', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const make = (kind: Kind, name: string, spec: object) =>
      client.create<KubeObject>(kind.resource, { metadata: { name, namespace }, spec }, { namespace });
    const link = { podSelector: {}, name: 'net1', bridge: 'br0' };
    // Made in the order of their names, which decides within one second.
    await make(additionalNetworkKind, 'a', { ...link, cidr: '8.8.8.0/24' });
    await make(additionalNetworkKind, 'b', { ...link, cidr: '10.82.0.0/24' });
    await make(bridgeKind, 'unused', { name: 'br9', cidr: '8.8.8.0/24' });
    await w.pod('a');
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['10.82.0.2/24']));
    const reasonsOf = async (kind: Kind, name: string): Promise<unknown> => {
      const { status } = await client.get<KubeObject>(kind.resource, name, { namespace });
      return (status as { conditions?: { reason: string }[] } | undefined)?.conditions?.map(({ reason }) => reason);
    };
    await eventually(async () => {
      expect(await reasonsOf(additionalNetworkKind, 'a')).toEqual(['NotGranted']);
      expect(await reasonsOf(additionalNetworkKind, 'b')).toEqual(['Configured']);
      expect(await reasonsOf(bridgeKind, 'unused')).toEqual(['NotGranted']);
    });
    const grant = { namespaces: { names: [namespace] }, cidrs: ['8.8.8.0/24'] };
    await client.create(networkGrantKind.resource, { metadata: { name: namespace }, spec: grant });
    onTestFinished(() => client.delete(networkGrantKind.resource, namespace));
    await eventually(async () => expect(await w.addressesOf('a')).toEqual(['8.8.8.2/24']));
    await eventually(async () => {
      expect(await reasonsOf(additionalNetworkKind, 'a')).toEqual(['Configured', 'BridgeConflict']);
      expect(await reasonsOf(additionalNetworkKind, 'b')).toEqual(['BridgeConflict', 'BridgeConflict']);
      expect(await reasonsOf(bridgeKind, 'unused')).toEqual(['NoPods']);
    });
  });

  it('may use a device of the nodes only with a grant, and from when it is given', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'mv0', linkType: 'macvlan', parent: 'eth1', cidr: '10.81.0.0/24' }]);
    await w.pod('a', { podconfig: 'c' });
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({
        status: 'False',
        reason: 'NotGranted',
      });
    });
    await eventually(async () => {
      expect((await w.networkOf('a'))?.spec).toMatchObject({ interfaces: [], waiting: [{ reason: 'NotGranted' }] });
    });
    const grant = { metadata: { name: namespace }, spec: { namespaces: { names: [namespace] }, devices: ['eth1'] } };
    await client.create(networkGrantKind.resource, grant);
    await eventually(async () => {
      expect((await w.networkOf('a'))?.spec.interfaces).toMatchObject([
        { link: { type: 'macvlan', parent: 'eth1' }, addresses: [] },
      ]);
    });
    expect(await w.pools()).toEqual([]);
    await client.delete(networkGrantKind.resource, namespace);
    await eventually(async () => expect((await w.networkOf('a'))?.spec.interfaces).toEqual([]));
    await w.removeConfig('c');
    await eventually(async () => expect(await w.networkOf('a')).toBeUndefined());
  });

  it('may set what concerns its neighbours on a primary link only with a grant, and only as long as it has it', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const sysctls = { 'net.ipv4.conf.proxy_arp': '1' };
    const spec = { podSelector: {}, sysctls };
    await client.create<KubeObject>(primaryNetworkKind.resource, { metadata: { name: 'p', namespace }, spec });
    await w.pod('a');
    const reason = async (): Promise<string | undefined> =>
      (await client.get(primaryNetworkKind.resource, 'p', { namespace })).status?.conditions?.[0]?.reason;
    const primary = async () => (await w.networkOf('a'))?.spec.primary;
    await eventually(async () => expect(await reason()).toBe('NotGranted'));
    expect(await primary()).toBeUndefined();

    const grant = { namespaces: { names: [namespace] }, primarySysctls: Object.keys(sysctls) };
    await client.create(networkGrantKind.resource, { metadata: { name: namespace }, spec: grant });
    onTestFinished(async () => {
      const { items } = await client.list(networkGrantKind.resource);
      if (items.some(({ metadata }) => metadata.name === namespace)) {
        await client.delete(networkGrantKind.resource, namespace);
      }
    });
    await eventually(async () =>
      expect(await primary()).toMatchObject({ sysctls, grantedSysctls: Object.keys(sysctls) }),
    );
    await eventually(async () => expect(await reason()).toBe('Configured'));
    await client.delete(networkGrantKind.resource, namespace);
    await eventually(async () => expect(await reason()).toBe('NotGranted'));
    expect(await primary()).toBeUndefined();
  });

  it('has what is granted to its labels also if it is heard of later than its pods', async () => {
    const w = await world();
    const { client, namespace } = w;
    const selector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
    const grant = { metadata: { name: namespace }, spec: { namespaces: { selector }, devices: ['eth1'] } };
    await client.create(networkGrantKind.resource, grant);
    onTestFinished(() => client.delete(networkGrantKind.resource, namespace));
    const wrap = (one: World['client']): World['client'] =>
      new Proxy(one, {
        get(target, name, receiver) {
          if (name !== 'list') return Reflect.get(target, name, receiver) as unknown;
          const list: typeof client.list = async (resource, options) => {
            const all = await target.list(resource, options);
            return resource.plural === namespaces.plural ? { ...all, items: [] } : all;
          };
          return list;
        },
      });
    await w.operator({ wrap });
    await w.config('c', [{ name: 'mv0', linkType: 'macvlan', parent: 'eth1' }]);
    await w.pod('a', { podconfig: 'c' });
    const isWaiting = async (): Promise<boolean> =>
      (await w.networkOf('a'))?.spec.waiting?.[0]?.reason === 'NotGranted';
    await eventually(async () => expect(await isWaiting()).toBe(true));
    await client.patch(namespaces, namespace, { metadata: { annotations: { seen: 'now' } } }, { type: 'merge' });
    await eventually(async () => expect((await w.networkOf('a'))?.spec.interfaces).toHaveLength(1));
  });
});

describe('the primary link', () => {
  it('is changed by spec.eth0.mtu, shown per pod, and asked back when the object goes', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    await config(w, 'mtu', { eth0: { mtu: 1400 } });
    await w.pod('a', { podNetworkConfig: 'mtu' });
    await eventually(async () => {
      const { status } = await client.get(podNetworkConfigKind.resource, 'mtu', { namespace });
      expect(status?.PodNetworkConfigs).toEqual([{ podName: 'a', configList: [expect.stringContaining('mtu:1400')] }]);
    });
    expect((await w.networkOf('a'))?.spec.primary).toMatchObject({ interfaceName: 'eth0', mtuBytes: 1400 });
    await client.delete(podNetworkConfigKind.resource, 'mtu', { namespace });
    await eventually(async () => {
      expect((await client.list(podNetworkConfigKind.resource, { namespace })).items).toEqual([]);
      expect(await w.networks()).toEqual([]);
    });
  });

  it('that cannot be changed says why, also where an interface of the pod fails', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.config('c', [{ name: 'pc0', master: 'br0', cidr: '10.76.0.0/24' }]);
    await config(w, 'mtu', { eth0: { mtu: 1000 } });
    await w.pod('a', { podconfig: 'c', podNetworkConfig: 'mtu' });
    await eventually(async () => expect((await w.networkOf('a'))?.spec.primary).toBeDefined());
    const { spec, metadata } = (await w.networkOf('a'))!;
    const wrong = { state: 'Failed', message: 'Cannot be' };
    const status = {
      observedGeneration: metadata.generation,
      interfaces: [{ key: spec.interfaces[0]?.key, reason: 'KernelRefused', ...wrong }],
      primary: { reason: 'LosesIpv6', ...wrong },
    };
    const options = { fieldManager: 'agent', namespace, subresource: 'status' };
    await client.apply(podNetworkKind.resource, { metadata: { name: 'a', namespace }, status } as never, options);
    await eventually(async () => {
      expect((await w.getConfig('c'))?.status?.conditions?.[0]).toMatchObject({ reason: 'KernelRefused' });
      const mtu = await client.get(podNetworkConfigKind.resource, 'mtu', { namespace });
      expect(mtu.status?.conditions?.[0]).toMatchObject({ reason: 'LosesIpv6', message: 'Pod a: Cannot be' });
    });
  });

  it('is changed by a PrimaryNetwork for the pods that it selects', async () => {
    const w = await world();
    const { client, namespace } = w;
    await w.operator();
    await w.agent();
    const spec = { podSelector: { matchLabels: { app: 'x' } }, interfaceName: 'eth0', mtuBytes: 1300 };
    await client.create(primaryNetworkKind.resource, { metadata: { name: 'p', namespace }, spec }, { namespace });
    await w.pod('a', { app: 'x' });
    await w.pod('b', { app: 'y' });
    await eventually(async () => {
      const { status } = await client.get(primaryNetworkKind.resource, 'p', { namespace });
      expect(status).toMatchObject({ selectedPods: 1, conditions: [{ type: 'Ready', status: 'True' }] });
    });
    expect((await w.networks()).map(({ metadata }) => metadata.name)).toEqual(['a']);
  });
});
