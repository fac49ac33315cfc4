/** `podloom attach` and `podloom detach` against a real API server and operator; the agent answers without a kernel. */
import { networkAttachmentDefinitionKind, networkKind } from '@podloom/api';
import { pods } from '@podloom/kube';
import { expect, inject, it } from 'vitest';
import { commandsFor } from '../chart/installed.ts';
import { world } from '../network-operator/world.ts';

async function setUp() {
  const w = await world();
  const { client, namespace } = w;
  await w.operator();
  await w.agent();
  await w.pod('p');
  const { podloom } = await commandsFor(inject('kubeconfig'));
  const make = async (config: object): Promise<void> => {
    const object = { metadata: { name: 'a', namespace }, spec: { config: JSON.stringify(config) } };
    await client.create(networkAttachmentDefinitionKind.resource, object, { namespace });
  };
  const run = (...args: string[]) => podloom([...args, '-n', namespace]);
  const annotations = async () => (await client.get(pods, 'p', { namespace })).metadata.annotations ?? {};
  return { w, make, run, annotations };
}

it('attaches a definition and detaches it, and says what was made', async () => {
  const { w, make, run, annotations } = await setUp();
  await make({ type: 'bridge', capabilities: { ips: true } });
  const first = await run('attach', 'p', 'a');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toBe(`Pod ${w.namespace}/p has net1 from NetworkAttachmentDefinition a\n`);
  expect(await run('attach', 'p', 'a', '--interface', 'lan0', '--ip', '10.1.0.7/24')).toMatchObject({ code: 0 });
  expect((await w.networkOf('p'))?.spec.interfaces).toMatchObject([
    { name: 'net1' },
    { name: 'lan0', cni: { capabilities: { ips: ['10.1.0.7/24'] } } },
  ]);
  expect(await run('detach', 'p', 'a')).toMatchObject({ code: 2, stderr: expect.stringContaining('net1, lan0') });
  expect(await run('detach', 'p', 'a', '--interface', 'lan0')).toMatchObject({ code: 0 });
  expect((await run('detach', 'p', 'a')).stdout).toContain('has no net1 from NetworkAttachmentDefinition a any more');
  expect(await annotations()).toEqual({});
  expect((await w.networkOf('p'))?.spec.interfaces ?? []).toEqual([]);
});

it('attaches a Network of the podagent under its hashed name', async () => {
  const { w, run, annotations } = await setUp();
  const object = { metadata: { name: 'data', namespace: w.namespace }, spec: { plugin: 'bridge' } };
  await w.client.create(networkKind.resource, object, { namespace: w.namespace });
  const { code, stdout } = await run('attach', 'p', 'data');
  expect({ code, stdout }).toEqual({ code: 0, stdout: `Pod ${w.namespace}/p has net8d777f385d3d from Network data\n` });
  expect(await annotations()).toEqual({ networks: '[{"name":"data"}]' });
  expect(await run('detach', 'p', 'data')).toMatchObject({ code: 0 });
  expect(await annotations()).toEqual({});
});

it('says what cannot be had, and what is not there', async () => {
  const { make, run } = await setUp();
  await make({ type: 'macvlan' });
  expect(await run('attach', 'p', 'a')).toMatchObject({ code: 1, stderr: expect.stringContaining('NetworkGrant') });
  expect(await run('attach', 'p', 'b')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no Network'),
  });
  expect(await run('attach', 'q', 'a')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no pod q'),
  });
  expect(await run('detach', 'p', 'b')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('names no network b'),
  });
  expect(await run('detach', 'p', 'a')).toMatchObject({ code: 0 });
});
