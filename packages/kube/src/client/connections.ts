/**
 * The connections to one API server: one HTTP/2 connection for all calls and watches where the server speaks it, more when that is full or the server
 * leaves it; HTTP/1.1 where it does not.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { ClusterConfig } from '../kubeconfig/cluster.ts';
import { type ConnectOptions, openSocket } from './connect.ts';
import type { Http1Connections } from './http1.ts';
import { type Http2Connection, Refused, http2Connection } from './http2.ts';

export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | undefined;
  /** The answer goes on for as long as it likes. */
  readonly endless: boolean;
  readonly headersTimeoutMs: number;
  /** Between two pieces of the answer. */
  readonly bodyTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** An answer that has begun. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Uint8Array>;
}

export interface Connections {
  begin(outgoing: Outgoing): Promise<Answer>;
  /** New calls go over new connections; what runs over the old ones may end in peace. */
  renew(): void;
  /** Ends all of them, also those that the server is leaving and those that were renewed: watches may still run over them. */
  close(): void;
}

/** A server that leaves connection after connection cannot be served. */
const mostRefusals = 5;

export function connections(config: ClusterConfig, options: ConnectOptions, pingIntervalMs: number): Connections {
  const { origin, host } = config.server;
  const sockets = new Set<Socket>();
  const all = new Set<Http2Connection>();
  let opening: Promise<void> | undefined;
  let older: Http1Connections | undefined;
  let isClosed = false;

  async function open(): Promise<Socket> {
    const socket = await openSocket(config, options);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (isClosed) socket.destroy(closed());
    return socket;
  }

  async function openOne(): Promise<void> {
    const socket = config.server.protocol === 'https:' ? await open() : undefined;
    if (socket && 'alpnProtocol' in socket && socket.alpnProtocol === 'h2') {
      const connection = await http2Connection(socket, origin, pingIntervalMs);
      all.add(connection);
      socket.once('close', () => all.delete(connection));
      return;
    }
    const { http1Connections } = await import('./http1.ts');
    const spare = socket ? [socket] : [];
    older = http1Connections(async () => spare.pop() ?? open(), host);
  }

  /** Who comes while one is being opened waits for that one. Looking and taking are one step: nobody else can take the last place in between. */
  async function begin(outgoing: Outgoing): Promise<Answer> {
    for (;;) {
      if (isClosed) throw closed();
      const free = older ?? all.values().find(({ isFree }) => isFree);
      if (free) return free.begin(outgoing);
      opening ??= openOne().finally(() => (opening = undefined));
      await unlessAborted(outgoing.signal, opening);
    }
  }

  return {
    async begin(outgoing) {
      for (let refusals = 0; ; refusals += 1) {
        try {
          return await begin(outgoing);
        } catch (error) {
          if (!(error instanceof Refused) || refusals >= mostRefusals) throw error;
        }
      }
    },
    renew() {
      for (const connection of all) connection.leave();
      all.clear();
      older = undefined;
    },
    close() {
      isClosed = true;
      for (const socket of sockets) socket.destroy(closed());
    },
  };
}

/** As the promise, for as long as the caller waits. */
function unlessAborted<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

const closed = (): Error => new Error('the client is closed');
