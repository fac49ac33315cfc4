/** Every verb, on built-in kinds, against a real API server. */
import { Conflict, InvalidInput } from '@podloom/api';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { configMaps, deployments, secrets } from './builtin.ts';
import type { Client, WatchEvent } from './client.ts';
import { isAlreadyExists, isApiError, isFieldConflict, isInvalid, isNotFound, isStale } from './errors.ts';
import { realWorld } from './testing/api-server.ts';
import { failureOf } from './testing/server.ts';

const container = (name: string) => ({ name, image: 'x' });
const settings = (name: string, data: Record<string, string> = { colour: 'blue' }) => ({ metadata: { name }, data });

describe('writing', () => {
  it('creates, reads, replaces and deletes', async () => {
    const { client, namespace } = await realWorld();
    const created = await client.create(configMaps, settings('a'));
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace } });

    const replaced = await client.update(configMaps, { ...created, data: { colour: 'red' } });
    expect(await client.get(configMaps, 'a')).toEqual(replaced);
    expect(replaced.data).toEqual({ colour: 'red' });

    await client.delete(configMaps, 'a');
    expect(isNotFound(await failureOf(client.get(configMaps, 'a')))).toBe(true);
  });

  it('lets the server make up a name, and writes nothing in a dry run', async () => {
    const { client } = await realWorld();
    const made = await client.create(configMaps, { metadata: { generateName: 'made-' } });
    expect(made.metadata.name).toMatch(/^made-.+/);
    await client.create(configMaps, settings('dry'), { dryRun: true });
    expect(isNotFound(await failureOf(client.get(configMaps, 'dry')))).toBe(true);
  });

  it('does not overwrite what changed since it was read', async () => {
    const { client } = await realWorld();
    const first = await client.create(configMaps, settings('a'));
    await client.update(configMaps, { ...first, data: { colour: 'red' } });
    expect(isStale(await failureOf(client.update(configMaps, { ...first, data: {} })))).toBe(true);
  });

  it('patches by merge, by JSON operations, and by strategic merge', async () => {
    const { client } = await realWorld();
    await client.create(configMaps, settings('a', { x: '1', y: '2' }));
    const merged = await client.patch(configMaps, 'a', { data: { x: null, z: '3' } }, { type: 'merge' });
    expect(merged.data).toEqual({ y: '2', z: '3' });
    const operated = await client.patch(configMaps, 'a', [{ op: 'remove', path: '/data/y' }], { type: 'json' });
    expect(operated.data).toEqual({ z: '3' });

    const labels = { app: 'a' };
    await client.create(deployments, {
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container('one')] } },
      },
    });
    const patch = { spec: { template: { spec: { containers: [container('two')] } } } };
    const grown = await client.patch(deployments, 'd', patch, { type: 'strategic' });
    expect(grown.spec?.template.spec?.containers.map(({ name }) => name)).toEqual(['two', 'one']);
  });

  it('deletes only the object that was meant', async () => {
    const { client } = await realWorld();
    const old = await client.create(configMaps, settings('a'));
    await client.delete(configMaps, 'a', { uid: old.metadata.uid });
    const young = await client.create(configMaps, settings('a'));
    expect(isStale(await failureOf(client.delete(configMaps, 'a', { uid: old.metadata.uid })))).toBe(true);
    expect(isStale(await failureOf(client.delete(configMaps, 'a', { resourceVersion: '1' })))).toBe(true);
    expect((await client.get(configMaps, 'a')).metadata.uid).toBe(young.metadata.uid);
  });

  it('deletes a selection', async () => {
    const { client, namespace } = await realWorld();
    for (const [name, team] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
    ] as const) {
      await client.create(configMaps, { metadata: { name, labels: { team } } });
    }
    await client.deleteCollection(configMaps, { namespace, labelSelector: 'team=x' });
    const left = await client.list(configMaps, { namespace, labelSelector: 'team' });
    expect(left.items.map(({ metadata }) => metadata.name)).toEqual(['c']);
  });
});

describe('server-side apply', () => {
  it('creates, leaves alone what others set, and forgets what we no longer say', async () => {
    const { client } = await realWorld();
    await client.apply(configMaps, settings('a', { ours: '1', also: '2' }), { fieldManager: 'us' });
    await client.apply(configMaps, settings('a', { theirs: '3' }), { fieldManager: 'them' });
    const last = await client.apply(configMaps, settings('a', { ours: '1' }), { fieldManager: 'us' });
    expect(last.data).toEqual({ ours: '1', theirs: '3' });
  });

  it('refuses to take a field from its manager and names it, unless forced', async () => {
    const { client } = await realWorld();
    await client.apply(configMaps, settings('a', { colour: 'blue' }), { fieldManager: 'painter' });
    const mine = settings('a', { colour: 'red' });
    const failure = await failureOf(client.apply(configMaps, mine, { fieldManager: 'us' }));
    expect(isFieldConflict(failure)).toBe(true);
    expect(failure).toBeInstanceOf(Conflict);
    expect((failure as Error).message).toContain('conflict with "painter"');
    expect(isApiError(failure) && failure.api.causes[0]?.field).toBe('.data.colour');

    const forced = await client.apply(configMaps, mine, { fieldManager: 'us', force: true });
    expect(forced.data).toEqual({ colour: 'red' });
  });
});

describe('listing', () => {
  it('gives items their kind, which the server leaves out', async () => {
    const { client, namespace } = await realWorld();
    await client.create(configMaps, settings('a'));
    const { items } = await client.list(configMaps, { namespace });
    expect(items.find(({ metadata }) => metadata.name === 'a')).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  it('walks through pages without losing or doubling', async () => {
    const { client, namespace } = await realWorld();
    const names = Array.from({ length: 25 }, (_, index) => `n${String(index).padStart(2, '0')}`);
    await Promise.all(names.map((name) => client.create(configMaps, { metadata: { name, labels: { page: 'yes' } } })));
    const seen: unknown[] = [];
    let token: string | undefined;
    do {
      const page = await client.list(configMaps, { namespace, labelSelector: 'page', limit: 10, continue: token });
      seen.push(...page.items.map(({ metadata }) => metadata.name));
      token = page.metadata.continue;
    } while (token);
    expect(seen).toEqual(names);
  });

  it('selects by label and by field, over all namespaces where none is named', async () => {
    const { client, namespace } = await realWorld();
    await client.create(configMaps, settings('only-here'));
    const found = await client.list(configMaps, {
      fieldSelector: `metadata.name=only-here,metadata.namespace=${namespace}`,
    });
    expect(found.items).toHaveLength(1);
  });
});

/** Makes, changes and deletes an object, and gives what a watch that began before it told. */
async function lifeOf(client: Client, namespace: string, name: string): Promise<WatchEvent<{ data?: unknown }>[]> {
  const { metadata } = await client.list(configMaps, { namespace });
  const watch = client.watch(configMaps, {
    namespace,
    resourceVersion: metadata.resourceVersion,
    fieldSelector: `metadata.name=${name}`,
  });
  const made = await client.create(configMaps, settings(name));
  await client.update(configMaps, { ...made, data: { text: 'añ→𝄞' } });
  await client.create(configMaps, settings(`${name}-other`));
  await client.delete(configMaps, name);
  const events: WatchEvent<{ data?: unknown }>[] = [];
  for await (const event of watch) {
    events.push(event);
    if (event.type === 'DELETED') break;
  }
  return events;
}

describe('watching', () => {
  it('tells all that happened since a resourceVersion, in order', async () => {
    const { client, namespace } = await realWorld();
    const events = await lifeOf(client, namespace, 'a');
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(events[1]?.object).toMatchObject({ data: { text: 'añ→𝄞' } });
  });

  it('first sends what exists when asked, and then a bookmark that says so', async () => {
    const { client, namespace } = await realWorld();
    await client.create(configMaps, settings('a'));
    const seen: string[] = [];
    for await (const event of client.watch(configMaps, { namespace, sendInitialEvents: true })) {
      seen.push(event.type);
      if (event.type !== 'BOOKMARK') continue;
      expect(event.object.metadata.annotations).toHaveProperty(['k8s.io/initial-events-end'], 'true');
      break;
    }
    expect(seen).toContain('ADDED');
  });

  it('ends when the server ends it', async () => {
    const { client, namespace } = await realWorld();
    const events = await Array.fromAsync(
      client.watch(configMaps, { namespace, timeoutSeconds: 1, fieldSelector: 'metadata.name=none' }),
    );
    expect(events.every(({ type }) => type === 'BOOKMARK')).toBe(true);
  });
});

describe('errors', () => {
  it('names the field and the reason of a refused object', async () => {
    const { client } = await realWorld();
    const failure = await failureOf(client.create(configMaps, settings('Not A Name')));
    expect(isInvalid(failure)).toBe(true);
    expect(failure).toBeInstanceOf(InvalidInput);
    expect(isApiError(failure) && failure.api.causes[0]?.field).toBe('metadata.name');
  });

  it('tells an object that exists from one that changed', async () => {
    const { client } = await realWorld();
    await client.create(configMaps, settings('a'));
    const failure = await failureOf(client.create(configMaps, settings('a')));
    expect(isAlreadyExists(failure)).toBe(true);
    expect(isStale(failure)).toBe(false);
  });

  it('do not show what was in a Secret that the server could not read', async () => {
    const { client } = await realWorld();
    const broken = { metadata: { name: 'a' }, data: { password: ['hunter2'] as unknown as string } };
    const failure = await failureOf(client.create(secrets, broken));
    expect(failure).toBeInstanceOf(InvalidInput);
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
  });

  it('of a pod that is not there are the same for get, logs and exec', async () => {
    const { client } = await realWorld();
    const failures = [
      failureOf(Array.fromAsync(client.logs('nobody'))),
      failureOf(client.exec('nobody', { command: ['true'] })),
    ];
    for (const failure of await Promise.all(failures)) expect(isNotFound(failure)).toBe(true);
  });
});

describe('a raw request', () => {
  it('reaches what is no resource', async () => {
    const { client } = await realWorld();
    // Whether it is ready depends on what else the machine does; that it answers does not.
    expect((await client.request('/livez/ping')).text).toBe('ok');
    expect(JSON.parse((await client.request('/version')).text)).toMatchObject({ major: '1' });
    expect(isNotFound(await failureOf(client.request('/no/such/path')))).toBe(true);
  });
});
