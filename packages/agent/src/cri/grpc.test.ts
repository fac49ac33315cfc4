/** Over a real socket, also with answers that are cut, compressed, late or none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Call, type GrpcServer, framed, startGrpcServer } from '../testing/grpc-server.ts';
import { type GrpcChannel, GrpcError, grpcChannel, grpcStatus } from './grpc.ts';

let dir: string;
let socket: string;
let server: GrpcServer | undefined;
let channel: GrpcChannel;

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (message: Uint8Array): string => Buffer.from(message).toString();
const start = async (serve: (call: Call) => void): Promise<void> => {
  server = await startGrpcServer(socket, serve);
};
const ask = (options = {}): Promise<string> => channel.unary('/a.B/Method', bytes('question'), options).then(text);
const failure = (promise: Promise<unknown>): Promise<GrpcError> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as GrpcError,
  );

const sayHere = ({ say, end }: Call): void => {
  say(bytes('here'));
  end(0);
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podloom-grpc-'));
  socket = join(dir, 'one.sock');
  channel = grpcChannel(socket);
});
afterEach(async () => {
  channel.close();
  await server?.stop();
  server = undefined;
  rmSync(dir, { recursive: true });
});

describe('a call with one answer', () => {
  it('gives method, message and deadline, and gets the message', async () => {
    await start(({ method, request, timeout, say, end }) => {
      say(bytes(`${method} ${text(request)} ${timeout}`));
      end(0);
    });
    expect(await ask({ timeoutMs: 5_000 })).toBe('Method question 5000m');
  });

  it('gets an answer of any size, also an empty one', async () => {
    const sizes = [0, 1, 70_000, 3_000_000];
    await start(({ request, say, end }) => {
      say(Buffer.alloc(Number(text(request)), 'x'));
      end(0);
    });
    const answers = await Promise.all(sizes.map((size) => channel.unary('/a.B/C', bytes(String(size)), {})));
    expect(answers.map(({ length }) => length)).toEqual(sizes);
  });

  it.each([
    ['with headers alone', false],
    ['after a message', true],
  ])('fails as the server says, %s', async (_, begun) => {
    await start(({ say, end }) => {
      if (begun) say(bytes('x'));
      end(grpcStatus.notFound, 'no such pod: %C3%A4%25');
    });
    expect(await failure(ask())).toMatchObject({ status: grpcStatus.notFound, message: 'no such pod: ä%' });
  });

  it('takes a message that is not encoded as it is', async () => {
    await start(({ end }) => end(2, '100% wrong'));
    expect(await failure(ask())).toMatchObject({ status: 2, message: '100% wrong' });
  });

  it('fails when there is no answer in time, and lets go of the call', async () => {
    const closed = Promise.withResolvers<void>();
    await start(({ stream }) => stream.on('close', closed.resolve));
    // Long enough that the call has begun, also on a loaded machine: one that never came is not let go of.
    expect(await failure(ask({ timeoutMs: 1_000 }))).toMatchObject({ status: grpcStatus.deadlineExceeded });
    await closed.promise;
  });

  it.each<[string, (call: Call) => void]>([
    ['another HTTP status', ({ stream }) => stream.respond({ ':status': 404 }, { endStream: true })],
    ['an end without outcome', ({ stream }) => stream.respond({ ':status': 200 }, { endStream: true })],
    ['a broken connection', ({ stream }) => stream.session?.destroy()],
    ['a reset', ({ stream }) => stream.close(2)],
  ])('is unavailable after %s', async (_, serve) => {
    await start(serve);
    expect(await failure(ask())).toMatchObject({ name: 'GrpcError', status: grpcStatus.unavailable });
  });

  it.each<[string, Uint8Array]>([
    ['compressed', Buffer.from([1, 0, 0, 0, 1, 120])],
    ['longer than any', Buffer.from([0, 255, 255, 255, 255])],
  ])('refuses a message that is %s', async (_, sent) => {
    await start(({ stream }) => {
      stream.respond({ ':status': 200 });
      stream.write(sent);
    });
    expect(await failure(ask())).toMatchObject({ status: grpcStatus.internal });
  });

  it('refuses an answer without a message', async () => {
    await start(({ end }) => end(0));
    expect(await failure(ask())).toMatchObject({ status: grpcStatus.internal });
  });

  it('says what is missing while no one listens, and is answered by the next call when someone does', async () => {
    expect(await failure(ask())).toMatchObject({ status: grpcStatus.unavailable });
    expect((await failure(ask())).message).toContain('ENOENT');
    await start(sayHere);
    expect(await ask()).toBe('here');
    await server?.stop();
    await failure(ask());
    await start(sayHere);
    expect(await ask()).toBe('here');
  });
});

describe('a call with a stream of answers', () => {
  it('hears each message, however it was cut, until the server ends', async () => {
    const messages = ['', 'a', 'bc'.repeat(40_000), 'd'];
    await start(({ stream, end }) => {
      const whole = Buffer.concat(messages.map((one) => framed(bytes(one))));
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      for (const [from, to] of [
        [0, 3],
        [3, 12],
        [12, 40_000],
        [40_000, whole.length],
      ] as const) {
        stream.write(whole.subarray(from, to));
      }
      end(0);
    });
    const heard: string[] = [];
    await channel.stream('/a.B/C', bytes(''), (message) => heard.push(text(message)), {});
    expect(heard).toEqual(messages);
  });

  it('ends when it is told to, on both sides', async () => {
    const stop = new AbortController();
    const closed = Promise.withResolvers<void>();
    await start(({ stream, say }) => {
      stream.on('close', closed.resolve);
      say(bytes('first'));
    });
    const hear = vi.fn<(message: Uint8Array) => void>(() => stop.abort(new Error('enough')));
    await expect(channel.stream('/a.B/C', bytes(''), hear, { signal: stop.signal })).rejects.toThrow('enough');
    await closed.promise;
    expect(hear).toHaveBeenCalledOnce();
  });

  it('does not begin when it was told to end before', async () => {
    await start(({ say }) => say(bytes('x')));
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(channel.stream('/a.B/C', bytes(''), () => undefined, { signal })).rejects.toThrow('enough');
  });

  it('fails with what its listener throws', async () => {
    await start(({ say }) => say(bytes('x')));
    const reading = channel.stream('/a.B/C', bytes(''), () => expect.fail('cannot read it'), {});
    await expect(reading).rejects.toThrow('cannot read it');
  });
});
