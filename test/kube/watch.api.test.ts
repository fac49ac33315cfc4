/** A cache must stay true whatever happens to the server or to the way there. */
import { setImmediate as turn } from 'node:timers/promises';
import { configMaps, createClient, isAlreadyExists, isNotFound } from '@podloom/kube';
import type { Client } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { badNetwork } from './proxy.ts';
import { configMap, follow, impatientClient, insist, newNamespace, ownControlPlane, truth, versions } from './world.ts';
import type { OwnControlPlane } from './world.ts';

let controlPlane: OwnControlPlane;
let client: Client;

beforeAll(async () => {
  controlPlane = await ownControlPlane();
  client = impatientClient(controlPlane.config);
});
afterAll(async () => {
  await client.close();
  await controlPlane[Symbol.asyncDispose]();
});

describe('a cache', () => {
  it('misses nothing and tells nothing twice while the API server is killed and restarted under it', async () => {
    const namespace = await newNamespace(client);
    await using followed = await follow(client, namespace);
    const writing = new AbortController();
    const writer = keepWriting(client, namespace, writing.signal);

    for (let round = 0; round < 3; round += 1) {
      const before = followed.story.length;
      await eventually(() => expect(followed.story.length).toBeGreaterThan(before + 20));
      await controlPlane.killApiServer();
      await controlPlane.startApiServer();
    }
    const before = followed.story.length;
    await eventually(() => expect(followed.story.length).toBeGreaterThan(before + 20));
    writing.abort();
    await writer;

    const there = await insist(() => truth(client, namespace));
    await eventually(() => expect(versions(followed.belief)).toEqual(there));
    const told = followed.story.filter((step) => !step.startsWith('-'));
    expect(new Set(told).size).toBe(told.length);
    expect(isPlausible(followed.story)).toBe(true);
  });

  it('lists again after its place in history was compacted away, and tells only the difference', async () => {
    const namespace = await newNamespace(client);
    for (const name of ['kept', 'changed', 'deleted', 'replaced']) {
      await client.create(configMaps, configMap(name), { namespace });
    }
    await using network = await badNetwork(controlPlane.config.server);
    const far = impatientClient({ ...controlPlane.config, server: network.url });
    await using followed = await follow(far, namespace);
    const known = followed.story.length;

    network.stall();
    await client.patch(configMaps, 'changed', { data: { now: 'different' } }, { namespace, type: 'merge' });
    await client.delete(configMaps, 'deleted', { namespace });
    await client.delete(configMaps, 'replaced', { namespace });
    await client.create(configMaps, configMap('replaced'), { namespace });
    await client.create(configMaps, configMap('created'), { namespace });
    await controlPlane.compactEtcd();
    await controlPlane.restartApiServer(); // its memory of the past is gone, too
    network.cut();
    network.heal();

    const there = await insist(() => truth(client, namespace));
    await eventually(() => expect(versions(followed.belief)).toEqual(there));
    expect(followed.logged).toContain('Watch was too far behind, will list again');
    const version = (name: string) => there.get(name) ?? '';
    expect(followed.story.slice(known).toSorted()).toEqual(
      [
        `~changed@${version('changed')}`,
        '-deleted',
        '-replaced',
        `+replaced@${version('replaced')}`,
        `+created@${version('created')}`,
      ].toSorted(),
    );
    await far.close();
  });

  it('resumes where it was after its connection was cut', async () => {
    const namespace = await newNamespace(client);
    await using network = await badNetwork(controlPlane.config.server);
    const far = impatientClient({ ...controlPlane.config, server: network.url });
    await using followed = await follow(far, namespace);
    for (const name of ['a', 'b', 'c', 'd']) {
      await client.create(configMaps, configMap(name), { namespace });
      network.cut();
      await client.patch(configMaps, name, { data: { touched: 'yes' } }, { namespace, type: 'merge' });
    }
    const there = await truth(client, namespace);
    await eventually(() => expect(versions(followed.belief)).toEqual(there));
    expect(followed.logged).not.toContain('Watch was too far behind, will list again');
    // Both versions of each, although every second one was made while nobody listened.
    expect(followed.story).toHaveLength(8);
    expect(new Set(followed.story).size).toBe(8);
    await far.close();
  });

  it('notices by itself that a silent connection is dead', async () => {
    const namespace = await newNamespace(client);
    await using network = await badNetwork(controlPlane.config.server);
    const far = impatientClient({ ...controlPlane.config, server: network.url });
    await using followed = await follow(far, namespace);
    const connections = network.connections;
    network.stall();
    await client.create(configMaps, configMap('made-in-silence'), { namespace });
    await eventually(() => expect(network.connections).toBeGreaterThan(connections));
    expect(followed.belief.size).toBe(0);
    network.heal();
    await eventually(() => expect([...followed.belief.keys()]).toEqual(['made-in-silence']));
    expect(followed.story).toHaveLength(1);
    await far.close();
  });

  it('reads what arrives in crumbs', async () => {
    const namespace = await newNamespace(client);
    await using network = await badNetwork(controlPlane.config.server);
    // Not an impatient one: in crumbs, and on a loaded machine, an answer to a ping takes its time.
    const far = createClient({ ...controlPlane.config, server: network.url });
    network.crawl(7);
    await using followed = await follow(far, namespace);
    const text = 'ä€🧵'.repeat(2_000);
    await client.create(configMaps, configMap('wide', { text }), { namespace });
    await eventually(() => expect(followed.cache.get('wide', namespace)?.data?.['text']).toBe(text));
    await far.close();
  });
});

/** Creates, changes and deletes a few objects for as long as it may, and does not mind a server that is away. */
async function keepWriting(client: Client, namespace: string, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count += 1) {
    const name = `object-${count % 7}`;
    try {
      if (count % 3 === 0) await client.create(configMaps, configMap(name), { namespace });
      else if (count % 3 === 1) {
        const data = { count: String(count) };
        await client.patch(configMaps, name, { data }, { namespace, type: 'merge' });
      } else if (count % 5 === 0) await client.delete(configMaps, name, { namespace });
    } catch (error) {
      if (!isNotFound(error) && !isAlreadyExists(error)) await turn();
    }
  }
}

/** Objects come before they change or go, and do not come twice. */
function isPlausible(story: readonly string[]): boolean {
  const there = new Set<string>();
  return story.every((step) => {
    const name = step.slice(1).split('@')[0] ?? '';
    if (step.startsWith('+')) return !there.has(name) && there.add(name);
    return step.startsWith('-') ? there.delete(name) : there.has(name);
  });
}
