/** `podloom show` against a real API server. There is neither operator nor agent: the PodNetworks are written by the test. */
import { type PodNetwork, podNetworkKind } from '@podloom/api';
import { expect, inject, it } from 'vitest';
import { commandsFor } from '../chart/installed.ts';
import { type World, world } from '../network-operator/world.ts';
import { eventually } from '../setup/eventually.ts';
import { tenantWhoLists } from './tenant.ts';

async function setUp() {
  const w = await world();
  const commands = await commandsFor(inject('kubeconfig'));
  const show = (...args: string[]) => commands.podloom(['show', '-n', w.namespace, ...args]);
  return { w, commands, show };
}

async function declare({ client, namespace, node }: World, name: string, networks?: string): Promise<void> {
  const { resource } = podNetworkKind;
  const spec: PodNetwork['spec'] = { podUid: name, nodeName: node, interfaces: [] };
  await client.apply(resource, { metadata: { name, namespace }, spec }, { fieldManager: 'test' });
  if (networks === undefined) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Attached',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const status = { networks, conditions: [ready] };
  await client.patch(resource, name, { status }, { type: 'merge', namespace, subresource: 'status' });
}

it('`podloom show POD` of a pod that does not exist is wrong input, and says so', async () => {
  const { w, show } = await setUp();
  for (const more of [[], ['-o', 'json']]) {
    const { code, stdout, stderr } = await show('nobody', ...more);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      `podloom: There is no pod nobody in namespace ${w.namespace}; podloom show -n ${w.namespace} lists those that have networks\n`,
    );
  }
});

it('`podloom show POD` of a pod without networks says that it has none', async () => {
  const { w, show } = await setUp();
  await w.pod('plain');
  const text = `Pod ${w.namespace}/plain has no networks besides the cluster's own\n`;
  expect(await show('plain')).toEqual({ code: 0, stdout: text, stderr: '' });
  expect(await show('plain', '-o', 'json')).toEqual({ code: 0, stdout: 'null\n', stderr: '' });
});

it('`podloom show POD` of who may not list pods says that it cannot tell whether there is one', async () => {
  const { w, commands, show } = await setUp();
  await declare(w, 'one');
  const kubeconfig = await tenantWhoLists(['podnetworks.podnetwork.opdev.io'], w.namespace, commands);
  await eventually(async () => expect(await show('one', '--kubeconfig', kubeconfig)).toMatchObject({ code: 0 }));
  const { code, stdout, stderr } = await show('two', '--kubeconfig', kubeconfig);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/two has no networks, and you may not list pods/);
});

it('`podloom show` without a pod lists those that have networks, as a table and as JSON', async () => {
  const { w, show } = await setUp();
  expect(await show()).toEqual({
    code: 0,
    stdout: `No pod of namespace ${w.namespace} has networks besides the cluster's own\n`,
    stderr: '',
  });
  expect((await show('-o', 'json')).stdout).toBe('[]\n');

  await declare(w, 'web-1', 'pc012,pc112');
  await declare(w, 'db');
  await w.pod('plain');
  const { code, stdout } = await show();
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/\s{2,}/));
  expect(lines).toEqual([
    ['POD', 'NODE', 'NETWORKS', 'READY', 'REASON'],
    ['db', w.node],
    ['web-1', w.node, 'pc012,pc112', 'True', 'Attached'],
  ]);
  const shown = JSON.parse((await show('-o', 'json')).stdout) as PodNetwork[];
  expect(shown.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ['PodNetwork', 'db'],
    ['PodNetwork', 'web-1'],
  ]);
});
