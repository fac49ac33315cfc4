/** Finalizers and status on a real server, with others writing at the same time. */
import { describe, expect, it } from 'vitest';
import { configMaps, nodes } from '../client/builtin.ts';
import { isNotFound, isStale } from '../client/errors.ts';
import { realWorld } from '../client/testing/api-server.ts';
import { applyObject, applyStatus } from './apply.ts';
import { ensureFinalizer, removeFinalizer } from './finalizers.ts';

describe('finalizers', () => {
  it('are added once and removed, and those of others stay', async () => {
    const { client } = await realWorld();
    const object = await client.create(configMaps, { metadata: { name: 'a', finalizers: ['example.org/other'] } });
    const guarded = await ensureFinalizer(client, configMaps, object, 'podloom.io/ours');
    expect(guarded.metadata.finalizers).toEqual(['example.org/other', 'podloom.io/ours']);
    expect(await ensureFinalizer(client, configMaps, guarded, 'podloom.io/ours')).toBe(guarded);
    await removeFinalizer(client, configMaps, guarded, 'podloom.io/ours');
    const left = await client.get(configMaps, 'a');
    expect(left.metadata.finalizers).toEqual(['example.org/other']);
    await removeFinalizer(client, configMaps, left, 'example.org/other');
  });

  it('are not written over a change that we have not seen', async () => {
    const { client } = await realWorld();
    const seen = await client.create(configMaps, { metadata: { name: 'a' } });
    await client.patch(configMaps, 'a', { metadata: { finalizers: ['example.org/new'] } }, { type: 'merge' });
    await expect(ensureFinalizer(client, configMaps, seen, 'podloom.io/ours')).rejects.toSatisfy(isStale);
    const now = await client.get(configMaps, 'a');
    expect(now.metadata.finalizers).toEqual(['example.org/new']);
    await removeFinalizer(client, configMaps, now, 'example.org/new');
  });

  it('are no matter once the object is gone, but never those of its successor', async () => {
    const { client } = await realWorld();
    const finalizers = ['podloom.io/ours'];
    const first = await client.create(configMaps, { metadata: { name: 'a', finalizers } });
    await removeFinalizer(client, configMaps, first, 'podloom.io/ours');
    await client.delete(configMaps, 'a');
    await removeFinalizer(client, configMaps, first, 'podloom.io/ours');
    expect(await client.get(configMaps, 'a').then(() => false, isNotFound)).toBe(true);
    const second = await client.create(configMaps, { metadata: { name: 'a', finalizers } });
    await expect(removeFinalizer(client, configMaps, first, 'podloom.io/ours')).rejects.toSatisfy(isStale);
    await removeFinalizer(client, configMaps, second, 'podloom.io/ours');
  });
});

describe('server-side apply', () => {
  it('writes a status without touching what others wrote there, and takes back what it leaves out', async () => {
    const { client, namespace } = await realWorld();
    const node = await client.create(nodes, { metadata: { name: namespace } });
    const ours = { fieldManager: 'ours' };
    const others = { fieldManager: 'others' };
    await applyStatus(client, nodes, node, { capacity: { 'podloom.io/links': '1', 'podloom.io/old': '1' } }, ours);
    await applyStatus(client, nodes, node, { capacity: { 'example.org/other': '2' } }, others);
    await applyStatus(client, nodes, node, { capacity: { 'podloom.io/links': '3' } }, ours);
    const { status } = await client.get(nodes, namespace);
    expect(status?.capacity).toEqual({ 'podloom.io/links': '3', 'example.org/other': '2' });
    await client.delete(nodes, namespace);
  });

  it('does not write the status of a later object of the same name', async () => {
    const { client, namespace } = await realWorld();
    const first = await client.create(nodes, { metadata: { name: namespace } });
    await client.delete(nodes, namespace);
    await client.create(nodes, { metadata: { name: namespace } });
    const write = applyStatus(client, nodes, first, { phase: 'Running' }, { fieldManager: 'ours' });
    await expect(write).rejects.toThrow(/uid/i);
    expect((await client.get(nodes, namespace)).status?.phase).toBeUndefined();
    await client.delete(nodes, namespace);
  });

  it('changes nothing when it is done twice', async () => {
    const { client, namespace } = await realWorld();
    const wanted = { metadata: { name: 'a', namespace }, data: { a: '1' } };
    const first = await applyObject(client, configMaps, wanted, { fieldManager: 'ours' });
    const second = await applyObject(client, configMaps, wanted, { fieldManager: 'ours' });
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });
});
