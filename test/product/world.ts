/** The product on a real cluster as its users see it: kubectl and podloom, the inside of a pod, and the network of a node. */
import { join } from 'node:path';
import { clusterLoad, toolsImage } from '@podloom/local';
import { expect, inject } from 'vitest';
import { privateClusterOf } from '../../tools/clients.ts';
import { commandsFor, type Commands } from '../chart/installed.ts';
import { ensureImage, ensureProduct } from '../chart/product.ts';
import { eventually } from '../setup/eventually.ts';
import { openNodes, type Nodes } from './nodes.ts';
import type { Pod } from './objects.ts';
import { openScene, type Scene } from './scene.ts';

const root = join(import.meta.dirname, '../..');

export interface World extends Commands, Nodes {
  scene(name: string): Promise<Scene>;
  /** Returns when no pod of the cluster is on its way in or out: only then can what others have on a node be compared. */
  calm(): Promise<void>;
  /** Waits for the namespaces of all scenes: the next file finds the nodes as this one did. */
  end(): Promise<void>;
}

const cluster = inject('clusterName') || ((await privateClusterOf(inject('kubeconfig')))?.name ?? '');

/** Looking at nodes needs a private cluster. */
export const isPrivate = cluster !== '';

const isMoving = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined ||
  (!['Succeeded', 'Failed'].includes(status.phase) && !status.containerStatuses?.every(({ ready }) => ready));

export async function openWorld(): Promise<World> {
  const kubeconfig = inject('kubeconfig');
  const commands = await commandsFor(kubeconfig);
  if (inject('clusterName') === '') {
    const { out } = await toolsImage({ out: join(root, 'dist/tools-test.tar'), name: inject('toolsImage') });
    await clusterLoad({ name: cluster, archive: out });
    await ensureImage(cluster);
  }
  await ensureProduct();
  const nodes = await openNodes(cluster);
  return {
    ...commands,
    ...nodes,
    calm: () =>
      eventually(async () => {
        const { items: namespaces } = await commands.get<{ items: { status: { phase: string } }[] }>('namespaces');
        expect(namespaces.filter(({ status }) => status.phase !== 'Active')).toEqual([]);
        const { items: pods } = await commands.get<{ items: Pod[] }>('pods', '--all-namespaces');
        expect(pods.filter(isMoving)).toEqual([]);
      }),
    async end() {
      await commands.kube(['delete', 'namespace', '--selector=podloom-test=scene', '--wait', '--timeout=600s']);
    },
    scene: (name) => openScene(commands, nodes, name),
  };
}
