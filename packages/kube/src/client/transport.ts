/**
 * Sends requests to one API server: one HTTP/2 connection for all calls and watches where the server speaks it, HTTP/1.1 where not.
 * Adds credentials, renews them once after a 401, waits as the server says after a 429, and translates every failure.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PodloomError } from '@podloom/api';
import type { ClusterConfig, Credentials } from '../kubeconfig/cluster.ts';
import { connectionError, translateStatus } from './errors.ts';
import { openSocket } from './connect.ts';
import { finishing } from './finishing.ts';
import { endWhenInTheWay } from './leaving.ts';
import { readJson } from './read-json.ts';
import { Agent, type buildConnector, type Client, type Dispatcher, request } from './undici.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute, below the server's own path, already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  /** The answer goes on for as long as it likes: a watch, or logs that are followed. */
  readonly endless?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  /** How the API server's audit log names us. */
  readonly userAgent?: string | undefined;
  /** A connection that is silent for twice this long is given up. */
  readonly pingIntervalMs?: number | undefined;
  readonly allowH2?: boolean | undefined;
}

export interface Transport {
  /** Resolves only with a 2xx. */
  send(call: Call): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
/** The server's own limit for a request is 60 s; its answer to that tells more than ours. */
const headersTimeoutMs = 65_000;
const bodyTimeoutMs = 30_000;
const defaultPingIntervalMs = 4_000;
/** Shorter than the 90 s after which the API server closes an idle connection. */
const idleTimeoutMs = 60_000;
const maxRetries = 5;
/** Who asks for more patience than this gets to decide for himself. */
const longestRetryAfterMs = 30_000;
/** As long as the longest backoff of a queue. A day is a mistake, or a date by a clock that is wrong. */
const believedRetryAfterMs = 120_000;

class PatientAgent extends Agent {
  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const hasBody = options.body !== undefined && options.body !== null;
    return super.dispatch(options, finishing(handler, hasBody));
  }
}

export function connectOptions({ pingIntervalMs = defaultPingIntervalMs, allowH2 = true }: TransportOptions) {
  return { timeoutMs: connectTimeoutMs, pingIntervalMs, allowH2 };
}

export function createTransport(config: ClusterConfig, options: TransportOptions = {}): Transport {
  const socketOptions = connectOptions(options);
  const sockets = new Set<Socket>();
  const connect = async (owner: Agent, callback: buildConnector.Callback) => {
    let socket: Socket;
    try {
      socket = await openSocket(config, socketOptions);
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Tells within the callback which of its clients took the socket.
    owner.once('connect', (_, clients) => {
      endWhenInTheWay(clients.at(-1) as Client, socket, socketOptions.pingIntervalMs);
    });
    callback(null, socket);
  };
  const newAgent = () => {
    const made: Agent = new PatientAgent({
      allowH2: socketOptions.allowH2,
      h2Options: { pingInterval: socketOptions.pingIntervalMs },
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connect: (_, callback) => void connect(made, callback),
    });
    return made;
  };
  let agent = newAgent();
  const retired = new Set<Agent>();
  let closed = false;
  const prefix = config.server.pathname.replace(/\/$/, '');

  async function attempt(call: Call) {
    const credentials = await config.credentials.get();
    call.signal?.throwIfAborted();
    const response = await request(agent, {
      origin: config.server.origin,
      path: prefix + call.path + queryString(call.query),
      method: call.method,
      headers: {
        accept: 'application/json',
        'user-agent': options.userAgent ?? 'podloom',
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...config.headers,
        ...call.headers,
        ...(credentials.authorization ? { authorization: credentials.authorization } : {}),
      },
      body: call.body ?? null,
      ...(call.endless ? { bodyTimeout: 0 } : {}),
      ...(call.signal ? { signal: call.signal } : {}),
    });
    return { credentials, response };
  }

  /** What still runs over the old connections may end in peace. */
  async function retire(old: Agent): Promise<void> {
    retired.add(old);
    try {
      await old.close();
    } finally {
      retired.delete(old);
    }
  }

  /** True if it is worth asking again. A certificate belongs to the connection, so new ones need new connections. */
  function renew(refused: Credentials): boolean {
    // Nobody would ever close the connections made now, and the old ones are gone already.
    if (closed || !config.credentials.renew(refused)) return false;
    if (refused.certificate) {
      void retire(agent);
      agent = newAgent();
    }
    return true;
  }

  return {
    async send(call) {
      const what = `${call.method} ${call.path}`;
      let renewed = false;
      for (let retries = 0; ;) {
        const { credentials, response } = await translated(what, call.signal, () =>
          unlessAborted(call.signal, attempt(call)),
        );
        if (response.statusCode >= 200 && response.statusCode < 300) return response;

        const retryAfterMs = parseRetryAfter(response.headers['retry-after']);
        const error = translateStatus(response.statusCode, await readJson(response.body), what, retryAfterMs);
        if (response.statusCode === 401 && !renewed && renew(credentials)) {
          renewed = true;
          continue;
        }
        const asksToWait = response.statusCode === 429 || (response.statusCode >= 500 && retryAfterMs !== undefined);
        if (!asksToWait || retries >= maxRetries || (retryAfterMs ?? 0) > longestRetryAfterMs) throw error;
        retries += 1;
        const ms = retryAfterMs ?? 1_000;
        await translated(what, call.signal, () => sleep(ms, undefined, call.signal ? { signal: call.signal } : {}));
      }
    },
    async close() {
      closed = true;
      await Promise.all([agent, ...retired].map((each) => each.destroy()));
      // An agent forgets the connections that it was told to close, and those that the server is leaving (GOAWAY); watches may still run over them.
      for (const socket of sockets) socket.destroy(new Error('the client is closed'));
    },
  };
}

/** An abort by the caller stays what the caller gave; anything else is a broken connection. */
export async function translated<R>(what: string, signal: AbortSignal | undefined, run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof PodloomError) throw cause;
    throw connectionError(what, cause);
  }
}

/** For what would not hear of the abort while it waits, as undici does not while it connects. What comes of it later is the caller's to drop. */
export async function unlessAborted<R>(signal: AbortSignal | undefined, running: Promise<R>): Promise<R> {
  if (!signal) return running;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([running, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/** As `translated`, for what comes in pieces. Whoever stops reading stops the source, and with it the request. */
export async function* translatedStream<T>(
  what: string,
  signal: AbortSignal | undefined,
  source: AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* source;
  } catch (cause) {
    signal?.throwIfAborted();
    throw connectionError(what, cause);
  }
}

/** Seconds, or an HTTP date. */
function parseRetryAfter(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), believedRetryAfterMs);
}

export function queryString(query: Call['query']): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) params.append(name, String(value));
  const text = params.toString();
  return text && `?${text}`;
}
