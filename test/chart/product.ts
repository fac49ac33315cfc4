/**
 * The product on the cluster of the cluster tier: built image, chart, ready. Each file of tests that needs it says so and need not know whether another
 * has installed or removed it before.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clusterLoad } from '@podloom/local';
import { inject } from 'vitest';
import { installChart } from '../../tools/deploy.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of an administrator's kubeconfig. */
    kubeconfig: string;
    /** Name of the private cluster; empty where the cluster is the user's own. */
    clusterName: string;
    /** An image with a shell, ip, ping, nc and tcpdump that is on every node of a private cluster. */
    toolsImage: string;
  }
}

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

export interface ProductImage {
  readonly image: string;
  readonly digest: string;
}

/** Builds the image where something changed, and puts it on the nodes of a private cluster. */
export async function ensureImage(): Promise<ProductImage> {
  const archive = join(root, 'dist/podloom-image.tar');
  await run(process.execPath, ['deploy/image/build.ts', '--out', archive], { cwd: root });
  const { name, digest } = JSON.parse(readFileSync(`${archive}.json`, 'utf8')) as { name: string; digest: string };
  const cluster = inject('clusterName');
  if (cluster !== '') await clusterLoad({ name: cluster, archive });
  return { image: name, digest };
}

/** Also where it is installed already: then nothing changes. */
export async function ensureProduct(set: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { image, digest } = await ensureImage();
  await installChart({
    kubeconfig: inject('kubeconfig'),
    image,
    digest,
    set: { 'sampleDeployment.image': inject('toolsImage'), ...set },
  });
}
