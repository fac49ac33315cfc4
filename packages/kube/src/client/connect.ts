/**
 * Opens the sockets to the API server, for undici and for exec's WebSocket alike: through the proxy if there is one, with the newest
 * certificates, and watched for life.
 *
 * A connection whose other end vanished without a word looks exactly like a quiet watch. On HTTP/2, undici sends pings but does not
 * mind when none is answered; so here a socket that received nothing over two whole ping intervals is destroyed. On HTTP/1.1 there
 * are no pings, and TCP keep-alive does the same for all but a peer that hangs.
 */
import type { Socket } from 'node:net';
import type { ClusterConfig } from '../kubeconfig/cluster.ts';
import type { Target } from './proxy.ts';
import { buildConnector } from './undici.ts';

export interface ConnectOptions {
  readonly timeoutMs: number;
  readonly pingIntervalMs: number;
  readonly allowH2: boolean;
}

export async function openSocket(config: ClusterConfig, options: ConnectOptions): Promise<Socket> {
  const { server, proxy } = config;
  const [tls, credentials] = await Promise.all([config.tls(), config.credentials.get()]);
  // Files first: they were read just now.
  const certificate = tls.certificate ?? credentials.certificate;
  const connect = buildConnector({
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...certificate,
    rejectUnauthorized: !tls.insecure,
    allowH2: options.allowH2,
    preferH2: true,
    timeout: options.timeoutMs,
    keepAliveInitialDelay: options.pingIntervalMs,
  });
  const hostname = server.hostname.replace(/^\[|\]$/g, '');
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const httpSocket = proxy ? await throughProxy(proxy, { hostname, port: Number(port) }, options.timeoutMs) : undefined;
  if (httpSocket && server.protocol !== 'https:') return httpSocket;
  const socket = await new Promise<Socket>((resolve, reject) => {
    const target = {
      hostname,
      host: server.host,
      protocol: server.protocol,
      port,
      ...(httpSocket ? { httpSocket } : {}),
    };
    connect(target, (error, opened) => (opened ? resolve(opened) : reject(error)));
  });
  if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') watchForSilence(socket, options.pingIntervalMs);
  return socket;
}

function watchForSilence(socket: Socket, pingIntervalMs: number): void {
  let received = socket.bytesRead;
  let silentTicks = 0;
  // Ticks are counted, not time: a process that was itself stopped for a while must first get to read what has arrived.
  const timer = setInterval(() => {
    silentTicks = socket.bytesRead === received ? silentTicks + 1 : 0;
    received = socket.bytesRead;
    if (silentTicks >= 2) socket.destroy(new Error(`no sign of life for ${2 * pingIntervalMs} ms`));
  }, pingIntervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}

/** Loaded when needed, which in a cluster it is not. */
async function throughProxy(proxy: URL, target: Target, timeoutMs: number): Promise<Socket> {
  const { tunnel } = await import('./proxy.ts');
  return tunnel(proxy, target, timeoutMs);
}
