/** What the API server does with our kinds beyond saying yes or no: defaults, status, changes, selection, columns. */
import { additionalNetworkKind, ipPoolKind, kinds, podConfigKind, podNetworkKind, type Resource } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { additionalNetwork, ipPool, podConfig, podInterface, podNetwork, withConfig } from './manifests.ts';
import { connectWithKinds, isAcceptedByUs, mustKnow, namespace, refusalsOf, type Manifest } from './server.ts';

let client: Client;
beforeAll(async () => {
  client = await connectWithKinds();
});
afterEach(async () => {
  for (const { resource } of kinds.filter(({ scope }) => scope === 'Namespaced'))
    await client.deleteCollection(resource, { namespace });
});
afterAll(() => client.close());

const store = (manifest: Manifest, name = 'sample') => {
  const resource: Resource = mustKnow(manifest).resource;
  return client.create(resource, { ...manifest, metadata: { name } });
};

describe('the API server', () => {
  it.each([
    ['a PodConfig', podConfig({}, { name: 'pc1', linkType: undefined })],
    ['a PodNetwork', podNetwork({ primary: { sources: [] } })],
    ['a pool', ipPool({})],
  ])('fills in the same defaults as parse does, in %s', async (_, manifest) => {
    const stored = await store(manifest);
    expect(mustKnow(manifest).parse(manifest).spec).toEqual(stored.spec);
  });

  it('leaves an upstream PodConfig as it was written', async () => {
    const manifest = podConfig({ parent: 'pc0' });
    expect((await store(manifest)).spec).toEqual(manifest['spec']);
  });

  it('keeps what only one type of link has in a PodNetwork, unread', async () => {
    const link = { type: 'macvlan', parent: 'eth1', mode: 'bridge', deeper: { most: [1, 2] } };
    const { spec } = await store(podNetwork({ interfaces: [podInterface({ link })] }));
    expect(spec).toMatchObject({ interfaces: [{ link }] });
    expect(podNetworkKind.parse(podNetwork({ interfaces: [podInterface({ link })] })).spec).toMatchObject({
      interfaces: [{ link }],
    });
  });

  it('lets neither pod nor node of a PodNetwork change', async () => {
    await store(podNetwork({}));
    await expect(
      client.patch(podNetworkKind.resource, 'sample', { spec: { podUid: 'other' } }, { type: 'merge' }),
    ).rejects.toThrow('podUid and nodeName cannot change');
  });

  it('lets a pool grow exclusions but keep its range', async () => {
    await store(ipPool({}));
    const grown = await client.patch(
      ipPoolKind.resource,
      'sample',
      { spec: { exclude: ['10.1.1.0/30'] } },
      { type: 'merge' },
    );
    expect(grown.spec.exclude).toEqual(['10.1.1.0/30']);
    await expect(
      client.patch(ipPoolKind.resource, 'sample', { spec: { range: { last: '10.1.2.255' } } }, { type: 'merge' }),
    ).rejects.toThrow('cannot change');
  });

  it('finds the PodNetworks of a node by field selector', async () => {
    await store(podNetwork({ nodeName: 'node-a' }), 'on-a');
    await store(podNetwork({ nodeName: 'node-b' }), 'on-b');
    const { items } = await client.list(podNetworkKind.resource, { namespace, fieldSelector: 'spec.nodeName=node-b' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['on-b']);
  });

  it('stores the status as upstream writes it, and only through the status subresource', async () => {
    const status = {
      phase: 'configured',
      podConfigurations: [
        {
          podName: 'cnf-example-a-846566d4fb-7rxft',
          configList: ['{podVethName:pc02841804 podIPAddr:192.168.100.2/24 peerVethName:hpc02841804 bridge:pcbr0}'],
        },
      ],
    };
    expect((await store({ ...podConfig({}), status })).status).toBeUndefined();
    const stored = await client.patch(
      podConfigKind.resource,
      'sample',
      { status },
      { type: 'merge', subresource: 'status' },
    );
    expect(stored.status).toEqual(status);
    await expect(
      client.patch(
        podConfigKind.resource,
        'sample',
        { status: { phase: 'done' } },
        { type: 'merge', subresource: 'status' },
      ),
    ).rejects.toThrow('Unsupported value: "done"');
  });

  it('shows node, networks and readiness of a PodNetwork in its list', async () => {
    await store(podNetwork({ nodeName: 'node-a' }));
    const time = '2026-01-01T00:00:00Z';
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'PoolExhausted',
      message: 'No address',
      lastTransitionTime: time,
    };
    await client.patch(
      podNetworkKind.resource,
      'sample',
      { status: { networks: 'pc07', conditions: [condition] } },
      { type: 'merge', subresource: 'status' },
    );
    const { text } = await client.request(`/apis/podnetwork.opdev.io/v1alpha1/namespaces/${namespace}/podnetworks`, {
      headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    });
    const table = JSON.parse(text) as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
    const titles = table.columnDefinitions.map(({ name }) => name);
    expect(titles).toEqual(['Name', 'Node', 'Networks', 'Ready', 'Reason', 'Age']);
    expect(table.rows[0]?.cells.slice(0, 5)).toEqual(['sample', 'node-a', 'pc07', 'False', 'PoolExhausted']);
  });

  it('shows one range or both of an AdditionalNetwork in its list', async () => {
    await store(additionalNetwork({ cidr: '10.5.0.0/24' }), 'one');
    await store(additionalNetwork({ cidrs: ['10.6.0.0/24', 'fd00::/64'] }), 'two');
    const { group, version, plural } = additionalNetworkKind;
    const { text } = await client.request(`/apis/${group}/${version}/namespaces/${namespace}/${plural}`, {
      headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    });
    const { rows } = JSON.parse(text) as { rows: { cells: unknown[] }[] };
    expect(rows.map(({ cells }) => cells[3])).toEqual(['10.5.0.0/24', '["10.6.0.0/24","fd00::/64"]']);
  });

  it('takes the MTU that a primary link had, however large', async () => {
    await store(podNetwork({}));
    const primary = { before: { mtuBytes: 65536 } };
    const stored = await client.patch(
      podNetworkKind.resource,
      'sample',
      { status: { primary } },
      { type: 'merge', subresource: 'status' },
    );
    expect(stored.status?.primary).toEqual(primary);
  });

  it('tells JSON from what is almost JSON exactly as JSON.parse does', async () => {
    const base = '{"type":"a","b":[{"c":[1,{}]},"d"],"e":{"f":null}}';
    const changed = Array.from(base).flatMap((_, i) => [
      base.slice(0, i) + base.slice(i + 1),
      `${base.slice(0, i)}]${base.slice(i)}`,
      `${base.slice(0, i)},${base.slice(i)}`,
    ]);
    for (const config of changed.filter((text) => /"type":/.test(text))) {
      const accepted = (await refusalsOf(client, withConfig(config))).length === 0;
      expect({ config, accepted }).toEqual({ config, accepted: isAcceptedByUs(withConfig(config)) });
    }
  });

  it('merges the interfaces of a PodNetwork by key', async () => {
    const interfaces = [podInterface({ key: 'a' }), podInterface({ key: 'b' })];
    for (const [manager, one] of interfaces.entries()) {
      await client.apply(podNetworkKind.resource, podNetwork({ interfaces: [one] }), {
        fieldManager: `manager-${manager}`,
      });
    }
    const { spec } = await client.get(podNetworkKind.resource, 'sample');
    expect(spec.interfaces.map(({ key }) => key)).toEqual(['a', 'b']);
  });
});
