/** Calls and watches over HTTP/1.1, each on a connection of its own, for servers that speak nothing newer and for local proxies without TLS. */
import { Agent, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Answer, Outgoing } from './connections.ts';

/** Shorter than the 90 s after which the API server closes an idle connection. */
const idleTimeoutMs = 60_000;

export interface Http1Connections {
  begin(outgoing: Outgoing): Promise<Answer>;
}

export function http1Connections(open: () => Promise<Socket>, host: string): Http1Connections {
  const agent = new SocketAgent(open);
  return {
    begin({ method, path, headers, body, endless, headersTimeoutMs, bodyTimeoutMs, signal }) {
      return new Promise((resolve, reject) => {
        const request = httpRequest({ agent, method, path, headers: { ...headers, host } });
        const abort = (): void => void request.destroy(signal?.reason as Error);
        request.setTimeout(headersTimeoutMs, () =>
          request.destroy(new Error(`no answer within ${headersTimeoutMs} ms`)),
        );
        request.on('response', (answer) => {
          const quiet = (): void => void request.destroy(new Error(`the answer stopped for ${bodyTimeoutMs} ms`));
          request.setTimeout(endless ? 0 : bodyTimeoutMs, quiet);
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
        });
        request.on('error', reject);
        request.on('close', () => signal?.removeEventListener('abort', abort));
        signal?.addEventListener('abort', abort, { once: true });
        request.end(body);
      });
    },
  };
}

/** Keeps connections for the next call, and has them opened where all others are. */
class SocketAgent extends Agent {
  readonly #open: () => Promise<Socket>;

  constructor(open: () => Promise<Socket>) {
    super({ keepAlive: true, timeout: idleTimeoutMs });
    this.#open = open;
  }

  override createConnection(_options: unknown, opened?: (error: Error | null, socket: Duplex) => void): undefined {
    this.#open().then(
      (socket) => opened?.(null, socket),
      (error: Error) => opened?.(error, undefined as never),
    );
  }
}
