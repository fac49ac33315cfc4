/** Objects of kinds that nobody described: what we do not know must survive us. */
import { randomUUID } from 'node:crypto';
import type { KubeObject } from '@podloom/api';
import * as fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { customResourceDefinitions } from './builtin.ts';
import type { Client, Resource } from './client.ts';
import { realWorld } from './testing/api-server.ts';

interface Thing extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

async function createThings(client: Client): Promise<Resource<Thing>> {
  const group = `t${randomUUID().slice(0, 8)}.example.com`;
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const properties = { spec: anything, status: anything };
  const name = `things.${group}`;
  await client.create(customResourceDefinitions, {
    metadata: { name },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties } },
        },
      ],
    },
  });
  onTestFinished(() => client.delete(customResourceDefinitions, name));
  const things: Resource<Thing> = { group, version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
  await vi.waitFor(() => client.create(things, { metadata: { name: 'probe' } }, { dryRun: true }), {
    timeout: 120_000,
  });
  return things;
}

it('keeps fields that it does not know, of any shape, through create, read and replace', async () => {
  const { client } = await realWorld();
  const things = await createThings(client);
  let count = 0;
  // JSON has no negative zero, so it cannot come back.
  const value = fc.jsonValue({ stringUnit: 'grapheme' }).map((json) => JSON.parse(JSON.stringify(json)) as unknown);
  await fc.assert(
    fc.asyncProperty(value, async (json) => {
      count += 1;
      const name = `t${count}`;
      const created = await client.create(things, { metadata: { name }, spec: { json } });
      expect(created.spec).toEqual({ json });
      const read = await client.get(things, name);
      const replaced = await client.update(things, {
        ...read,
        metadata: { ...read.metadata, labels: { seen: 'yes' } },
      });
      expect(replaced.spec).toEqual({ json });
    }),
    { numRuns: 50 },
  );
});

it('writes status apart from spec, by every way there is', async () => {
  const { client } = await realWorld();
  const things = await createThings(client);
  const made = await client.create(things, { metadata: { name: 'a' }, spec: { size: 1 }, status: { ignored: true } });
  expect(made.status).toBeUndefined();

  const subresource = 'status';
  const updated = await client.update(
    things,
    { ...made, spec: { size: 2 }, status: { by: 'update' } },
    { subresource },
  );
  expect([updated.spec, updated.status]).toEqual([{ size: 1 }, { by: 'update' }]);
  const patched = await client.patch(things, 'a', { status: { by: 'patch' } }, { type: 'merge', subresource });
  expect(patched.status).toEqual({ by: 'patch' });
  const status = { by: 'apply' };
  const applied = await client.apply(
    things,
    { metadata: { name: 'a' }, status },
    { fieldManager: 'us', force: true, subresource },
  );
  expect(applied.status).toEqual(status);
  expect(await client.get(things, 'a', { subresource })).toEqual(applied);
});
