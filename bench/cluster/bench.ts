/**
 * The product from a tenant's write to the kernel, on a private cluster of two nodes with built image and chart. Beside it, in the same run and in
 * turns, the floor: two Node processes that do nothing but write and watch on the same API server, with the same client.
 *
 * A cluster of this name that runs already is used and left; else it is made, and taken down whatever happens.
 */
import { availableParallelism, loadavg } from 'node:os';
import { createClient, loadConfig } from '@podloom/kube';
import { clusterDown, clusterLoad, clusterUp } from '@podloom/local';
import { buildProduct, installChart } from '../../tools/deploy.ts';
import { keepAwake } from '../awake.ts';
import type { Bench } from '../report.ts';
import { agentFigures, writesPerAttachment } from './cost.ts';
import { startFloor } from './floor.ts';
import { latencies } from './latency.ts';
import { reportOn } from './results.ts';
import { openWorld } from './world.ts';

const name = 'bench';

export const bench: Bench = {
  async run(progress) {
    const loads = [loadavg()[0]!];
    progress('bringing a cluster up');
    const cluster = await clusterUp({ name, nodes: 2, throwAway: true });
    try {
      progress('installing the product');
      await install(cluster.kubeconfig);
      await using client = closing(createClient(await loadConfig({ path: cluster.kubeconfig })));
      await using world = await openWorld({ client: client.it, cluster: name, progress });
      await using floor = await startFloor({ client: client.it, kubeconfig: cluster.kubeconfig, namespace: 'default' });
      using awake = keepAwake();
      const measured = await latencies({ world, floor, progress });
      loads.push(loadavg()[0]!);
      progress('counting writes');
      const writes = await writesPerAttachment(world);
      const agents = await agentFigures(world, progress).catch(asError);
      loads.push(loadavg()[0]!);
      const disk = `The cluster's etcd ${cluster.throwAway ? 'does not wait' : 'waits'} for the disk, for the floor as for us.`;
      return reportOn({
        latencies: measured,
        writes,
        agents,
        loads,
        processors: availableParallelism(),
        conditions: [awake.note, disk],
      });
    } finally {
      if (cluster.started) await clusterDown({ name });
    }
  },
};

async function install(kubeconfig: string): Promise<void> {
  const { file, name: image, digest } = await buildProduct();
  await clusterLoad({ name, archive: file });
  await installChart({ kubeconfig, image, digest });
}

const closing = <T extends { close(): Promise<void> }>(it: T) => ({ it, [Symbol.asyncDispose]: () => it.close() });

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
