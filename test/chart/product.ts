/**
 * The product on the cluster of the cluster tier: built image, chart, ready. Each file of tests that needs it says so and need not know whether another
 * has installed or removed it before.
 */
import { clusterLoad } from '@podloom/local';
import { inject } from 'vitest';
import { type Archive, buildProduct, installChart } from '../../tools/deploy.ts';

/** Builds the image where something changed, and puts it on the nodes of a private cluster. */
export async function ensureImage(cluster = inject('clusterName')): Promise<Archive> {
  const image = await buildProduct();
  if (cluster !== '') await clusterLoad({ name: cluster, archive: image.file });
  return image;
}

/** Also where it is installed already: then nothing changes. */
export async function ensureProduct(set: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { name: image, digest } = await ensureImage();
  await installChart({
    kubeconfig: inject('kubeconfig'),
    image,
    digest,
    set: { 'sampleDeployment.image': inject('toolsImage'), ...set },
  });
}
