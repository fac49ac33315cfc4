/** How a pod reaches its own cluster: the service account that the kubelet mounts, and two environment variables. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import type { ClusterConfig } from './cluster.ts';
import { tokenFileCredentials } from './token-file.ts';

type Env = Readonly<Record<string, string | undefined>>;

export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

export function isInCluster(env: Env): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT']);
}

export async function inClusterConfig(env: Env, folder: string = serviceAccountFolder): Promise<ClusterConfig> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const server = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT']}`);
  return {
    server,
    namespace: (await read(join(folder, 'namespace'))).trim(),
    tls: async () => ({ ca: await read(join(folder, 'ca.crt')), insecure: false }),
    credentials: tokenFileCredentials(join(folder, 'token')),
    headers: {},
  };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Unavailable('SERVICE_ACCOUNT', `${path} cannot be read; is automountServiceAccountToken off?`, { cause });
  }
}
