/**
 * Network namespaces as descriptors, and the only place where this thread enters one.
 *
 * A socket stays in the namespace that its thread was in when it was made, so we enter, open and leave without giving other
 * JavaScript a chance to run. If leaving fails, every later socket would silently be made in somebody's pod: the process ends.
 */
import { closeSync, openSync, readdirSync, writeFileSync, unlinkSync } from 'node:fs';
import * as libc from './libc.ts';
import { NetlinkError, translating } from './wire/error.ts';

const CLONE_NEWNET = 0x4000_0000;
const MS_BIND = 4096;
const MNT_DETACH = 2;
const OWN = '/proc/thread-self/ns/net';

/** Where to find a namespace. `create` makes a new one, and `pinned` names a file that keeps it alive. */
export type NetnsSource =
  | { readonly pid: number }
  | { readonly path: string }
  | { readonly netnsid: number }
  | { readonly create: true; readonly pinned?: string }
  | { readonly own: true };

let home: number | undefined;
let inside = false;

/** Runs `work` in the namespace behind `fd`. Synchronous by type: a promise would come back after we left. */
export function inNetns<T>(fd: number, work: () => T extends Promise<unknown> ? never : T): T {
  if (inside) throw busy();
  home ??= translating('netns', () => openSync(OWN, 'r'));
  translating('netns', () => libc.setns(fd, CLONE_NEWNET));
  inside = true;
  try {
    return work();
  } finally {
    leave(home);
  }
}

/** The same where the thread is already. It asks for no right, while entering a namespace needs SYS_ADMIN, also the own one. */
export function inOwnNetns<T>(work: () => T extends Promise<unknown> ? never : T): T {
  if (inside) throw busy();
  return work();
}

const busy = (): NetlinkError =>
  new NetlinkError('netns', 16, { kernelMessage: 'this thread is in another namespace already' });

function leave(to: number): void {
  try {
    libc.setns(to, CLONE_NEWNET);
    inside = false;
  } catch (error) {
    process.stderr.write(`Cannot return to the own network namespace: ${String(error)}\n`);
    process.abort();
  }
}

/** A descriptor for a namespace. `byNetnsid` is asked for the number that the own namespace gives another one. */
export function openNetns(source: NetnsSource, netnsidOf: (fd: number) => number | undefined): number {
  if ('pid' in source) return openFile(`/proc/${source.pid}/ns/net`);
  if ('path' in source) return openFile(source.path);
  if ('netnsid' in source) return findNetnsid(source.netnsid, netnsidOf);
  if ('create' in source) return createNetns(source.pinned);
  return openFile(OWN);
}

const openFile = (path: string): number => translating(`netns ${path}`, () => openSync(path, 'r'));

function createNetns(pinned: string | undefined): number {
  if (inside) throw busy();
  const back = (home ??= openFile(OWN));
  translating('netns.create', () => libc.unshare(CLONE_NEWNET));
  inside = true;
  try {
    const fd = openFile(OWN);
    if (pinned === undefined) return fd;
    try {
      pinNetns(OWN, pinned);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    return fd;
  } finally {
    leave(back);
  }
}

function pinNetns(source: string, target: string): void {
  translating(`netns.create ${target}`, () => {
    writeFileSync(target, '', { flag: 'wx' });
    try {
      libc.mount(source, target, MS_BIND);
    } catch (error) {
      unlinkSync(target);
      throw error;
    }
  });
}

/** Removes the file that keeps a namespace alive. The namespace ends with its last process, socket and descriptor. */
export function unpinNetns(path: string): void {
  translating(`netns.unpin ${path}`, () => {
    libc.umount(path, MNT_DETACH);
    unlinkSync(path);
  });
}

/** The kernel tells the number of a namespace, but not the namespace of a number: so we ask about each that has a name or process. */
function findNetnsid(netnsid: number, netnsidOf: (fd: number) => number | undefined): number {
  const candidates = [
    ...namesIn('/run/netns').map((name) => `/run/netns/${name}`),
    ...namesIn('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => `/proc/${pid}/ns/net`),
  ];
  for (const path of candidates) {
    const fd = tryOpen(path);
    if (fd === undefined) continue;
    if (netnsidOf(fd) === netnsid) return fd;
    closeSync(fd);
  }
  throw new NetlinkError('netns', 2, { kernelMessage: `nothing that can be opened has netnsid ${netnsid}` });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // no such directory is no names; a candidate list needs no more
  }
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch {
    return undefined; // the process ended, or the file is no namespace: not the one we look for
  }
}
