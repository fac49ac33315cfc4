/**
 * `ip monitor` for any number of namespaces: one thread listens to all of them.
 *
 * A listening socket keeps its namespace alive. So the monitor also watches what named the namespace (the process, or the file)
 * and lets go when that ends: the event is `gone`. A namespace that was neither opened by pid nor by path is held by its `Netns`
 * anyway, and ends when you remove it.
 */
import { once } from 'node:events';
import { fstatSync, statSync } from 'node:fs';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import * as libc from '../libc.ts';
import type { Netns } from '../namespace.ts';
import { NetlinkError, translating } from '../wire/error.ts';
import { openSocket } from '../wire/socket.ts';
import type { Command, Life, Report } from './commands.ts';
import { changesIn, topics, type Change, type Topic } from './events.ts';

/** `overflow`: events were lost, so read again what you follow. `gone`: the namespace ended, and is no longer watched. */
export type MonitorEvent<K> = (Change | { readonly kind: 'overflow' } | { readonly kind: 'gone' }) & { readonly in: K };

export interface Monitor<K> extends AsyncDisposable {
  /** Begins to watch; `name` comes back in `in` of each event. What happens after this returns is reported. */
  add(name: K, netns: Netns, what?: readonly Topic[]): void;
  /** No event of this name comes after this returns. */
  remove(name: K): void;
  readonly size: number;
  /** Ends the thread. What happened before is reported before this resolves. */
  close(): Promise<void>;
}

/** Beside this file; whoever bundles us into one .mjs puts the worker's own bundle beside it, under this name. */
const workerFile = new URL(import.meta.url.endsWith('.mjs') ? './monitor-worker.mjs' : './worker.ts', import.meta.url);

const EFD_CLOEXEC = 0o2000000;
const ONE = new Uint8Array(new BigUint64Array([1n]).buffer);

export interface MonitorOptions {
  /** How many bytes of events of one namespace may wait before some are lost: 2 MiB unless said. */
  readonly queueBytes?: number;
}

export function monitor<K>(listener: (event: MonitorEvent<K>) => void, options: MonitorOptions = {}): Monitor<K> {
  const wake = translating('monitor', () => libc.eventfd(EFD_CLOEXEC));
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(workerFile, {
    workerData: { port: port2, wake },
    transferList: [port2],
    // The thread needs neither the caller's flags nor its environment.
    execArgv: [],
  });
  const names = new Map<number, K>();
  const keys = new Map<K, number>();
  let nextKey = 1;
  let closing: Promise<void> | undefined;
  let closed = false;

  const tell = (command: Command): void => {
    if (closed) return;
    port.postMessage(command);
    libc.write(wake, ONE);
  };

  const forget = (key: number): void => {
    const name = names.get(key);
    if (name !== undefined) keys.delete(name);
    names.delete(key);
  };

  const hear = (report: Report): void => {
    const name = names.get(report.key);
    if (name === undefined) return;
    if ('gone' in report) {
      forget(report.key);
      listener({ kind: 'gone', in: name });
      return;
    }
    // First what is certain, then that there was more: a reader that reads again at `overflow` is then up to date.
    for (const datagram of report.datagrams) {
      for (const change of changesIn(datagram)) listener(Object.assign(change, { in: name }));
    }
    if (report.overflowed) listener({ kind: 'overflow', in: name });
  };
  port.on('message', hear);
  // Node waits for its threads at exit, and this one waits in the kernel.
  const atExit = (): void => tell({ do: 'stop' });
  process.on('exit', atExit);

  const close = async (): Promise<void> => {
    const ended = once(worker, 'exit');
    tell({ do: 'stop' });
    closed = true;
    await ended;
    for (let last = receiveMessageOnPort(port); last !== undefined; last = receiveMessageOnPort(port)) {
      hear(last.message as Report);
    }
    process.off('exit', atExit);
    names.clear();
    keys.clear();
    port.close();
    libc.close(wake);
  };

  return {
    add(name, netns, what = ['link', 'address']) {
      if (closed) throw new RangeError('The monitor is closed');
      if (keys.has(name)) throw new RangeError(`"${String(name)}" is being watched already`);
      const groups = what.flatMap((topic) => topics[topic]);
      const life = lifeOf(netns);
      const socket = netns.run<number>(() => openSocket('route', groups, options.queueBytes));
      const key = nextKey++;
      names.set(key, name);
      keys.set(name, key);
      tell({ do: 'add', key, socket, life });
    },
    remove(name) {
      const key = keys.get(name);
      if (key === undefined) return;
      forget(key);
      tell({ do: 'remove', key });
    },
    get size() {
      return names.size;
    },
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

function lifeOf({ fd, source }: Netns): Life | undefined {
  return translating('monitor', () => {
    const { dev: device, ino: inode } = fstatSync(fd);
    if ('path' in source) return { path: source.path, device, inode };
    if ('create' in source) return source.pinned === undefined ? undefined : { path: source.pinned, device, inode };
    if (!('pid' in source)) return undefined;
    const pidfd = libc.pidfdOpen(source.pid);
    if (statSync(`/proc/${source.pid}/ns/net`, { throwIfNoEntry: false })?.ino === inode) return { pidfd };
    libc.close(pidfd);
    throw new NetlinkError('monitor', 3, { kernelMessage: `process ${source.pid} is no longer in this namespace` });
  });
}
