/**
 * gRPC over a Unix socket, as much of it as CRI needs: calls with one answer, and calls with a stream of them. Not in it: compression, metadata,
 * TLS, balancing, retries.
 *
 * The protocol is HTTP/2, which Node has: each message follows five bytes (not compressed, length), and the outcome is in the trailers
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */
import { type ClientHttp2Session, type IncomingHttpHeaders, connect, constants } from 'node:http2';
import { connect as connectSocket } from 'node:net';

/** Of the seventeen, those that are told apart. */
export const grpcStatus = {
  ok: 0,
  deadlineExceeded: 4,
  notFound: 5,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

export class GrpcError extends Error {
  readonly status: number;
  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GrpcError';
    this.status = status;
  }
}

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface GrpcChannel {
  /** `path` is `/package.Service/Method`. Rejects with a GrpcError. */
  unary(path: string, request: Uint8Array, options: CallOptions): Promise<Uint8Array>;
  /** Calls back for each message. Resolves when the server has ended it well. */
  stream(path: string, request: Uint8Array, hear: (message: Uint8Array) => void, options: CallOptions): Promise<void>;
  close(): void;
}

const prefixBytes = 5;
const longestMessageBytes = 64 * 1024 * 1024;

/** Connects with the first call, and again with the first after a broken connection: a socket of this machine is there, or is not. */
export function grpcChannel(socket: string): GrpcChannel {
  let current: ClientHttp2Session | undefined;

  function session(): ClientHttp2Session {
    if (current && !current.closed && !current.destroyed) return current;
    current = connect('http://localhost', { createConnection: () => connectSocket(socket) });
    // Each call that it breaks says so itself.
    current.on('error', () => undefined);
    return current;
  }

  function call(path: string, request: Uint8Array, hear: (message: Buffer) => void, options: CallOptions) {
    const { timeoutMs, signal } = options;
    return new Promise<void>((resolve, reject) => {
      const stream = session().request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${timeoutMs}m` }),
      });
      // The first reason counts: what is closed for it fails once more.
      const fail = (error: unknown): void => {
        reject(error);
        stream.close(constants.NGHTTP2_CANCEL);
      };
      const abort = (): void => fail(signal?.reason);
      const late = (): void => fail(new GrpcError(grpcStatus.deadlineExceeded, `no answer within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      let outcome: GrpcError | 'ok' | undefined;
      const read = (headers: IncomingHttpHeaders): void => void (outcome ??= outcomeIn(headers));
      const take = messageReader(hear);

      stream.on('response', read);
      stream.on('trailers', read);
      stream.on('data', (chunk: Buffer) => {
        try {
          take(chunk);
        } catch (error) {
          fail(error);
        }
      });
      stream.on('error', (cause) => fail(new GrpcError(grpcStatus.unavailable, cause.message, { cause })));
      stream.on('close', () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        if (outcome === 'ok') resolve();
        else reject(outcome ?? new GrpcError(grpcStatus.unavailable, 'the connection ended before the answer'));
      });
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
      stream.end(framed(request));
    });
  }

  return {
    async unary(path, request, options) {
      let answer: Buffer | undefined;
      await call(path, request, (message) => void (answer ??= message), options);
      if (answer === undefined) throw new GrpcError(grpcStatus.internal, 'the answer has no message');
      return answer;
    },
    stream: call,
    close: () => current?.destroy(),
  };
}

function framed(message: Uint8Array): Buffer {
  const whole = Buffer.alloc(prefixBytes + message.length);
  whole.writeUInt32BE(message.length, 1);
  whole.set(message, prefixBytes);
  return whole;
}

/** Puts messages together, however the pieces that they come in were cut. */
function messageReader(hear: (message: Buffer) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let size = 0;
  let needed = prefixBytes;
  return (chunk) => {
    pieces.push(chunk);
    size += chunk.length;
    while (size >= needed) {
      const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      const length = whole.readUInt32BE(1);
      if (whole[0] !== 0 || length > longestMessageBytes) {
        throw new GrpcError(grpcStatus.internal, `a message of ${length} bytes, compressed or too long, is not taken`);
      }
      const end = prefixBytes + length;
      if (size >= end) hear(whole.subarray(prefixBytes, end));
      const rest = size >= end ? whole.subarray(end) : whole;
      needed = size >= end ? prefixBytes : end;
      pieces = [rest];
      size = rest.length;
    }
  };
}

/** In the trailers, or in the headers of an answer that is nothing else. Undefined: it is still to come. */
function outcomeIn(headers: IncomingHttpHeaders): GrpcError | 'ok' | undefined {
  const { 'grpc-status': status, 'grpc-message': message = '' } = headers;
  const http = Number(headers[':status'] ?? 200);
  if (http !== 200) return new GrpcError(grpcStatus.unavailable, `the answer is HTTP ${http}`);
  if (status === undefined) return undefined;
  return status === '0' ? 'ok' : new GrpcError(Number(status), decoded(String(message)));
}

/** Percent-encoded; a server that errs in that is quoted as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
