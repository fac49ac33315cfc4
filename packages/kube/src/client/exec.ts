/**
 * Runs a command in a container over a WebSocket. Each message starts with its channel: 0 to 2 are the standard streams, 3 carries the
 * outcome as a Status, and 255 (v5.channel.k8s.io only) closes one of the others. The one importer of ws.
 */
import { InvalidInput, Unavailable } from '@podloom/api';
import { WebSocket } from 'ws';
import type { ClusterConfig, Credentials } from '../kubeconfig/cluster.ts';
import type { ExecOptions, ExecResult } from './client.ts';
import { openSocket } from './connect.ts';
import { isUnauthorized, translateStatus } from './errors.ts';
import { readJson } from './read-json.ts';
import { connectOptions, translated, type TransportOptions, unlessAborted } from './transport.ts';

const stdinChannel = 0;
const closeChannel = 255;

export async function execInPod(
  config: ClusterConfig,
  transport: TransportOptions,
  path: string,
  options: ExecOptions,
): Promise<ExecResult> {
  if (options.command.length === 0) throw new InvalidInput('EXEC_COMMAND', 'the command to run is empty');
  options.signal?.throwIfAborted();
  const credentials = await unlessAborted(options.signal, config.credentials.get());
  try {
    return await attempt(config, credentials, transport, path, options);
  } catch (error) {
    if (!isUnauthorized(error) || !config.credentials.renew(credentials)) throw error;
    const renewed = await unlessAborted(options.signal, config.credentials.get());
    return attempt(config, renewed, transport, path, options);
  }
}

async function attempt(
  config: ClusterConfig,
  { authorization }: Credentials,
  transport: TransportOptions,
  path: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const { signal } = options;
  const what = `exec ${path}`;
  const socketOptions = { ...connectOptions(transport), allowH2: false };
  const open = async () => {
    const opened = await openSocket(config, socketOptions);
    // Nobody waits for it any more.
    if (signal?.aborted) opened.destroy();
    return opened;
  };
  const socket = await translated(what, signal, () => unlessAborted(signal, open()));
  // Without v5 nothing can tell the command that its input has ended.
  const protocols = options.stdin === undefined ? ['v5.channel.k8s.io', 'v4.channel.k8s.io'] : ['v5.channel.k8s.io'];
  const url = new URL(config.server);
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  url.search = execQuery(options);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const ws = new WebSocket(url, protocols, {
    createConnection: () => socket,
    headers: {
      ...config.headers,
      'user-agent': transport.userAgent ?? 'podloom',
      ...(authorization ? { authorization } : {}),
    },
  });
  const abort = () => ws.terminate();
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await translated(what, signal, () => conversation(ws, options, what));
  } finally {
    signal?.removeEventListener('abort', abort);
    ws.terminate();
  }
}

function execQuery({ command, container, stdin }: ExecOptions): string {
  const query = new URLSearchParams({ stdout: 'true', stderr: 'true' });
  if (stdin !== undefined) query.set('stdin', 'true');
  if (container !== undefined) query.set('container', container);
  for (const argument of command) query.append('command', argument);
  return query.toString();
}

async function conversation(ws: WebSocket, { stdin }: ExecOptions, what: string): Promise<ExecResult> {
  const output: Buffer[][] = [[], [], [], []];
  await new Promise<void>((resolve, reject) => {
    ws.on('unexpected-response', (_request, response) => {
      readJson(response)
        .then((body) => reject(translateStatus(response.statusCode ?? 500, body, what)))
        .catch(reject);
    });
    ws.on('error', reject);
    ws.on('open', () => {
      if (stdin === undefined) return;
      ws.send(Buffer.concat([Buffer.of(stdinChannel), Buffer.from(stdin)]));
      ws.send(Buffer.of(closeChannel, stdinChannel));
    });
    ws.on('message', (data: Buffer) => output[data[0] ?? 0]?.push(data.subarray(1)));
    ws.on('close', () => resolve());
  });
  const [, stdout = '', stderr = '', status = ''] = output.map((chunks) => Buffer.concat(chunks).toString('utf8'));
  return { stdout, stderr, exitCode: exitCodeOf(status, what) };
}

/** A connection that ends without a Status was cut: whether the command ended, and how, is not known. */
function exitCodeOf(text: string, what: string): number {
  if (text === '') throw new Unavailable('EXEC_CUT', `the connection ended before the command did (${what})`);
  const status = JSON.parse(text) as {
    status?: string;
    code?: number;
    details?: { causes?: { reason?: string; message?: string }[] };
  };
  if (status.status === 'Success') return 0;
  const exit = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  if (exit) return Number(exit.message);
  throw translateStatus(status.code ?? 500, status, what);
}
