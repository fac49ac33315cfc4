/**
 * The only file that knows how a system call is made (koffi), so that an addon or Node's own FFI can replace it. Everything
 * but waiting is synchronous on purpose: entering a namespace, opening a socket and leaving must not be interrupted by other JavaScript.
 */
import koffi from 'koffi';
import { LITTLE } from './codec/writer.ts';

const c = koffi.load(null);

type Int = number;
const setnsC = c.func('int setns(int fd, int type)') as (fd: Int, type: Int) => Int;
const unshareC = c.func('int unshare(int flags)') as (flags: Int) => Int;
const socketC = c.func('int socket(int domain, int type, int protocol)') as (d: Int, t: Int, p: Int) => Int;
const connectC = c.func('int connect(int fd, void *addr, uint32_t len)') as (fd: Int, a: Uint8Array, n: Int) => Int;
const setsockoptC = c.func('int setsockopt(int fd, int level, int name, void *value, uint32_t len)') as (
  fd: Int,
  level: Int,
  name: Int,
  value: Uint8Array,
  n: Int,
) => Int;
const sendC = c.func('intptr_t send(int fd, void *buf, size_t len, int flags)') as (
  fd: Int,
  buf: Uint8Array,
  n: Int,
  flags: Int,
) => Int;
const recvC = c.func('intptr_t recv(int fd, void *buf, size_t len, int flags)') as (
  fd: Int,
  buf: Uint8Array,
  n: Int,
  flags: Int,
) => Int;
const recvfromC = c.func('intptr_t recvfrom(int fd, void *buf, size_t len, int flags, void *from, void *n)') as (
  fd: Int,
  buf: Uint8Array,
  n: Int,
  flags: Int,
  from: Uint8Array,
  fromLength: Uint8Array,
) => Int;
const syscallC = c.func('intptr_t syscall(intptr_t number, intptr_t a, intptr_t b)') as (n: Int, a: Int, b: Int) => Int;
const closeC = c.func('int close(int fd)') as (fd: Int) => Int;
const readC = c.func('intptr_t read(int fd, void *buf, size_t len)') as (fd: Int, buf: Uint8Array, n: Int) => Int;
const writeC = c.func('intptr_t write(int fd, void *buf, size_t len)') as (fd: Int, buf: Uint8Array, n: Int) => Int;
const mountC = c.func('int mount(str source, str target, str type, uintptr_t flags, str data)') as (
  source: string,
  target: string,
  type: string | null,
  flags: Int,
  data: string | null,
) => Int;
const umountC = c.func('int umount2(str target, int flags)') as (target: string, flags: Int) => Int;
const eventfdC = c.func('int eventfd(uint32_t initial, int flags)') as (initial: Int, flags: Int) => Int;
const epollCreateC = c.func('int epoll_create1(int flags)') as (flags: Int) => Int;
const epollCtlC = c.func('int epoll_ctl(int epfd, int op, int fd, void *event)') as (
  epfd: Int,
  op: Int,
  fd: Int,
  event: Uint8Array,
) => Int;
const epollWaitC = c.func('int epoll_wait(int epfd, void *events, int max, int timeout)').async as (
  epfd: Int,
  events: Uint8Array,
  max: Int,
  timeout: Int,
  done: (error: Error | null, n: Int) => void,
) => void;
const ioctlPointerC = c.func('ioctl', 'int', ['int', 'uintptr_t', 'void *']) as (
  f: Int,
  r: Int,
  arg: Uint8Array,
) => Int;
const ioctlNumberC = c.func('ioctl', 'int', ['int', 'uintptr_t', 'uintptr_t']) as (f: Int, r: Int, arg: Int) => Int;

const bindC = c.func('int bind(int fd, void *addr, uint32_t len)') as (fd: Int, a: Uint8Array, n: Int) => Int;
const getsockoptC = c.func('int getsockopt(int fd, int level, int name, void *value, void *len)') as (
  fd: Int,
  level: Int,
  name: Int,
  value: Uint8Array,
  n: Uint32Array,
) => Int;
const mmapC = c.func('void *mmap(void *addr, size_t len, int prot, int flags, int fd, intptr_t offset)') as (
  addr: null,
  n: Int,
  prot: Int,
  flags: Int,
  fd: Int,
  offset: Int,
) => unknown;
const munmapC = c.func('int munmap(void *addr, size_t len)') as (addr: unknown, n: Int) => Int;
const sockFprog = koffi.struct('sock_fprog', { len: 'uint16_t', filter: 'void *' });
const attachFilterC = c.func('setsockopt', 'int', ['int', 'int', 'int', koffi.pointer(sockFprog), 'uint32_t']) as (
  fd: Int,
  level: Int,
  name: Int,
  program: { readonly len: number; readonly filter: Uint8Array },
  n: Int,
) => Int;

/** A system call that failed; `errno` is the positive number. Translated to NetlinkError at the package's border. */
export class SystemCallError extends Error {
  readonly errno: number;
  constructor(call: string, errno: number) {
    super(`${call}: errno ${errno}`);
    this.name = 'SystemCallError';
    this.errno = errno;
  }
}

function checked(call: string, result: number): number {
  if (result < 0) throw new SystemCallError(call, koffi.errno());
  return result;
}

export const EINTR = 4;
export const ENOBUFS = 105;

export const setns = (fd: number, type: number): void => void checked('setns', setnsC(fd, type));
export const unshare = (flags: number): void => void checked('unshare', unshareC(flags));
export const socket = (domain: number, type: number, protocol: number): number =>
  checked('socket', socketC(domain, type, protocol));
export const connect = (fd: number, address: Uint8Array): void =>
  void checked('connect', connectC(fd, address, address.length));
export const close = (fd: number): void => void checked('close', closeC(fd));
export const umount = (target: string, flags: number): void => void checked('umount', umountC(target, flags));
export const eventfd = (flags: number): number => checked('eventfd', eventfdC(0, flags));
export const epollCreate = (flags: number): number => checked('epoll_create', epollCreateC(flags));
export const ioctl = (fd: number, request: number, arg: Uint8Array | number): number =>
  checked('ioctl', typeof arg === 'number' ? ioctlNumberC(fd, request, arg) : ioctlPointerC(fd, request, arg));
export const send = (fd: number, buffer: Uint8Array, length: number): number =>
  checked('send', sendC(fd, buffer, length, 0));
export const write = (fd: number, buffer: Uint8Array): number => checked('write', writeC(fd, buffer, buffer.length));
export const read = (fd: number, buffer: Uint8Array): number => checked('read', readC(fd, buffer, buffer.length));

export function mount(source: string, target: string, flags: number): void {
  checked('mount', mountC(source, target, null, flags, null));
}

/** An integer option. Returns whether the kernel took it, because several options exist only in newer kernels. */
export function setIntegerOption(fd: number, level: number, name: number, value: number): boolean {
  optionValue[0] = value;
  return setsockoptC(fd, level, name, optionBytes, 4) === 0;
}
const optionValue = new Int32Array(1);
const optionBytes = new Uint8Array(optionValue.buffer);

export const bind = (fd: number, address: Uint8Array): void => void checked('bind', bindC(fd, address, address.length));
export const setOption = (fd: number, level: number, name: number, value: Uint8Array): void =>
  void checked('setsockopt', setsockoptC(fd, level, name, value, value.length));

/** Fills `value`, whose length says how much is asked for. */
export const getOption = (fd: number, level: number, name: number, value: Uint8Array): void =>
  void checked('getsockopt', getsockoptC(fd, level, name, value, new Uint32Array([value.length])));

const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;

/** A classic BPF program that decides which packets a socket gets: eight bytes an instruction. */
export function attachFilter(fd: number, program: Uint8Array): void {
  const filter = { len: program.length / 8, filter: program };
  checked('setsockopt', attachFilterC(fd, SOL_SOCKET, SO_ATTACH_FILTER, filter, koffi.sizeof(sockFprog)));
}

const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;

/** Memory that is shared with the kernel. After `unmap` nobody may touch `bytes` any more: it would end the process. */
export interface Mapping {
  readonly bytes: ArrayBuffer;
  unmap(): void;
}

export function mapShared(fd: number, length: number): Mapping {
  const at = mmapC(null, length, PROT_READ_WRITE, MAP_SHARED, fd, 0);
  // MAP_FAILED is the pointer with all bits set.
  if (BigInt.asIntN(64, koffi.address(at)) === -1n) throw new SystemCallError('mmap', koffi.errno());
  return { bytes: koffi.view(at, length), unmap: () => void checked('munmap', munmapC(at, length)) };
}

/** Bytes received (more than the buffer holds if the datagram was cut, with MSG_TRUNC), or the negative errno. */
export function recv(fd: number, buffer: Uint8Array, flags: number): number {
  for (;;) {
    const n = recvC(fd, buffer, buffer.length, flags);
    if (n >= 0) return n;
    const errno = koffi.errno();
    if (errno !== EINTR) return -errno;
  }
}

/** The same with the sender's address, whose buffer must have room for it. */
export function recvFrom(fd: number, buffer: Uint8Array, flags: number, from: Uint8Array): number {
  const length = Buffer.alloc(4);
  for (;;) {
    new DataView(length.buffer, length.byteOffset).setUint32(0, from.length, LITTLE);
    const n = recvfromC(fd, buffer, buffer.length, flags, from, length);
    if (n >= 0) return n;
    const errno = koffi.errno();
    if (errno !== EINTR) return -errno;
  }
}

const PIDFD_OPEN = 434;
/** A descriptor that becomes readable when the process ends. */
export const pidfdOpen = (pid: number): number => checked('pidfd_open', syscallC(PIDFD_OPEN, pid, 0));

export const EPOLL_ADD = 1;
export const EPOLL_DELETE = 2;

/** Watches for input. `key` comes back from `epollWait`; it is ours to choose, so no lookup by descriptor is needed. */
export function epollControl(epoll: number, operation: number, fd: number, key: number, events = EPOLLIN): void {
  const event = Buffer.alloc(16);
  const view = new DataView(event.buffer, event.byteOffset);
  view.setUint32(0, events, LITTLE);
  view.setUint32(EPOLL_DATA, key, LITTLE);
  checked('epoll_ctl', epollCtlC(epoll, operation, fd, event));
}

export const EPOLLIN = 0x1;
/** For files of /proc that report changes. */
export const EPOLLPRI = 0x2;

/** `struct epoll_event` is packed on x86-64 only. */
export const EPOLL_DATA = process.arch === 'x64' ? 4 : 8;
export const EPOLL_SIZE = process.arch === 'x64' ? 12 : 16;

/**
 * Blocks a thread of Node's pool, and calls back with how many events were written to `events`, which is not to be touched until then; 0 when
 * a signal or the timeout came first.
 */
export function epollWait(epoll: number, events: Uint8Array, timeoutMs: number, done: (n: number) => void): void {
  epollWaitC(epoll, events, Math.floor(events.length / EPOLL_SIZE), timeoutMs, (error, n) => {
    if (error) throw error;
    // As everywhere in koffi, errno is that of the call, whichever thread made it.
    const errno = n < 0 ? koffi.errno() : 0;
    if (errno !== 0 && errno !== EINTR) throw new SystemCallError('epoll_wait', errno);
    done(Math.max(n, 0));
  });
}
