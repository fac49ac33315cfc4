/**
 * What the kubelet and Prometheus ask a process over HTTP: /healthz (restart me if not), /readyz (I do my work) and /metrics. Checks look at what is known
 * already and never ask anyone, so that a slow API server cannot get all of us restarted.
 */
import type { AddressInfo } from 'node:net';
import { Unavailable } from '@podloom/api';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** Not imported: an import asks for every name of node:http, and some of them load all of Node's own fetch. */
const { createServer } = process.getBuiltinModule('node:http');

/** True, or the reason why not. */
export type Check = () => true | string;

export interface ServerOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Left out, every address of the machine: of IPv6 too, where its kernel has that. */
  readonly host?: string | undefined;
  readonly health?: Readonly<Record<string, Check>> | undefined;
  readonly ready?: Readonly<Record<string, Check>> | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Server {
  readonly port: number;
  /** Resolves when the signal has stopped it. */
  readonly ended: Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const { port, host, health = {}, ready = {}, metrics, log, signal } = options;
  const server = createServer((request, response) => {
    void answer(request.url?.split('?')[0] ?? '').then(([status, type, body]) => {
      response.writeHead(status, { 'content-type': type });
      return response.end(request.method === 'HEAD' ? undefined : body);
    });
  });

  async function answer(path: string): Promise<[status: number, type: string, body: string]> {
    switch (path) {
      case '/healthz':
        return report(health);
      case '/readyz':
        return report(ready);
      case '/metrics':
        try {
          return [200, metrics.contentType, await metrics.text()];
        } catch (error) {
          log.error({ err: error }, 'Could not collect metrics');
          return [500, 'text/plain', 'metrics cannot be collected, see the log\n'];
        }
      default:
        return [404, 'text/plain', 'there are /healthz, /readyz and /metrics\n'];
    }
  }

  signal.throwIfAborted();
  const ended = Promise.withResolvers<void>();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      reject(new Unavailable('PORT', `Port ${port} cannot be served: ${cause.message}; choose another`, { cause }));
    });
    server.listen({ port, host }, resolve);
  });
  signal.addEventListener(
    'abort',
    () => {
      server.close(() => ended.resolve());
      server.closeAllConnections();
    },
    { once: true },
  );
  return { port: (server.address() as AddressInfo).port, ended: ended.promise };
}

function report(checks: Readonly<Record<string, Check>>): [status: number, type: string, body: string] {
  const lines = Object.entries(checks).map(([name, check]) => ({ name, said: check() }));
  const status = lines.every(({ said }) => said === true) ? 200 : 503;
  const body = lines.map(({ name, said }) => (said === true ? `ok   ${name}\n` : `fail ${name}: ${said}\n`)).join('');
  return [status, 'text/plain', body || 'ok\n'];
}
