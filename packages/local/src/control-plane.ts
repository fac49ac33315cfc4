/**
 * Only etcd and an API server, on this machine's loopback: what tests of a client or a controller need. It takes three
 * seconds and no root. Everything ends with the process that started it, even if that is killed.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { binaries, type BinariesOptions } from './binaries/build.ts';
import { renderAuthentication } from './config/authentication.ts';
import { apiServerArgs, authenticationFile, etcdArgs } from './config/control-plane.ts';
import { ensurePki } from './pki/files.ts';
import { httpsRequest, type Identity, isHealthy } from './process/https.ts';
import { end, hasEnded, startMortal } from './process/mortal.ts';
import { reservePorts } from './process/ports.ts';
import { waitFor } from './process/wait.ts';

export interface ControlPlaneOptions {
  /** A folder for data, certificates and logs; the caller removes it. */
  dir: string;
  progress?: BinariesOptions['progress'];
  signal?: AbortSignal;
}

export interface ControlPlane {
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string;
  /** Whose tokens the API server takes; it reads the file again when it changes. See renderAuthentication. */
  authentication: string;
  /** Ends the API server as an administrator would, and starts it again at the same address. */
  restartApiServer(): Promise<void>;
  /** SIGKILL: connections break without a word. */
  killApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
  /** Forgets all history, so that a watch from an older resourceVersion is answered with 410. */
  compactEtcd(): Promise<void>;
  stop(): Promise<void>;
}

export async function startControlPlane({ dir, progress, signal }: ControlPlaneOptions): Promise<ControlPlane> {
  const built = await binaries({
    modules: ['node', 'kubernetes'],
    ...(progress && { progress }),
    ...(signal && { signal }),
  });
  const pki = join(dir, 'pki');
  await using undo = new AsyncDisposableStack();
  const [clientPort, peerPort, apiPort] = undo.use(await reservePorts(3)).numbers as [number, number, number];
  const server = `https://127.0.0.1:${apiPort}`;
  await mkdir(dir, { recursive: true });
  await ensurePki(pki, { apiServerNames: ['127.0.0.1', 'localhost'], server, nodes: [] });
  const admin = await readIdentity(pki, 'admin');
  const etcdIdentity = await readIdentity(pki, 'etcd');
  const etcdUrl = `https://127.0.0.1:${clientPort}`;

  const etcdPlace = { dataDir: join(dir, 'etcd'), pki, clientPort, peerPort, unsafeNoFsync: true };
  const authentication = authenticationFile(dir);
  await writeFile(authentication, renderAuthentication());
  const apiPlace = {
    authentication,
    pki,
    etcdPort: clientPort,
    address: '127.0.0.1',
    port: apiPort,
    serviceRange: '10.96.0.0/16',
  };
  const etcd = startMortal(built.path('etcd'), etcdArgs(etcdPlace), join(dir, 'etcd.log'));
  undo.defer(() => end(etcd, 'SIGKILL'));
  let apiServer: ChildProcess | undefined;
  undo.defer(() => end(apiServer, 'SIGKILL'));

  async function startApiServer(): Promise<void> {
    const log = join(dir, 'kube-apiserver.log');
    const child = startMortal(built.path('kube-apiserver'), apiServerArgs(apiPlace), log);
    apiServer = child;
    await waitFor(
      async () => {
        if (hasEnded(child)) throw new Unavailable('API_SERVER', `kube-apiserver ended at once; see ${log}`);
        return isHealthy(`${server}/readyz`, admin);
      },
      { what: 'A ready API server', timeoutMs: 180_000, signal },
    );
  }

  async function askEtcd(path: string, body: unknown): Promise<{ header: { revision: string } }> {
    const { status, body: text } = await httpsRequest(`${etcdUrl}${path}`, etcdIdentity, body);
    if (status !== 200) throw new Unavailable('ETCD', `etcd answered ${path} with ${status}: ${text}`);
    return JSON.parse(text) as { header: { revision: string } };
  }

  await startApiServer();
  const owned = undo.move();
  return {
    kubeconfig: join(pki, 'admin.kubeconfig'),
    authentication,
    startApiServer,
    killApiServer: () => end(apiServer, 'SIGKILL'),
    async restartApiServer() {
      await end(apiServer, 'SIGTERM');
      await startApiServer();
    },
    async compactEtcd() {
      const { header } = await askEtcd('/v3/kv/range', { key: Buffer.from('/').toString('base64') });
      await askEtcd('/v3/kv/compaction', { revision: header.revision, physical: true });
    },
    stop: () => owned.disposeAsync(),
  };
}

async function readIdentity(pki: string, name: string): Promise<Identity> {
  const [ca, cert, key] = await Promise.all(
    ['ca.crt', `${name}.crt`, `${name}.key`].map(async (file) => readFile(join(pki, file), 'utf8')),
  );
  return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' };
}
