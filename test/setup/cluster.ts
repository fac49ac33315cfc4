/**
 * Gives the tests of the cluster tier a real cluster of two nodes: the one that KUBECONFIG names (`make test-cluster` only), else a private one
 * that is gone afterwards.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterLoad, clusterUp, toolsImage } from '@podloom/local';
import type { TestProject } from 'vitest/node';
import { guardCluster } from './guard.ts';

const image = 'podloom.local/tools:test';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('toolsImage', image);
  const own = process.env['KUBECONFIG'];
  if (own) {
    project.provide('kubeconfig', own);
    project.provide('clusterName', '');
    return async () => undefined;
  }
  const name = `t${process.pid}`;
  const dir = await mkdtemp(join(tmpdir(), 'podloom-cluster-'));
  const remove = guardCluster(name, dir);
  try {
    const [{ kubeconfig }, tools] = await Promise.all([
      clusterUp({ name, throwAway: true }),
      toolsImage({ out: join(dir, 'tools.tar'), name: image }),
    ]);
    await clusterLoad({ name, archive: tools.out });
    project.provide('kubeconfig', kubeconfig);
    project.provide('clusterName', name);
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}
