/** From a pod's annotations, Networks and NetworkAttachmentDefinitions to a PodNetwork whose interfaces carry the configuration of their plugins. */
import { type KubeObject, networkAttachmentDefinitionKind, networkGrantKind, networkKind } from '@podloom/api';
import { coreEvents, pods } from '@podloom/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type World, eventsOf, world } from './world.ts';

const nads = networkAttachmentDefinitionKind.resource;
const standard = 'k8s.v1.cni.cncf.io/networks';
const bridge = { type: 'bridge', bridge: 'br0', ipam: { type: 'host-local', subnet: '10.1.0.0/24' } };

function driver(w: World) {
  const { client, namespace } = w;
  const annotate = async (pod: string, annotations: Record<string, string | null>): Promise<void> =>
    void (await client.patch(pods, pod, { metadata: { annotations } }, { type: 'merge', namespace }));
  return {
    annotate,
    async nad(name: string, config: object): Promise<void> {
      const object = { metadata: { name, namespace }, spec: { config: JSON.stringify(config) } };
      await client.apply(nads, object, { fieldManager: 'tenant', namespace, force: true });
    },
    async network(name: string, spec: object): Promise<void> {
      const object = { metadata: { name, namespace }, spec };
      await client.apply(networkKind.resource, object, { fieldManager: 'tenant', namespace, force: true });
    },
    async grant(spec: object): Promise<void> {
      const object = { metadata: { name: namespace }, spec: { namespaces: { names: [namespace] }, ...spec } };
      await client.apply(networkGrantKind.resource, object, { fieldManager: 'test', force: true });
      onTestFinished(() => client.delete(networkGrantKind.resource, namespace));
    },
    /** Names of its interfaces, and the first plugin of each. */
    async linksOf(pod: string): Promise<Record<string, unknown>> {
      const { interfaces = [] } = (await w.networkOf(pod))?.spec ?? {};
      return Object.fromEntries(
        interfaces.map(({ name, namePrefix, cni }) => [
          name ?? namePrefix,
          cni && (JSON.parse(cni.config) as { plugins: unknown[] }).plugins[0],
        ]),
      );
    },
    waitingIn: async (pod: string) =>
      ((await w.networkOf(pod))?.spec.waiting ?? []).map(
        ({ source, reason }) => `${source.kind} ${source.name} ${reason}`,
      ),
    eventsOf: (name: string) => eventsOf(client, namespace, name),
  };
}

const ours = { type: 'bridge', bridge: expect.stringMatching(/^pl[0-9a-f]{12}$/) };

describe('a pod that is annotated while it runs', () => {
  it('gets what both annotations name beside what its PodConfig gives, and loses it with them', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await w.config('c', [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/24' }]);
    await on.network('green', { plugin: 'bridge', config: '{"bridge":"data-br"}' });
    await on.nad('a', bridge);
    await w.pod('p', { podconfig: 'c' });
    await eventually(async () => expect(await on.linksOf('p')).toEqual({ pc0: undefined }));

    await on.annotate('p', { networks: '[{"name":"green"}]', [standard]: 'a,a@lan0' });
    await eventually(async () => {
      const dataDir = `/var/lib/podloom/ipam/${w.namespace}`;
      const withLeases = { ...ours, ipam: { ...bridge.ipam, dataDir } };
      const links = await on.linksOf('p');
      expect(links).toEqual({ pc0: undefined, net9f27410725ab: ours, net1: withLeases, lan0: withLeases });
      expect(Object.keys(links)).toEqual(['pc0', 'net9f27410725ab', 'net1', 'lan0']);
    });
    expect((await w.networkOf('p'))?.spec.interfaces[1]?.cni?.args).toEqual([
      { name: 'K8S_POD_NETWORK', value: 'green' },
      { name: 'K8S_POD_IFMAC', value: '' },
    ]);
    await eventually(async () => expect(await on.eventsOf('p')).toContain('AddedInterface'));
    await eventually(async () => {
      const { status } = await w.client.get(networkKind.resource, 'green', { namespace: w.namespace });
      expect(status?.conditions).toMatchObject([{ type: 'Ready', status: 'True', reason: 'Configured' }]);
    });

    await on.annotate('p', { networks: null, [standard]: 'a@lan0' });
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['pc0', 'lan0']));
    await on.annotate('p', { [standard]: null });
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['pc0']));
    await eventually(async () => expect(await on.eventsOf('p')).toContain('RemovedInterface'));
  });

  it('gets a network that comes later, another configuration when it changes, and nothing when it is gone', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await w.pod('p');
    await on.annotate('p', { [standard]: 'first,late' });
    await on.nad('first', bridge);
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['net1']));
    expect(await on.waitingIn('p')).toEqual(['NetworkAttachmentDefinition late NotFound']);
    await on.nad('late', bridge);
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['net1', 'net2']));
    await on.nad('late', { ...bridge, mtu: 1400 });
    await eventually(async () => expect(await on.linksOf('p')).toMatchObject({ net2: { mtu: 1400 } }));
    // Its name is its own for as long as it lives, whatever stands before it.
    await on.annotate('p', { [standard]: 'late' });
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['net2']));
    await w.client.delete(nads, 'late', { namespace: w.namespace });
    await eventually(async () => {
      expect(await on.linksOf('p')).toEqual({});
      expect(await on.waitingIn('p')).toEqual(['NetworkAttachmentDefinition late NotFound']);
    });
  });

  it('keeps what it has while its text cannot be read, and says so', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await on.nad('a', bridge);
    await on.network('green', { plugin: 'bridge' });
    await w.pod('p');
    await on.annotate('p', { [standard]: 'a', networks: '[{"name":"green"}]' });
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['net9f27410725ab', 'net1']));
    await on.annotate('p', { [standard]: '['.repeat(50_000), networks: null });
    await eventually(async () => expect(Object.keys(await on.linksOf('p'))).toEqual(['net1']));
    expect(await on.waitingIn('p')).toEqual(['Pod p InvalidAnnotation']);
    await eventually(async () => expect(await on.eventsOf('p')).toContain('InvalidAnnotation'));
    await on.annotate('p', { [standard]: '[]' });
    await eventually(async () => expect(await on.linksOf('p')).toEqual({}));
  });

  it('has nothing of what its namespace was not granted, until it is', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await on.nad('mv', { type: 'macvlan', master: 'eth1' });
    await on.nad('plain', bridge);
    await w.pod('p');
    await on.annotate('p', { [standard]: '[{"name":"mv"},{"name":"plain"},{"name":"plain","ips":["10.1.0.9/24"]}]' });
    await eventually(async () => {
      expect(Object.keys(await on.linksOf('p'))).toEqual(['net2']);
      expect((await on.waitingIn('p')).toSorted()).toEqual([
        'NetworkAttachmentDefinition mv NotGranted',
        'NetworkAttachmentDefinition plain NoCapability',
      ]);
    });
    await eventually(async () => {
      expect(await on.eventsOf('p')).toEqual(expect.arrayContaining(['NotGranted', 'NoCapability']));
      expect(await on.eventsOf('mv')).toContain('NotGranted');
    });
    await on.grant({ cniPlugins: ['macvlan'] });
    await eventually(async () => {
      expect(await on.linksOf('p')).toEqual({ net1: { type: 'macvlan', master: 'eth1' }, net2: expect.anything() });
    });
  });

  it('has nothing of another namespace, and nothing on the network of its node', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await on.nad('a', bridge);
    await w.pod('near');
    await w.pod('hosted', {}, { hostNetwork: true });
    await on.annotate('near', { [standard]: 'elsewhere/a' });
    await on.annotate('hosted', { [standard]: 'a' });
    await eventually(async () => {
      expect(await on.waitingIn('near')).toEqual(['NetworkAttachmentDefinition a NotFound']);
      expect(await on.eventsOf('hosted')).toContain('HostNetwork');
    });
    expect(await w.networkOf('hosted')).toBeUndefined();
  });
});

describe('an object without a status', () => {
  it('is told by an Event what is wrong with its configuration', async () => {
    const w = await world();
    const on = driver(w);
    await w.operator();
    await w.agent();
    await on.nad('wrong', { type: 'bridge', name: '../../etc' });
    await w.pod('p');
    await on.annotate('p', { [standard]: 'wrong' });
    await eventually(async () => {
      const { items } = await w.client.list<KubeObject & { reason?: string; message?: string }>(coreEvents, {
        namespace: w.namespace,
        fieldSelector: 'involvedObject.name=wrong',
      });
      expect(items.map(({ reason }) => reason)).toEqual(['InvalidConfig']);
    });
    expect(await on.waitingIn('p')).toEqual(['NetworkAttachmentDefinition wrong InvalidConfig']);
  });
});
