/** The control plane that other packages' tests stand on. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, loadConfig, namespaces } from '@podloom/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

let dir: string;
let controlPlane: ControlPlane;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-control-plane-'));
  controlPlane = await startControlPlane({ dir });
});

afterAll(async () => {
  await controlPlane?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function connect() {
  return createClient(await loadConfig({ path: controlPlane.kubeconfig }));
}

it('keeps its objects and its address when the API server is killed and started again', async () => {
  const before = await readFile(controlPlane.kubeconfig, 'utf8');
  const first = await connect();
  await first.create(namespaces, { metadata: { name: 'kept' } });
  await first.close();
  await controlPlane.killApiServer();
  await controlPlane.startApiServer();
  const second = await connect();
  expect((await second.get(namespaces, 'kept')).metadata.name).toBe('kept');
  await second.close();
  expect(await readFile(controlPlane.kubeconfig, 'utf8')).toBe(before);
});
