/**
 * Calls and watches over one HTTP/2 connection.
 *
 * A connection whose other end vanished without a word looks exactly like a quiet watch. So it is pinged, and destroyed when it received nothing over
 * two whole intervals.
 *
 * There are two moments at which Node's HTTP/2 cannot stand that a request is reset:
 *
 * - While part of its body still waits to be sent, Node then writes empty frames for ever: the event loop stands still while memory fills.
 * - Before the answer begins, an answer that is already on its way meets no stream any more. Node takes it for a new one, which nobody knows and nobody
 *   listens to: if the connection then ends with an error, as it does when a client is closed, that is an uncaught one.
 *
 * So a request that is aborted is forgotten, and the caller hears of the abort at once; the stream is reset when neither is the case any more. Nobody
 * could have relied on a write not being a success.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import type { Answer, Outgoing } from './connections.ts';

const {
  HTTP2_HEADER_CONTENT_LENGTH,
  HTTP2_HEADER_METHOD,
  HTTP2_HEADER_PATH,
  HTTP2_HEADER_STATUS,
  NGHTTP2_CANCEL,
  NGHTTP2_REFUSED_STREAM,
} = constants;

/** Lists come in pages of some hundred objects: with the default of 64 KiB, a page would wait for us several times. */
const streamWindowBytes = 256 * 1024;
const windowBytes = 1024 * 1024;

/** The server is leaving and has not looked at the request: it can be sent again, whatever it is. */
export class Refused extends Error {}

export interface Http2Connection {
  /** It takes another call: neither side is leaving, and the server allows one more at a time. */
  readonly isFree: boolean;
  begin(outgoing: Outgoing): Promise<Answer>;
  /** Takes no new calls, and ends when the last one has. */
  leave(): void;
}

/** Resolves when the server has said how much it allows. */
export async function http2Connection(
  socket: Socket,
  origin: string,
  pingIntervalMs: number,
): Promise<Http2Connection> {
  const session = connect(origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  });
  // Each call that it breaks says so itself.
  session.on('error', () => undefined);
  await settings(session);
  session.setLocalWindowSize(windowBytes);
  watchForSilence(session, socket, pingIntervalMs);
  const running = new Set<ClientHttp2Stream>();
  session.unref();
  // Before Node hears of it, to which an answer that is cut is one that has come to its end.
  socket.prependOnceListener('close', () => {
    for (const stream of running) stream.destroy(new Error('the connection was closed'));
  });

  function follow(stream: ClientHttp2Stream): void {
    if (running.size === 0) session.ref();
    running.add(stream);
    stream.once('close', () => {
      running.delete(stream);
      // A process that waits for nothing else may end.
      if (running.size === 0 && !session.destroyed) session.unref();
    });
  }

  return {
    get isFree() {
      return (
        !session.closed &&
        !session.destroyed &&
        running.size < (session.remoteSettings.maxConcurrentStreams ?? Infinity)
      );
    },
    begin(outgoing) {
      const { method, path, headers, body } = outgoing;
      const stream = session.request(
        {
          [HTTP2_HEADER_METHOD]: method,
          [HTTP2_HEADER_PATH]: path,
          ...headers,
          ...(body === undefined ? {} : { [HTTP2_HEADER_CONTENT_LENGTH]: Buffer.byteLength(body) }),
        },
        { endStream: body === undefined },
      );
      follow(stream);
      const answer = answerOn(stream, outgoing);
      if (body !== undefined) stream.end(body);
      return answer;
    },
    leave: () => session.close(),
  };
}

function settings(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('error', reject);
    session.once('close', () => reject(new Error('the connection ended before it began')));
  });
}

function answerOn(
  stream: ClientHttp2Stream,
  { endless, headersTimeoutMs, bodyTimeoutMs, signal }: Outgoing,
): Promise<Answer> {
  let hasBegun = false;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();

  /** As soon as it can be stood. */
  const reset = (): void => {
    if (!hasBegun) stream.once('response', () => reset());
    else if (!stream.writableFinished) stream.once('finish', () => reset());
    else {
      stream.close(NGHTTP2_CANCEL);
      stream.destroy(new Error('given up'));
    }
    stream.resume();
  };
  const giveUp = (reason: unknown): void => {
    reject(reason);
    reset();
  };
  const abort = (): void => giveUp(signal?.reason);
  const late = (): void => giveUp(new Error(`no answer within ${headersTimeoutMs} ms`));

  stream.setTimeout(headersTimeoutMs, late);
  stream.once('response', (headers) => {
    hasBegun = true;
    stream.off('timeout', late);
    const quiet = (): void => void stream.destroy(new Error(`the answer stopped for ${bodyTimeoutMs} ms`));
    stream.setTimeout(endless ? 0 : bodyTimeoutMs, quiet);
    resolve({ status: Number(headers[HTTP2_HEADER_STATUS]), headers, body: stream });
  });
  stream.on('error', reject);
  stream.once('close', () => {
    signal?.removeEventListener('abort', abort);
    const isRefused = !hasBegun && stream.rstCode === NGHTTP2_REFUSED_STREAM;
    reject(isRefused ? new Refused() : new Error('the connection ended before the answer'));
  });
  signal?.addEventListener('abort', abort, { once: true });
  return promise;
}

function watchForSilence(session: ClientHttp2Session, socket: Socket, pingIntervalMs: number): void {
  let received = socket.bytesRead;
  let silentTicks = 0;
  // Ticks are counted, not time: a process that was itself stopped for a while must first get to read what has arrived.
  const timer = setInterval(() => {
    silentTicks = socket.bytesRead === received ? silentTicks + 1 : 0;
    received = socket.bytesRead;
    if (silentTicks >= 2) socket.destroy(new Error(`no sign of life for ${2 * pingIntervalMs} ms`));
    else if (!session.destroyed) session.ping(() => undefined);
  }, pingIntervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}
