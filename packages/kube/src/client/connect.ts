/** Opens the sockets to the API server, for calls and for exec's WebSocket alike: through the proxy if there is one, with the newest certificates. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ClusterConfig } from '../kubeconfig/cluster.ts';
import type { Target } from './proxy.ts';

export interface ConnectOptions {
  readonly timeoutMs: number;
  readonly keepAliveMs: number;
  readonly allowH2: boolean;
}

export async function openSocket(config: ClusterConfig, options: ConnectOptions): Promise<Socket> {
  const { server, proxy } = config;
  const [tls, credentials] = await Promise.all([config.tls(), config.credentials.get()]);
  const isTls = server.protocol === 'https:';
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const port = Number(server.port || (isTls ? 443 : 80));
  const tunnel = proxy && (await throughProxy(proxy, { hostname: host, port }, options.timeoutMs));
  const certificate = credentials.certificate ?? tls.certificate;
  const socket = isTls
    ? connectTls({
        ...(tunnel ? { socket: tunnel } : { port }),
        host,
        // An address is no name that a server could be asked for.
        servername: tls.serverName ?? (isIP(host) === 0 ? host : ''),
        ...(tls.ca === undefined ? {} : { ca: tls.ca }),
        ...certificate,
        rejectUnauthorized: !tls.insecure,
        ALPNProtocols: options.allowH2 ? ['h2', 'http/1.1'] : ['http/1.1'],
      })
    : (tunnel ?? connect({ host, port }));
  socket.setNoDelay(true);
  socket.setKeepAlive(true, options.keepAliveMs);
  if (isTls || !tunnel) await opened(socket, isTls ? 'secureConnect' : 'connect', options.timeoutMs);
  return socket;
}

async function opened(socket: Socket, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<void> {
  const late = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once(event, resolve).once('error', reject);
  try {
    await promise;
  } finally {
    clearTimeout(late);
    socket.off(event, resolve).off('error', reject);
  }
}

/** Loaded when needed, which in a cluster it is not. */
async function throughProxy(proxy: URL, target: Target, timeoutMs: number): Promise<Socket> {
  const { tunnel } = await import('./proxy.ts');
  return tunnel(proxy, target, timeoutMs);
}
