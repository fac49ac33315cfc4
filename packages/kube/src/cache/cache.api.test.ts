/** A cache of a real server's objects, many of them. */
import { createClient } from '../client/create-client.ts';
import { configMaps, namespaces } from '../client/builtin.ts';
import type { ConfigMap } from '../client/builtin.ts';
import type { Client } from '../client/client.ts';
import { loadConfig } from '../kubeconfig/load.ts';
import { silentLog } from '../process/log.ts';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { startCache } from './cache.ts';
import type { Change } from './store.ts';

let client: Client;
let namespace: string;

beforeAll(async () => {
  client = createClient(await loadConfig({ path: inject('kubeconfig') }));
  const made = await client.create(namespaces, { metadata: { generateName: 'cache-' } });
  namespace = made.metadata.name ?? '';
});
afterAll(() => client.close());

/** Runs a job for each number below `count`, a few at a time. */
async function forEach(count: number, job: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: 40 }, worker));
}

const indexes = { shard: (one: ConfigMap) => [one.metadata.labels?.['shard'] ?? 'none'] };

describe('startCache', () => {
  it('holds 10,000 objects, fetched in pages, and finds them by index', async () => {
    const count = 10_000;
    await forEach(count, (n) => {
      const metadata = { name: `object-${n}`, labels: { shard: String(n % 100) } };
      return client.create(configMaps, { metadata, data: { n: String(n) } }, { namespace });
    });
    const pages: number[] = [];
    const counting: Client = {
      ...client,
      list: async (resource, options) => {
        const page = await client.list(resource, options);
        pages.push(page.items.length);
        return page;
      },
    };
    const stop = new AbortController();
    const cache = startCache({
      client: counting,
      resource: configMaps,
      namespace,
      indexes,
      log: silentLog,
      signal: stop.signal,
    });
    await cache.waitForSync();
    expect(cache.size).toBe(count);
    expect(Math.max(...pages)).toBe(500);
    // A list that was interrupted begins again; the last one is whole.
    expect(pages.slice(-20)).toEqual(Array(20).fill(500));
    expect(new Set(cache.list().map((one) => one.data?.['n'])).size).toBe(count);
    expect(cache.by('shard', '42')).toHaveLength(100);
    expect(cache.get('object-42', namespace)).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { n: '42' } });
    expect(cache.list().some((one) => one.metadata.managedFields)).toBe(false);

    const changes: Change<ConfigMap>[] = [];
    cache.subscribe((change) => changes.push(change));
    expect(changes).toHaveLength(count);
    changes.length = 0;
    await forEach(100, (n) =>
      client.patch(
        configMaps,
        `object-${n}`,
        { metadata: { labels: { shard: 'moved' } } },
        { namespace, type: 'merge' },
      ),
    );
    await vi.waitFor(() => expect(cache.by('shard', 'moved')).toHaveLength(100), { timeout: 120_000 });
    expect(changes).toHaveLength(100);
    expect(changes.every(({ old, now }) => old?.metadata.uid === now?.metadata.uid)).toBe(true);
    expect(cache.by('shard', '7')).toHaveLength(99);
    stop.abort();
    await cache.ended;
  }, 900_000);

  it('sees only what its selectors select', async () => {
    await client.create(configMaps, { metadata: { name: 'red', labels: { colour: 'red' } } }, { namespace });
    await client.create(configMaps, { metadata: { name: 'blue', labels: { colour: 'blue' } } }, { namespace });
    const stop = new AbortController();
    const options = { client, resource: configMaps, namespace, log: silentLog, signal: stop.signal };
    const byLabel = startCache({ ...options, labelSelector: 'colour=red', keepManagedFields: true });
    const byField = startCache({ ...options, fieldSelector: 'metadata.name=blue' });
    await Promise.all([byLabel.waitForSync(), byField.waitForSync()]);
    expect(byLabel.list().map((one) => one.metadata.name)).toEqual(['red']);
    expect(byLabel.list()[0]?.metadata.managedFields).toBeDefined();
    expect(byField.list().map((one) => one.metadata.name)).toEqual(['blue']);
    // To lose the label is to leave the cache.
    await client.patch(configMaps, 'red', { metadata: { labels: { colour: 'grey' } } }, { namespace, type: 'merge' });
    await vi.waitFor(() => expect(byLabel.size).toBe(0), { timeout: 120_000 });
    stop.abort();
    await Promise.all([byLabel.ended, byField.ended]);
  });

  it('goes on telling a listener that broke, also while it tells what it holds already', async () => {
    const stop = new AbortController();
    for (const name of ['one', 'two'])
      await client.create(configMaps, { metadata: { name, namespace } }, { namespace });
    const cache = startCache({ client, resource: configMaps, namespace, log: silentLog, signal: stop.signal });
    await cache.waitForSync();
    const told: (string | undefined)[] = [];
    cache.subscribe(({ now }) => {
      told.push(now?.metadata.name);
      if (now?.metadata.name === 'one') throw new Error('Broken');
    });
    expect(told).toEqual(expect.arrayContaining(['one', 'two']));
    stop.abort();
    await cache.ended;
  });

  it('tells who waits for it that it was stopped before it was filled', async () => {
    const cache = startCache({ client, resource: configMaps, log: silentLog, signal: AbortSignal.abort() });
    await expect(cache.waitForSync()).rejects.toThrow('stopped before it was filled');
    await cache.ended;
  });
});
