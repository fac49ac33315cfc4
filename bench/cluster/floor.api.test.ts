/** The floor on a real API server: whoever waits for it hears when there is nothing to wait for any more. */
import { configMaps, createClient, loadConfig, namespaces } from '@podloom/kube';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import '../../test/setup/provided.ts';
import { startFloor } from './floor.ts';

const kubeconfig = inject('kubeconfig');
const namespace = `floor-${process.pid}`;
const client = createClient(await loadConfig({ path: kubeconfig }));

beforeAll(() => client.create(namespaces, { metadata: { name: namespace } }));
afterAll(async () => {
  await client.delete(namespaces, namespace);
  await client.close();
});

it('answers as often as it is asked to', async () => {
  await using floor = await startFloor({ client, kubeconfig, namespace });
  expect(await floor.round(3)).toBeGreaterThan(0);
});

it('fails when its other process cannot start', async () => {
  const starting = startFloor({ client, kubeconfig: '/nowhere', namespace });
  await expect(starting).rejects.toThrow('The other process of the floor ended with 1');
});

it('fails when its other process ends in a round', async () => {
  await using floor = await startFloor({ client, kubeconfig, namespace });
  // The answer that it is about to write is there already.
  await client.create(configMaps, { metadata: { name: 'floor-ask-1-0', namespace } }, { namespace });
  await expect(floor.round(1)).rejects.toThrow('The other process of the floor ended with 1');
});
