import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { configMaps } from './builtin.ts';
import { isUnreachable } from './errors.ts';
import { tunnel } from './proxy.ts';
import { clientFor, failureOf, listen, openWatch, startServer, watchable } from './testing/server.ts';

async function started(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return listen(server);
}

describe('an HTTP proxy', () => {
  it('is asked for a tunnel, with its own password', async () => {
    const server = await startServer(watchable);
    const asked: unknown[] = [];
    const proxy = createHttpServer();
    proxy.on('connect', (request, socket: Socket) => {
      asked.push([request.url, request.headers['proxy-authorization']]);
      const target = connect(server.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      target.pipe(socket).pipe(target);
    });
    const client = clientFor(server.port, { proxy: new URL(`http://me:p%40ss@127.0.0.1:${await started(proxy)}`) });
    await openWatch(client);
    await client.list(configMaps);
    expect(asked).toEqual([[`127.0.0.1:${server.port}`, `Basic ${Buffer.from('me:p@ss').toString('base64')}`]]);
  });

  it('that refuses is named in the error, without its password', async () => {
    const proxy = createHttpServer();
    proxy.on('connect', (_request, socket) => socket.end('HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'));
    const port = await started(proxy);
    const failure = await failureOf(
      clientFor(1, { proxy: new URL(`http://me:hunter2@127.0.0.1:${port}`) }).list(configMaps),
    );
    expect((failure as Error).message).toContain(`the proxy 127.0.0.1:${port} answered 407`);
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
  });
});

/** Speaks as little of SOCKS5 as is needed, byte by byte, as a slow network would. */
function socksProxy(target: number, log: string[], accept: { method: number; login?: number; reply?: number }): Server {
  return createServer((socket) => {
    const slowly = (...bytes: number[]) => bytes.forEach((byte) => socket.write(Uint8Array.of(byte)));
    const steps: ((data: Buffer) => void)[] = [
      (data) => {
        log.push(`methods ${[...data.subarray(2)].join(',')}`);
        slowly(5, accept.method);
        if (accept.method === 0) steps.shift();
      },
      (data) => {
        const userLength = data[1]!;
        log.push(`${data.subarray(2, 2 + userLength).toString()}/${data.subarray(3 + userLength).toString()}`);
        slowly(1, accept.login ?? 0);
      },
      (data) => {
        log.push(`${data.subarray(5, -2).toString()}:${data.readUInt16BE(data.length - 2)}`);
        slowly(5, accept.reply ?? 0, 0, 1, 0, 0, 0, 0, 0, 0);
        const onward = connect(target, '127.0.0.1');
        onward.on('error', () => socket.destroy());
        onward.pipe(socket).pipe(onward);
      },
    ];
    socket.on('data', (data: Buffer) => steps.shift()?.(data));
  });
}

describe('a SOCKS5 proxy', () => {
  it.each([
    ['without a login', '', { method: 0 }, ['methods 0']],
    ['with a login', 'me:p%40ss@', { method: 2 }, ['methods 0,2', 'me/p@ss']],
  ])('carries calls and watches, %s', async (_, user, accept, greeting) => {
    const server = await startServer(watchable);
    const log: string[] = [];
    const port = await started(socksProxy(server.port, log, accept));
    const client = clientFor(server.port, { proxy: new URL(`socks5://${user}127.0.0.1:${port}`) });
    await openWatch(client);
    expect((await client.list(configMaps)).items).toEqual([]);
    expect(log).toEqual([...greeting, `127.0.0.1:${server.port}`]);
  });

  it.each([
    ['the password', { method: 2, login: 1 }, 'refused the user or the password'],
    ['every way to log in', { method: 255 }, 'wants another way to log in'],
    ['the address', { method: 2, reply: 5 }, 'cannot reach the server (SOCKS reply 5)'],
  ])('that refuses %s is an error without the password', async (_, accept, message) => {
    const port = await started(socksProxy(1, [], accept));
    const failure = await failureOf(
      clientFor(1, { proxy: new URL(`socks5://me:hunter2@127.0.0.1:${port}`) }).list(configMaps),
    );
    expect((failure as Error).message).toContain(message);
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
  });

  it('that hangs up is an error', async () => {
    const port = await started(createServer((socket) => socket.end()));
    const proxy = new URL(`socks5://127.0.0.1:${port}`);
    expect(isUnreachable(await failureOf(clientFor(1, { proxy }).list(configMaps)))).toBe(true);
  });
});

describe('tunnel', () => {
  const target = { hostname: 'x', port: 1 };

  it.each(['http', 'socks5'])('gives up on a %s proxy that does not answer', async (protocol) => {
    const port = await started(createServer());
    const proxy = new URL(`${protocol}://127.0.0.1:${port}`);
    await expect(tunnel(proxy, target, 20)).rejects.toThrow(`the proxy 127.0.0.1:${port} did not answer within 20 ms`);
  });

  it('leaves nothing behind that could cut it later', async () => {
    const proxy = createHttpServer();
    proxy.on('connect', (_request, socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    const port = await started(proxy);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const socket = await tunnel(new URL(`http://127.0.0.1:${port}`), target, 1_000);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(socket.destroyed).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
