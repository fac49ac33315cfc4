/**
 * Finds the cluster to talk to: a path given, else KUBECONFIG, else the pod that we run in, else ~/.kube/config. The first that is there
 * decides; a kubeconfig that is there but wrong is an error, not a reason to look further.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import type { ClusterConfig } from './cluster.ts';
import { clusterOf } from './context.ts';
import { type Kubeconfig, mergeKubeconfigs, parseKubeconfig } from './file.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';

export interface LoadOptions {
  /** A kubeconfig file, or several separated as in PATH. */
  readonly path?: string | undefined;
  /** Default: the kubeconfig's current-context. */
  readonly context?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

export async function loadConfig(options: LoadOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env;
  const named = options.path ?? env['KUBECONFIG'];
  if (!named && options.context === undefined && isInCluster(env)) return inClusterConfig(env);
  const home = join(env['HOME'] ?? homedir(), '.kube', 'config');
  const paths = named ? named.split(delimiter).filter((path) => path !== '') : [home];

  const found = (await Promise.all(paths.map(readIfThere))).filter((config) => config !== undefined);
  if (found.length === 0) {
    throw new InvalidInput(
      'KUBECONFIG',
      `no kubeconfig at ${paths.join(', ')}; name one with --kubeconfig or KUBECONFIG, or run inside a cluster`,
    );
  }
  return clusterOf(mergeKubeconfigs(found), options.context, env);
}

async function readIfThere(path: string): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new InvalidInput('KUBECONFIG', `${path} cannot be read`, { cause });
  }
  return parseKubeconfig(text, path);
}
