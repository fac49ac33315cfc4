/**
 * `ip monitor` for any number of namespaces, whose sockets wait together (poll.ts).
 *
 * A listening socket keeps its namespace alive. So the monitor also watches what named the namespace (the process, or the file)
 * and lets go when that ends: the event is `gone`. A namespace that was neither opened by pid nor by path is held by its `Netns`
 * anyway, and ends when you remove it.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { LITTLE } from '../codec/writer.ts';
import * as libc from '../libc.ts';
import type { Netns } from '../namespace.ts';
import { translating } from '../wire/error.ts';
import { openSocket } from '../wire/socket.ts';
import { changesIn, topics, type Change, type Topic } from './events.ts';
import { isThere, type Life, lifeOf } from './life.ts';
import { settled, whenReady } from './poll.ts';

/** `overflow`: events were lost, so read again what you follow. `gone`: the namespace ended, and is no longer watched. */
export type MonitorEvent<K> = (Change | { readonly kind: 'overflow' } | { readonly kind: 'gone' }) & { readonly in: K };

export interface Monitor<K> extends AsyncDisposable {
  /** Begins to watch; `name` comes back in `in` of each event. What happens after this returns is reported. */
  add(name: K, netns: Netns, what?: readonly Topic[]): void;
  /** No event of this name comes after this returns. */
  remove(name: K): void;
  readonly size: number;
  /** What happened before is reported before this resolves. */
  close(): Promise<void>;
}

export interface MonitorOptions {
  /** How many bytes of events of one namespace may wait before some are lost: 2 MiB unless said. */
  readonly queueBytes?: number;
}

interface Watched {
  readonly socket: number;
  readonly life: Life | undefined;
  readonly undo: (() => void)[];
}

/** One busy namespace must not keep the others waiting. */
const DATAGRAMS_A_TURN = 64;
const MSG_DONTWAIT = 0x40;

const buffer = Buffer.alloc(256 * 1024);
const sender = Buffer.alloc(12);
const senderView = new DataView(sender.buffer, sender.byteOffset);

export function monitor<K>(listener: (event: MonitorEvent<K>) => void, options: MonitorOptions = {}): Monitor<K> {
  const watched = new Map<K, Watched>();
  const mounts = translating('monitor', () => openSync('/proc/self/mountinfo', 'r'));
  const ignoreMounts = translating('monitor', () => whenReady(mounts, checkMounts, libc.EPOLLPRI));
  let closing: Promise<void> | undefined;

  /** Reports what waits in the socket, or the first part of it. False when there was nothing. */
  function drain(name: K, one: Watched): boolean {
    const { datagrams, overflowed } = receive(one.socket);
    const isWatched = (): boolean => watched.get(name) === one;
    // First what is certain, then that there was more: a reader that reads again at `overflow` is then up to date.
    for (const datagram of datagrams) {
      for (const change of changesIn(datagram)) if (isWatched()) listener(Object.assign(change, { in: name }));
    }
    if (overflowed && isWatched()) listener({ kind: 'overflow', in: name });
    return datagrams.length > 0;
  }

  function remove(name: K): void {
    const one = watched.get(name);
    if (one === undefined) return;
    watched.delete(name);
    letGo(one);
  }

  /** The socket itself keeps a namespace alive, so it must not outlive the news that the namespace is no longer used. */
  function end(name: K, one: Watched): void {
    drain(name, one);
    if (watched.get(name) !== one) return;
    remove(name);
    listener({ kind: 'gone', in: name });
  }

  function checkMounts(): void {
    if (closing !== undefined) return;
    // Reading to the end is what makes the file report the next change.
    while (readSync(mounts, buffer) > 0);
    for (const [name, one] of watched) {
      if (one.life !== undefined && 'path' in one.life && !isThere(one.life)) end(name, one);
    }
  }

  async function close(): Promise<void> {
    for (const [name, one] of watched) {
      while (drain(name, one));
      remove(name);
    }
    ignoreMounts();
    closeSync(mounts);
    await settled();
  }

  return {
    add(name, netns, what = ['link', 'address']) {
      if (closing !== undefined) throw new RangeError('The monitor is closed');
      if (watched.has(name)) throw new RangeError(`"${String(name)}" is being watched already`);
      const groups = what.flatMap((topic) => topics[topic]);
      const life = translating('monitor', () => lifeOf(netns));
      let socket: number | undefined;
      const undo: (() => void)[] = [];
      let one: Watched;
      try {
        socket = netns.run<number>(() => openSocket('route', groups, options.queueBytes));
        one = { socket, life, undo };
        undo.push(whenReady(socket, () => drain(name, one)));
        if (life !== undefined && 'pidfd' in life) undo.push(whenReady(life.pidfd, () => end(name, one)));
      } catch (error) {
        letGo({ socket, life, undo });
        throw error;
      }
      watched.set(name, one);
      // A file that went before it was watched is told of, and not here.
      if (life !== undefined && 'path' in life && !isThere(life)) setImmediate(checkMounts);
    },
    remove,
    get size() {
      return watched.size;
    },
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

function letGo({ socket, life, undo }: Omit<Watched, 'socket'> & { readonly socket: number | undefined }): void {
  for (const step of undo) step();
  if (socket !== undefined) libc.close(socket);
  if (life !== undefined && 'pidfd' in life) libc.close(life.pidfd);
}

/** Copies, as many as one turn allows. */
function receive(socket: number): { datagrams: Uint8Array[]; overflowed: boolean } {
  const datagrams: Uint8Array[] = [];
  let overflowed = false;
  while (datagrams.length < DATAGRAMS_A_TURN) {
    const n = libc.recvFrom(socket, buffer, MSG_DONTWAIT, sender);
    if (n === -libc.ENOBUFS) {
      overflowed = true;
      continue;
    }
    if (n <= 0) break;
    // Whoever has NET_ADMIN in the namespace can send to the group, too; only the kernel's number is 0.
    if (senderView.getUint32(4, LITTLE) === 0) datagrams.push(new Uint8Array(buffer.subarray(0, n)));
  }
  return { datagrams, overflowed };
}
