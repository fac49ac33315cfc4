/**
 * Asks a proxy for a plain connection to somewhere else: HTTP CONNECT (RFC 9110, 9.3.6) or SOCKS5 (RFC 1928, 1929), the kinds that a
 * kubeconfig may name. The proxy's password, if its address has one, is sent and never said.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';

export interface Target {
  readonly hostname: string;
  readonly port: number;
}

export async function tunnel(proxy: URL, target: Target, timeoutMs: number): Promise<Socket> {
  // Not AbortSignal.timeout: that would cut the finished tunnel, too.
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  const open = proxy.protocol.startsWith('socks5') ? throughSocks : throughHttp;
  try {
    return await open(proxy, target, limit.signal);
  } catch (cause) {
    throw limit.signal.aborted ? refusal(proxy, `did not answer within ${timeoutMs} ms`) : cause;
  } finally {
    clearTimeout(timer);
  }
}

const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '');
const refusal = (proxy: URL, what: string) => new Error(`the proxy ${proxy.host} ${what}`);

function throughHttp(proxy: URL, target: Target, signal: AbortSignal): Promise<Socket> {
  const authority = `${target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname}:${target.port}`;
  const user = decodeURIComponent(proxy.username);
  const basic = Buffer.from(`${user}:${decodeURIComponent(proxy.password)}`).toString('base64');
  const isTls = proxy.protocol === 'https:';
  const request = (isTls ? httpsRequest : httpRequest)({
    host: hostOf(proxy),
    port: proxy.port || (isTls ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(user ? { 'proxy-authorization': `Basic ${basic}` } : {}) },
    agent: false,
    signal,
  });
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    // An answer that is not 2xx arrives here, too: with CONNECT there is no other kind.
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode >= 200 && statusCode < 300) return resolve(socket);
      socket.destroy();
      reject(refusal(proxy, `answered ${statusCode}`));
    });
    request.end();
  });
}

async function throughSocks(proxy: URL, target: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: hostOf(proxy), port: Number(proxy.port || 1080), signal });
  const answers = byteReader(socket);
  try {
    await greet(socket, answers, proxy);
    const port = Buffer.alloc(2);
    port.writeUInt16BE(target.port);
    // By name, so that the proxy looks it up: it may know names that we do not.
    socket.write(Buffer.concat([Buffer.of(5, 1, 0, 3), withLength(target.hostname), port]));
    const [, reply, , addressType] = await answers.take(4);
    if (reply !== 0) throw refusal(proxy, `cannot reach the server (SOCKS reply ${reply})`);
    const addressLength = addressType === 3 ? (await answers.take(1))[0]! : addressType === 4 ? 16 : 4;
    await answers.take(addressLength + 2);
    answers.release();
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function greet(socket: Socket, answers: ByteReader, proxy: URL): Promise<void> {
  const [none, password] = [0, 2];
  socket.write(proxy.username ? Buffer.of(5, 2, none, password) : Buffer.of(5, 1, none));
  const [, method] = await answers.take(2);
  if (method === none) return;
  if (method !== password || !proxy.username) throw refusal(proxy, 'wants another way to log in');
  const [user, secret] = [proxy.username, proxy.password].map((text) => withLength(decodeURIComponent(text)));
  socket.write(Buffer.concat([Buffer.of(1), user!, secret!]));
  if ((await answers.take(2))[1] !== 0) throw refusal(proxy, 'refused the user or the password');
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255);
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

interface ByteReader {
  take(bytes: number): Promise<Buffer>;
  /** Gives the socket back. Nothing is lost: behind the proxy's last answer nobody speaks before we do. */
  release(): void;
}

function byteReader(socket: Socket): ByteReader {
  let received = Buffer.alloc(0);
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const onData = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    wake?.();
  };
  const onEnd = (error?: Error) => {
    failure ??= error ?? new Error('the proxy closed the connection');
    wake?.();
  };
  const onClose = () => onEnd();
  socket.on('data', onData).on('error', onEnd).on('end', onClose).on('close', onClose);
  return {
    async take(bytes) {
      while (received.length < bytes) {
        if (failure) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const taken = received.subarray(0, bytes);
      received = received.subarray(bytes);
      return taken;
    },
    release() {
      socket.pause();
      socket.off('data', onData).off('error', onEnd).off('end', onClose).off('close', onClose);
    },
  };
}
