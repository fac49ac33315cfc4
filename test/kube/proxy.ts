/**
 * A bad network between a client and an API server: passes bytes on until told otherwise. It does not look into them, so that TLS and HTTP/2 are
 * the real ones.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface BadNetwork extends AsyncDisposable {
  readonly url: URL;
  /** Breaks every connection at once, as a crash does. New ones work. */
  cut(): void;
  /** Lets nothing through any more, in either direction, and tells nobody: connections look alive. New ones are accepted and hang, too. */
  stall(): void;
  /** Lets everything through again, and what was held back with it. */
  heal(): void;
  /** Passes at most this many bytes at a time, each piece in its own turn of the event loop. */
  crawl(bytes: number): void;
  /** How many connections were made so far. */
  readonly connections: number;
}

export async function badNetwork(target: URL): Promise<BadNetwork> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let stalled = false;
  let pieceBytes = Infinity;
  let connections = 0;

  function pass(from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (chunk.length <= pieceBytes) {
        to.write(chunk);
        return;
      }
      from.pause();
      void inPieces(chunk, to).then(() => (stalled ? from : from.resume()));
    });
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
  async function inPieces(chunk: Buffer, to: Socket): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      to.write(chunk.subarray(at, at + pieceBytes));
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  const server = createServer((near) => {
    connections += 1;
    const far = connect({ host: target.hostname, port: Number(target.port) });
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('close', () => pairs.delete(pair));
    pass(near, far);
    pass(far, near);
    if (stalled) for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  return {
    url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    cut,
    stall() {
      stalled = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    heal() {
      stalled = false;
      pieceBytes = Infinity;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    crawl(bytes) {
      pieceBytes = bytes;
    },
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
