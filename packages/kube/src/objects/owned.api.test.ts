/** Owned objects on a real server: a Node, which has no namespace, owns ConfigMaps and Secrets in one. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Cache, startCache } from '../cache/cache.ts';
import { configMaps, nodes, secrets } from '../client/builtin.ts';
import type { ConfigMap, Node, Secret } from '../client/builtin.ts';
import { isNotFound } from '../client/errors.ts';
import { eventually, realWorld } from '../client/testing/api-server.ts';
import { controller } from '../controller/controller.ts';
import { owns } from '../controller/owns.ts';
import { done } from '../controller/result.ts';
import { silentLog } from '../process/log.ts';
import { type Desired, ownedObjects } from './owned.ts';
import { controllerIndex, controllerOf } from './written.ts';

const label = { key: 'made-by', value: 'owner' };

async function ownedWorld() {
  const { client, namespace } = await realWorld();
  const stop = new AbortController();
  const common = { client, namespace, log: silentLog, signal: stop.signal, indexes: controllerIndex };
  const maps: Cache<ConfigMap, 'controller'> = startCache({ ...common, resource: configMaps });
  const hidden: Cache<Secret, 'controller'> = startCache({ ...common, resource: secrets });
  await Promise.all([maps.waitForSync(), hidden.waitForSync()]);
  const owner: Node = await client.create(nodes, { metadata: { name: namespace } });
  onTestFinished(async () => {
    stop.abort();
    await Promise.all([maps.ended, hidden.ended]);
    await client.delete(nodes, namespace);
  });
  const owned = ownedObjects({ client, fieldManager: 'owner', caches: [hidden, maps] });
  const map = (name: string, data: Record<string, string> = {}): Desired => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { [label.key]: label.value } },
    data,
  });
  const names = async () =>
    (await client.list(configMaps, { namespace })).items.map(({ metadata }) => metadata.name ?? '');
  return { client, namespace, owner, owned, map, names, maps, caches: [hidden, maps] };
}

describe('owned objects', () => {
  it('come with a reference to their controller, change, and go when they are wanted no more', async () => {
    const { client, owner, owned, map, names, namespace } = await ownedWorld();
    const first = await owned.apply(owner, [map('a', { x: '1' }), map('b')], label);
    expect(first).toMatchObject({ pruned: [], failures: [] });
    expect(first.changed.toSorted()).toEqual([`ConfigMap ${namespace}/a`, `ConfigMap ${namespace}/b`]);
    expect(controllerOf(await client.get(configMaps, 'a'))).toMatchObject({ kind: 'Node', name: namespace });

    // At once, before the cache has seen anything of the first.
    const second = await owned.apply(owner, [map('a', { x: '2' })], label);
    expect(second).toMatchObject({ changed: [`ConfigMap ${namespace}/a`], pruned: [`ConfigMap ${namespace}/b`] });
    expect((await client.get(configMaps, 'a')).data).toEqual({ x: '2' });
    expect(await names()).toEqual(['a']);
  });

  it('are written once: repeating changes no resourceVersion, also by a process that knows nothing of the first', async () => {
    const { client, owner, owned, map, maps, caches } = await ownedWorld();
    const desired = [map('a', { x: '1' })];
    await owned.apply(owner, desired, label);
    const { resourceVersion } = (await client.get(configMaps, 'a')).metadata;
    await eventually(() => expect(maps.size).toBe(1));
    const other = ownedObjects({ client, fieldManager: 'owner', caches });
    for (const one of [owned, other, other]) {
      expect(await one.apply(owner, desired, label)).toEqual({ changed: [], pruned: [], leaving: [], failures: [] });
    }
    expect((await client.get(configMaps, 'a')).metadata.resourceVersion).toBe(resourceVersion);
  });

  it('stand alone: one that the server refuses stops none of the others, and is named', async () => {
    const { owner, owned, map, names, namespace } = await ownedWorld();
    await owned.apply(owner, [map('old')], label);
    const elsewhere = { ...map('c'), metadata: { name: 'c', namespace: 'no-such-namespace' } };
    const result = await owned.apply(owner, [map('a'), map('Not A Name'), elsewhere, map('b')], label);
    expect(result.failures.map(({ object }) => object).toSorted()).toEqual([
      'ConfigMap no-such-namespace/c',
      `ConfigMap ${namespace}/Not A Name`,
    ]);
    expect(result.pruned).toEqual([`ConfigMap ${namespace}/old`]);
    expect((await names()).toSorted()).toEqual(['a', 'b']);
  });

  it('are pruned only where the owner controls them and they carry the label', async () => {
    const { client, namespace, owner, owned, map, names, maps } = await ownedWorld();
    const other = await client.create(nodes, { metadata: { name: `${namespace}-other` } });
    onTestFinished(() => client.delete(nodes, `${namespace}-other`));
    await owned.apply(other, [map('of-another')], label);
    await owned.apply(owner, [map('mine'), map('unlabelled')], label);
    await client.create(configMaps, { metadata: { name: 'of-nobody', labels: { [label.key]: label.value } } });
    await client.patch(configMaps, 'unlabelled', { metadata: { labels: null } }, { type: 'merge' });
    await eventually(() => {
      expect(maps.size).toBe(4);
      expect(maps.get('unlabelled', namespace)?.metadata.labels).toBeUndefined();
    });
    const result = await owned.apply(owner, [], label);
    expect(result).toMatchObject({ pruned: [`ConfigMap ${namespace}/mine`], failures: [] });
    expect((await names()).toSorted()).toEqual(['of-another', 'of-nobody', 'unlabelled']);
  });

  it('are not taken from another owner', async () => {
    const { client, namespace, owner, owned, map, maps } = await ownedWorld();
    const other = await client.create(nodes, { metadata: { name: `${namespace}-other` } });
    onTestFinished(() => client.delete(nodes, `${namespace}-other`));
    await owned.apply(other, [map('a', { x: 'theirs' })], label);
    await eventually(() => expect(maps.size).toBe(1));
    const { failures } = await owned.apply(owner, [map('a', { x: 'ours' })], label);
    expect(String(failures[0]?.error)).toContain(`belongs to Node ${namespace}-other`);
    expect((await client.get(configMaps, 'a')).data).toEqual({ x: 'theirs' });
  });

  it('say which of them are on their way out, and are not written until they have gone', async () => {
    const { client, namespace, owner, owned, map, maps } = await ownedWorld();
    await owned.apply(owner, [map('slow')], label);
    const hold = (finalizers: string[]) =>
      client.patch(configMaps, 'slow', { metadata: { finalizers } }, { type: 'merge' });
    await hold(['example.org/hold']);
    await owned.apply(owner, [], label);
    await eventually(() => expect(maps.get('slow', namespace)?.metadata.deletionTimestamp).toBeDefined());
    expect(await owned.apply(owner, [], label)).toMatchObject({ leaving: [`ConfigMap ${namespace}/slow`], pruned: [] });
    const { failures } = await owned.apply(owner, [map('slow')], label);
    expect(String(failures[0]?.error)).toContain('still being deleted');
    await hold([]);
    await eventually(() => expect(maps.size).toBe(0));
    expect(await owned.apply(owner, [map('slow')], label)).toMatchObject({ failures: [], leaving: [] });
  });

  it('bring their owner back to its controller when someone changes or deletes them', async () => {
    const { client, namespace, owner, owned, map, maps, caches } = await ownedWorld();
    const stop = new AbortController();
    const one = controller<Node>({
      name: 'test',
      resource: nodes,
      client,
      log: silentLog,
      watches: caches.map((cache) => owns(cache, nodes)),
      async reconcile(node, context) {
        if (node.metadata.uid !== owner.metadata.uid) return done;
        await owned.apply(node, [map('a', { x: '1' })], label, { signal: context.signal });
        return done;
      },
    });
    const ended = one.run(stop.signal);
    onTestFinished(async () => {
      stop.abort();
      await ended;
    });
    const data = () => maps.get('a', namespace)?.data;
    await eventually(() => expect(data()).toEqual({ x: '1' }));
    await client.patch(configMaps, 'a', { data: { x: '2' } }, { type: 'merge' });
    await eventually(async () => expect((await client.get(configMaps, 'a')).data).toEqual({ x: '1' }));
    const { uid } = (await client.get(configMaps, 'a')).metadata;
    await client.delete(configMaps, 'a', { uid });
    await eventually(async () => {
      const now = await client.get(configMaps, 'a').catch((error: unknown) => isNotFound(error) && undefined);
      expect(now && now.metadata.uid).toBeTruthy();
      expect(now && now.metadata.uid).not.toBe(uid);
    });
  });
});
