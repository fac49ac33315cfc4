/**
 * The listening thread: one epoll for all sockets, waiting inside the system call. It only moves bytes; decoding is done by the
 * thread that asked, because cloning decoded objects between threads costs more than decoding them.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { LITTLE } from '../codec/writer.ts';
import * as libc from '../libc.ts';
import type { Command, Life, Report } from './commands.ts';

interface Watched {
  readonly socket: number;
  readonly life: Life | undefined;
}

const { port, wake } = workerData as { port: MessagePort; wake: number };

const WAKE = 0xffff_ffff;
const MOUNTS = 0xffff_fffe;
/** Keys of pidfds have this bit, so that one number says what became ready. */
const LIFE = 0x8000_0000;
/** Also a bound on how long the process can take to end if nobody said stop. */
const WAIT_MS = 2_000;
/** One busy namespace must not keep the others waiting. */
const DATAGRAMS_A_TURN = 64;
const MSG_DONTWAIT = 0x40;

const epoll = libc.epollCreate(0o2000000);
const watched = new Map<number, Watched>();
const events = Buffer.alloc(libc.EPOLL_SIZE * 256);
const eventsView = new DataView(events.buffer, events.byteOffset);
const buffer = Buffer.alloc(256 * 1024);
const sender = Buffer.alloc(12);
const senderView = new DataView(sender.buffer, sender.byteOffset);
const mounts = openSync('/proc/self/mountinfo', 'r');
const counter = Buffer.alloc(8);

function say(report: Report): void {
  const transfer = 'datagrams' in report ? report.datagrams.map((datagram) => datagram.buffer) : [];
  port.postMessage(report, transfer);
}

function add({ key, socket, life }: Extract<Command, { do: 'add' }>): void {
  watched.set(key, { socket, life });
  libc.epollControl(epoll, libc.EPOLL_ADD, socket, key);
  if (life !== undefined && 'pidfd' in life) libc.epollControl(epoll, libc.EPOLL_ADD, life.pidfd, (key | LIFE) >>> 0);
  if (life !== undefined && 'path' in life && !isThere(life)) end(key);
}

function remove(key: number): void {
  const found = watched.get(key);
  if (found === undefined) return;
  watched.delete(key);
  libc.close(found.socket);
  if (found.life !== undefined && 'pidfd' in found.life) libc.close(found.life.pidfd);
}

/** The socket itself keeps a namespace alive, so it must not outlive the news that the namespace is no longer used. */
function end(key: number): void {
  if (!watched.has(key)) return;
  drain(key);
  remove(key);
  say({ key, gone: true });
}

function isThere(life: Extract<Life, { path: string }>): boolean {
  const now = statSync(life.path, { throwIfNoEntry: false });
  return now !== undefined && now.ino === life.inode && now.dev === life.device;
}

function drain(key: number): void {
  const found = watched.get(key);
  if (found === undefined) return;
  const datagrams: Uint8Array<ArrayBuffer>[] = [];
  let overflowed = false;
  while (datagrams.length < DATAGRAMS_A_TURN) {
    const n = libc.recvFrom(found.socket, buffer, MSG_DONTWAIT, sender);
    if (n === -libc.ENOBUFS) {
      overflowed = true;
      continue;
    }
    if (n <= 0) break;
    // Whoever has NET_ADMIN in the namespace can send to the group, too; only the kernel's number is 0.
    if (senderView.getUint32(4, LITTLE) === 0) datagrams.push(new Uint8Array(buffer.subarray(0, n)));
  }
  if (datagrams.length > 0 || overflowed) say({ key, datagrams, overflowed });
}

/** False when it was told to stop. */
function obey(): boolean {
  libc.read(wake, counter);
  for (let message = receiveMessageOnPort(port); message !== undefined; message = receiveMessageOnPort(port)) {
    const command = message.message as Command;
    if (command.do === 'stop') return false;
    if (command.do === 'add') add(command);
    else remove(command.key);
  }
  return true;
}

function checkMounts(): void {
  // Reading to the end is what makes the file report the next change.
  while (readSync(mounts, buffer) > 0);
  for (const [key, { life }] of watched) {
    if (life !== undefined && 'path' in life && !isThere(life)) end(key);
  }
}

function turn(): boolean {
  const ready = libc.epollWait(epoll, events, WAIT_MS);
  let go = true;
  for (let i = 0; i < ready; i++) {
    const key = eventsView.getUint32(i * libc.EPOLL_SIZE + libc.EPOLL_DATA, LITTLE);
    if (key === WAKE) go = obey();
    else if (key === MOUNTS) checkMounts();
    else if (key >= LIFE) end(key - LIFE);
    else drain(key);
  }
  return go;
}

libc.epollControl(epoll, libc.EPOLL_ADD, wake, WAKE);
libc.epollControl(epoll, libc.EPOLL_ADD, mounts, MOUNTS, libc.EPOLLPRI);
while (turn());
// What happened before the stop is still told.
for (const key of watched.keys()) {
  drain(key);
  remove(key);
}
libc.close(epoll);
closeSync(mounts);
port.close();
