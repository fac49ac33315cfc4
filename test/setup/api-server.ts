/** Gives the tests of the api tier a real API server with nothing behind it but etcd. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startControlPlane } from '@podloom/local';
import type { TestProject } from 'vitest/node';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'podloom-api-'));
  const remove = async () => rm(dir, { recursive: true, force: true });
  try {
    const controlPlane = await startControlPlane({ dir });
    project.provide('kubeconfig', controlPlane.kubeconfig);
    return async () => {
      await controlPlane.stop();
      await remove();
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
