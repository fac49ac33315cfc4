/**
 * Servers that misbehave on purpose, for what a real API server cannot be made to do in a test: cut a line in the middle of a character,
 * fall silent, refuse a token at the right moment. Everything that a real one can show is tested against a real one (*.api.test.ts).
 */
import { EventEmitter, once } from 'node:events';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { type ClusterConfig, type CredentialSource, fixedCredentials } from '../../kubeconfig/cluster.ts';
import { configMaps } from '../builtin.ts';
import type { Client, WatchEvent } from '../client.ts';
import { type ClientOptions, createClient } from '../create-client.ts';
import { selfSigned } from './self-signed.ts';

export type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export interface TestServer {
  readonly port: number;
  readonly ca: string;
  /** How many connections there have been. */
  connections(): number;
  /** Settles when that many HTTP/2 pings have come. */
  pings(count: number): Promise<void>;
  /** Ends every connection as a crash would. */
  cut(): void;
}

export const serverCertificate = selfSigned('test server');

interface ServerOptions {
  readonly protocol?: 'h2' | 'http/1.1';
  readonly maxStreams?: number;
  readonly requestCert?: boolean;
}

export async function startServer(handler: Handler, options: ServerOptions = {}): Promise<TestServer> {
  const settings = {
    ...serverCertificate,
    ...(options.requestCert ? { requestCert: true, rejectUnauthorized: false } : {}),
  };
  const server =
    options.protocol === 'http/1.1'
      ? createHttpsServer(settings, handler as never)
      : createSecureServer({ ...settings, settings: { maxConcurrentStreams: options.maxStreams ?? 250 } }, handler);
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('secureConnection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => sockets.delete(socket));
  });
  const pinged = new EventEmitter();
  server.on('session', (session: ServerHttp2Session) => session.on('ping', () => pinged.emit('ping')));
  const port = await listen(server);
  const cut = () => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    cut();
    server.close();
  });
  const pings = async (count: number) => {
    for (let seen = 0; seen < count; seen += 1) await once(pinged, 'ping');
  };
  return { port, ca: serverCertificate.cert, connections: () => connections, pings, cut };
}

export function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

export interface Freezer {
  readonly port: number;
  freeze(): void;
  thaw(): void;
  /** How many connections there have been. */
  connections(): number;
}

/** Passes bytes on until `freeze`: from then on the connection is open on both sides, and dead. */
export async function startFreezer(targetPort: number, targetHost = '127.0.0.1'): Promise<Freezer> {
  let frozen = false;
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    connections += 1;
    const target = connect(targetPort, targetHost);
    for (const [from, to] of [[client, target] as const, [target, client] as const]) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!frozen) to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  const port = await listen(server);
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return { port, freeze: () => (frozen = true), thaw: () => (frozen = false), connections: () => connections };
}

interface ConfigOptions {
  readonly path?: string;
  readonly credentials?: CredentialSource;
  readonly tls?: Partial<Awaited<ReturnType<ClusterConfig['tls']>>>;
  readonly proxy?: URL;
}

export function configFor(port: number, options: ConfigOptions = {}): ClusterConfig {
  return {
    server: new URL(`https://127.0.0.1:${port}${options.path ?? ''}`),
    namespace: 'default',
    tls: async () => ({ ca: serverCertificate.cert, insecure: false, ...options.tls }),
    proxy: options.proxy,
    credentials: options.credentials ?? fixedCredentials({}),
    headers: {},
  };
}

export function clientFor(port: number, config: ConfigOptions = {}, options: ClientOptions = {}): Client {
  const client = createClient(configFor(port, config), options);
  onTestFinished(() => client.close());
  return client;
}

export function sendJson(
  response: Http2ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** What an API server says of a failure. */
export function status(code: number, reason: string, message = reason): object {
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message };
}

/** A promise that a handler settles: the fact that a test waits for. */
export function fact<T = void>(): { readonly seen: Promise<T>; readonly happen: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { seen: promise, happen: resolve };
}

export const empty = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] };
export const event = (name: string) =>
  `${JSON.stringify({ type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name } } })}\n`;

/** Answers a watch with one event and keeps it open; everything else with an empty list. */
export const watchable: Handler = (request, response) => {
  if (!request.url.includes('watch=true')) return sendJson(response, 200, empty);
  response.writeHead(200);
  response.write(event('first'));
};

export async function openWatch(client: Client): Promise<AsyncIterator<WatchEvent<unknown>>> {
  const events = client.watch(configMaps)[Symbol.asyncIterator]();
  expect((await events.next()).value).toMatchObject({ type: 'ADDED' });
  return events;
}

export async function failureOf(run: Promise<unknown>): Promise<unknown> {
  try {
    await run;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}
