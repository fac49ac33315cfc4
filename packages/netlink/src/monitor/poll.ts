/**
 * Waits for any number of descriptors without holding up JavaScript: `epoll_wait` blocks one of the threads that Node has for files and
 * names, and what became ready is told on the loop. It is one thread for the whole process, however many monitors there are, so
 * that the other three stay free. A Worker would be a second V8, of some 10 MB.
 */
import { LITTLE } from '../codec/writer.ts';
import * as libc from '../libc.ts';

/** Also a bound on how long the process can take to end if nobody said stop: Node waits for its threads. */
const WAIT_MS = 2_000;
const CLOEXEC = 0o2000000;
const ONE = new Uint8Array(new BigUint64Array([1n]).buffer);
const WAKE = 0;

interface Waiting {
  readonly epoll: number;
  readonly wake: number;
  readonly ended: Promise<void>;
}

const listeners = new Map<number, () => void>();
let nextKey = 1;
let waiting: Waiting | undefined;

/**
 * Calls back, again and again, while the descriptor is ready. Keeps the process alive. Returns the undo, to be called before the descriptor is closed;
 * no call comes after it.
 */
export function whenReady(fd: number, listener: () => void, events?: number): () => void {
  waiting ??= start();
  const { epoll, wake } = waiting;
  const key = nextKey++;
  // A wait that has begun hears of this one, too.
  libc.epollControl(epoll, libc.EPOLL_ADD, fd, key, events);
  listeners.set(key, listener);
  return () => {
    if (!listeners.delete(key)) return;
    libc.epollControl(epoll, libc.EPOLL_DELETE, fd, key);
    if (listeners.size === 0) libc.write(wake, ONE);
  };
}

/** Resolves when no thread waits any more, if nothing is left to wait for. */
export const settled = (): Promise<void> =>
  listeners.size === 0 && waiting !== undefined ? waiting.ended : Promise.resolve();

function start(): Waiting {
  const epoll = libc.epollCreate(CLOEXEC);
  const wake = libc.eventfd(CLOEXEC);
  const events = Buffer.alloc(libc.EPOLL_SIZE * 256);
  const view = new DataView(events.buffer, events.byteOffset);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const atExit = (): void => void libc.write(wake, ONE);

  function wait(): void {
    libc.epollWait(epoll, events, WAIT_MS, (ready) => {
      try {
        for (let i = 0; i < ready; i++) tell(view.getUint32(i * libc.EPOLL_SIZE + libc.EPOLL_DATA, LITTLE));
      } finally {
        // Also after a listener threw: the others go on.
        if (listeners.size > 0) wait();
        else end();
      }
    });
  }
  function tell(key: number): void {
    if (key === WAKE) libc.read(wake, Buffer.alloc(8));
    else listeners.get(key)?.();
  }
  function end(): void {
    waiting = undefined;
    process.off('exit', atExit);
    libc.close(epoll);
    libc.close(wake);
    resolve();
  }

  libc.epollControl(epoll, libc.EPOLL_ADD, wake, WAKE);
  process.on('exit', atExit);
  wait();
  return { epoll, wake, ended };
}
