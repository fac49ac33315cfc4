/**
 * The product from a tenant's write to the kernel, on a private cluster of two nodes with built image and chart. Beside it, in the same run and in
 * turns, the floor: two Node processes that do nothing but write and watch on the same API server, with the same client.
 *
 * A cluster of this name that runs already is used and left, unless an earlier run has left something there; else it is made, and taken down whatever
 * happens.
 */
import { availableParallelism, loadavg } from 'node:os';
import { createClient, loadConfig } from '@podloom/kube';
import { clusterLoad, clusterNames, clusterStatus, clusterUp } from '@podloom/local';
import { guardCluster } from '../../test/setup/guard.ts';
import { buildProduct, installChart } from '../../tools/deploy.ts';
import { keepAwake } from '../awake.ts';
import type { Bench } from '../report.ts';
import { agentFigures, writesPerAttachment } from './cost.ts';
import { startFloor } from './floor.ts';
import { latencies } from './latency.ts';
import { reportOn } from './results.ts';
import { claimNamespace, openWorld } from './world.ts';

const name = 'bench';

export const bench: Bench = {
  async run(progress) {
    const loads = [loadavg()[0]!];
    progress('bringing a cluster up');
    const wasRunning = (await clusterNames()).includes(name) && (await clusterStatus({ name })).phase !== 'stopped';
    await using _ = wasRunning ? undefined : { [Symbol.asyncDispose]: guardCluster(name) };
    const { kubeconfig, throwAway } = await clusterUp({ name, nodes: 2, throwAway: true });
    await using client = closing(createClient(await loadConfig({ path: kubeconfig })));
    await claimNamespace(client.it, kubeconfig);
    progress('installing the product');
    await install(kubeconfig);
    await using world = await openWorld({ client: client.it, cluster: name, progress });
    await using floor = await startFloor({ client: client.it, kubeconfig, namespace: 'default' });
    using awake = keepAwake();
    const measured = await latencies({ world, floor, progress });
    loads.push(loadavg()[0]!);
    progress('counting writes');
    const writes = await writesPerAttachment(world);
    const agents = await agentFigures(world, progress).catch(asError);
    loads.push(loadavg()[0]!);
    const conditions = [
      awake.note,
      `The cluster's etcd ${throwAway ? 'does not wait' : 'waits'} for the disk, for the floor as for us.`,
      ...(wasRunning ? ['The cluster ran before: what else is on it had its part in all figures.'] : []),
    ];
    return reportOn({ latencies: measured, writes, agents, loads, processors: availableParallelism(), conditions });
  },
};

async function install(kubeconfig: string): Promise<void> {
  const { file, name: image, digest } = await buildProduct();
  await clusterLoad({ name, archive: file });
  await installChart({ kubeconfig, image, digest });
}

const closing = <T extends { close(): Promise<void> }>(it: T) => ({ it, [Symbol.asyncDispose]: () => it.close() });

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
