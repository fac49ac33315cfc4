/** For tests: a gRPC server on a Unix socket, on the HTTP/2 of Node. What it says can also be what no server should. */
import { type Http2Server, type ServerHttp2Stream, constants, createServer } from 'node:http2';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';

export interface Call {
  /** Without the service. */
  readonly method: string;
  readonly request: Uint8Array;
  readonly timeout: string | undefined;
  readonly stream: ServerHttp2Stream;
  /** One message. */
  readonly say: (message: Uint8Array) => void;
  /** The outcome. */
  readonly end: (status: number, message?: string) => void;
}

export interface GrpcServer {
  /** Ends at once, with every connection. */
  stop(): Promise<void>;
}

const answer = { ':status': 200, 'content-type': 'application/grpc' };

export const framed = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

export async function startGrpcServer(socket: string, serve: (call: Call) => void): Promise<GrpcServer> {
  const server: Http2Server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined);
    const begin = (): void => {
      if (!stream.headersSent) stream.respond(answer, { waitForTrailers: true });
    };
    const hear = (whole: Buffer): void => {
      const request = whole.subarray(5);
      // As any server would: the length before the message is that of the message.
      if (!whole.equals(framed(request))) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
      serve({
        method: headers[':path']?.split('/').at(-1) ?? '',
        request,
        timeout: headers['grpc-timeout']?.toString(),
        stream,
        say(message) {
          begin();
          stream.write(framed(message));
        },
        end(status, message) {
          const outcome = { 'grpc-status': status, ...(message === undefined ? {} : { 'grpc-message': message }) };
          if (!stream.headersSent) return stream.respond({ ...answer, ...outcome }, { endStream: true });
          stream.on('wantTrailers', () => stream.sendTrailers(outcome));
          stream.end();
        },
      });
    };
    void buffer(stream).then(hear);
  });
  server.listen(socket);
  await once(server, 'listening');
  return {
    async stop() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
