/**
 * Finds the cluster to talk to: a path given, else KUBECONFIG, else the pod that we run in, else ~/.kube/config. The first that is there
 * decides; a kubeconfig that is there but wrong is an error, not a reason to look further.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import type { ClusterConfig } from './cluster.ts';
import type { Kubeconfig } from './file.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface LoadOptions {
  /** A kubeconfig file, or several separated as in PATH. */
  readonly path?: string | undefined;
  /** Default: the kubeconfig's current-context. */
  readonly context?: string | undefined;
  readonly env?: Env | undefined;
}

export async function loadConfig(options: LoadOptions = {}): Promise<ClusterConfig> {
  const env = options.env ?? process.env;
  const named = options.path ?? env['KUBECONFIG'];
  if (!named && options.context === undefined && isInCluster(env)) return inClusterConfig(env);
  return kubeconfig(options, env, named);
}

/** What reads YAML is loaded when needed: in a pod it never is. */
async function kubeconfig({ context }: LoadOptions, env: Env, named: string | undefined): Promise<ClusterConfig> {
  const [{ mergeKubeconfigs, parseKubeconfig }, { clusterOf }] = await Promise.all([
    import('./file.ts'),
    import('./context.ts'),
  ]);
  const home = join(env['HOME'] ?? homedir(), '.kube', 'config');
  const paths = named ? named.split(delimiter).filter((path) => path !== '') : [home];

  const found = (await Promise.all(paths.map((path) => readIfThere(path, parseKubeconfig)))).filter(
    (config) => config !== undefined,
  );
  if (found.length === 0) {
    throw new InvalidInput(
      'KUBECONFIG',
      `no kubeconfig at ${paths.join(', ')}; name one with --kubeconfig or KUBECONFIG, or run inside a cluster`,
    );
  }
  return clusterOf(mergeKubeconfigs(found), context, env);
}

async function readIfThere(
  path: string,
  parse: (text: string, path: string) => Kubeconfig,
): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new InvalidInput('KUBECONFIG', `${path} cannot be read`, { cause });
  }
  return parse(text, path);
}
