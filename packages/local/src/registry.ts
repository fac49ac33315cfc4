/**
 * Only a registry, on this machine's loopback: what tests of a client need. It takes a second and no root. It ends with the process that
 * started it, even if that is killed.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unavailable } from '@podloom/api';
import { binaries, type BinariesOptions } from './binaries/build.ts';
import { renderRegistry } from './config/registry.ts';
import { isAnswered } from './process/https.ts';
import { end, hasEnded, startMortal } from './process/mortal.ts';
import { reservePorts } from './process/ports.ts';
import { run } from './process/run.ts';
import { waitFor } from './process/wait.ts';

export interface RegistryServerOptions {
  /** A folder for images, certificates and the log; the caller removes it. */
  dir: string;
  /** How it knows who asks, in the words of its own configuration; default: one account with a password. */
  auth?: object;
  progress?: BinariesOptions['progress'];
  signal?: AbortSignal;
}

export interface RegistryServer {
  url: string;
  /** Certificate of the authority that its own is from. */
  ca: string;
  credentials: { username: string; password: string };
  stop(): Promise<void>;
}

export async function startRegistry({ dir, auth, progress, signal }: RegistryServerOptions): Promise<RegistryServer> {
  const built = await binaries({ modules: ['registry'], ...(progress && { progress }), ...(signal && { signal }) });
  await using undo = new AsyncDisposableStack();
  const [port] = undo.use(await reservePorts(1)).numbers;
  const address = `127.0.0.1:${port}`;
  const program = built.path('registry');
  const file = (name: string) => join(dir, name);
  await mkdir(file('images'), { recursive: true });

  const { createAuthority } = await import('./pki/x509.ts');
  const authority = await createAuthority('podloom');
  const pair = await authority.issue({ commonName: 'podloom-registry', names: ['127.0.0.1', 'localhost'] });
  const credentials = { username: 'podloom', password: randomBytes(24).toString('base64url') };
  const hash = await run(program, ['hash-password'], { input: credentials.password });
  const accounts = { htpasswd: { realm: 'podloom', path: file('accounts') } };
  const place = { address, images: file('images'), certificate: file('tls.crt'), key: file('tls.key') };
  const files = {
    'tls.crt': pair.certificate,
    'tls.key': pair.key,
    accounts: `${credentials.username}:${hash.trim()}\n`,
    'config.json': renderRegistry({ ...place, auth: auth ?? accounts, secret: credentials.password }),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(file(name), text, { mode: 0o600 });

  const env = { OTEL_TRACES_EXPORTER: 'none' };
  const child = startMortal(program, ['serve', file('config.json')], file('registry.log'), env);
  undo.defer(() => end(child, 'SIGKILL'));
  const ca = authority.pair.certificate;
  const url = `https://${address}`;
  await waitFor(
    async () => {
      if (hasEnded(child)) throw new Unavailable('REGISTRY', `The registry ended at once; see ${file('registry.log')}`);
      return isAnswered(`${url}/v2/`, { ca }, 401);
    },
    { what: 'An answer of the registry', timeoutMs: 60_000, signal },
  );
  const owned = undo.move();
  return { url, ca, credentials, stop: () => owned.disposeAsync() };
}
