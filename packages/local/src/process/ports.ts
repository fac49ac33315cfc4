/** Ports of this machine's loopback that are ours before anybody listens on them, and while who does is started anew. */
import { createServer } from 'node:net';
import { tryLock } from './lock.ts';

export interface Ports extends AsyncDisposable {
  readonly numbers: readonly number[];
}

/**
 * Ports that nobody listens on, below the range from which the kernel takes ports for outgoing connections: a port must still be free when the API
 * server comes back to it. Each is locked until it is given back, because another control plane may look at it before anybody listens there.
 */
export async function reservePorts(count: number): Promise<Ports> {
  await using undo = new AsyncDisposableStack();
  const numbers: number[] = [];
  while (numbers.length < count) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const unlock = await tryLock(`port ${port}`);
    if (!unlock) continue;
    undo.defer(unlock);
    if (await isFree(port)) numbers.push(port);
  }
  const owned = undo.move();
  return { numbers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
