/**
 * One netlink socket: sends requests, several in one datagram, and reads the answers.
 *
 * All of it is synchronous, because the kernel is: when `send` returns, the request was carried out and the answer waits in the
 * receive queue (a dump is continued by each receive). So nothing here ever waits, and every receive says MSG_DONTWAIT: an
 * answer that is not there is an error, not a hang.
 */
import { Reader, Writer, LITTLE } from '../codec/writer.ts';
import { readText } from '../codec/type.ts';
import * as libc from '../libc.ts';
import type { Message } from '../codec/message.ts';
import { NetlinkError, translating, type Details } from './error.ts';
import {
  NLM_F_ACK,
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLM_F_DUMP,
  NLM_F_DUMP_INTR,
  NLM_F_MULTI,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
  type Request,
} from './request.ts';

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const SOL_SOCKET = 1;
const SOL_NETLINK = 270;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const MSG_DONTWAIT = 0x40;
const MSG_TRUNC = 0x20;

export type Protocol = 'route' | 'generic' | 'netfilter';
const protocols: Record<Protocol, number> = { route: 0, generic: 16, netfilter: 12 };

const HEADER = 16;
/** What the kernel may have waiting for us; it takes twice this, for its own overhead. */
const QUEUE_BYTES = 2 * 1024 * 1024;
/** Kernel answers to one datagram of requests must fit the receive queue, so a batch is cut here. */
const BATCH_BYTES = 128 * 1024;
const BATCH_MESSAGES = 256;
/** A dump that was changed under our hands this often is reported instead of tried again. */
const DUMP_ATTEMPTS = 16;

/** Shared by all sockets of the thread: nothing is kept in it between two synchronous calls. */
const writer = new Writer(BATCH_BYTES);
/** The kernel fills a dump's datagram up to 32 KiB; single answers with many virtual functions can be longer. */
const reader = new Reader(Buffer.alloc(512 * 1024));

/** What came back for one request. `header` is the message's type. */
export type OnReply = (type: number, r: Reader, start: number, end: number, index: number) => void;

/** A socket of the calling thread's present network namespace. `groups` makes it a listener. */
export function openSocket(protocol: Protocol, groups: readonly number[] = [], queueBytes = QUEUE_BYTES): number {
  return translating('socket', () => {
    const fd = libc.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocols[protocol]);
    try {
      libc.setIntegerOption(fd, SOL_SOCKET, SO_RCVBUFFORCE, queueBytes);
      libc.setIntegerOption(fd, SOL_SOCKET, SO_SNDBUFFORCE, 512 * 1024);
      libc.setIntegerOption(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
      libc.setIntegerOption(fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
      if (protocol === 'route') libc.setIntegerOption(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
      // Connected to the kernel, it takes messages from the kernel only. Whoever has NET_ADMIN in this namespace (a pod, say)
      // could otherwise send us forged answers.
      libc.connect(fd, kernelAddress);
      for (const group of groups) joinGroup(fd, group);
    } catch (error) {
      libc.close(fd);
      throw error;
    }
    return fd;
  });
}

const kernelAddress = Buffer.alloc(12);
kernelAddress.writeUInt16LE(AF_NETLINK, 0);
if (!LITTLE) kernelAddress.writeUInt16BE(AF_NETLINK, 0);

const NETLINK_ADD_MEMBERSHIP = 1;
export function joinGroup(fd: number, group: number): void {
  if (!libc.setIntegerOption(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)) {
    throw new NetlinkError('monitor', 22, { kernelMessage: `no multicast group ${group}` });
  }
}

/** The system calls of an exchange, so that a test can be a kernel that real ones are only rarely. */
type Calls = Pick<typeof libc, 'send' | 'recv' | 'close'>;
const system: Calls = { send: libc.send, recv: libc.recv, close: libc.close };

export class Socket {
  readonly #open: () => number;
  readonly #calls: Calls;
  #fd: number | undefined;
  #sequence = 1;

  /** `open` is called when a descriptor is first needed, and again after an exchange that was left half read. */
  constructor(open: () => number, calls: Calls = system) {
    this.#open = open;
    this.#calls = calls;
  }

  close(): void {
    if (this.#fd === undefined) return;
    this.#calls.close(this.#fd);
    this.#fd = undefined;
  }

  /**
   * Carries out requests in order, in as few sends as possible. The kernel goes on after a request that failed, so the errors
   * come back by position; `onReply` gets what else it answers (with NLM_F_ECHO, or of a get).
   *
   * Only the last request of a datagram asks for an acknowledgement: failures are reported without, and in order.
   */
  exchange(requests: readonly Request[], onReply?: OnReply): (NetlinkError | undefined)[] {
    const errors: (NetlinkError | undefined)[] = Array.from({ length: requests.length });
    let next = 0;
    while (next < requests.length) next = this.#exchangeSome(requests, next, errors, onReply);
    return errors;
  }

  /** One request; throws if it failed. */
  run(request: Request, onReply?: OnReply): void {
    const error = this.exchange([request], onReply)[0];
    if (error !== undefined) throw error;
  }

  /**
   * All or nothing, as nf_tables wants it: `requests` begins and ends with the marks of a batch and is one datagram. The kernel looks
   * at all of it and reports each failure, but does nothing if there is one. The first is thrown.
   */
  transact(requests: readonly Request[]): void {
    const errors: (NetlinkError | undefined)[] = [];
    this.#exchangeSome(requests, 0, errors, undefined, true);
    const first = errors.find((error) => error !== undefined);
    if (first !== undefined) throw first;
  }

  /** One request that has one answer. */
  get<Out>(request: Request, answer: Message<Out, never>): Out {
    let out: Out | undefined;
    this.run(request, (_, r, start, end) => {
      out = answer.read(r, start, end);
    });
    if (out === undefined)
      throw new NetlinkError(request.operation, 71, { kernelMessage: 'the kernel sent no answer' });
    return out;
  }

  /** Everything that a dump gives, from a view of the kernel's state that did not change meanwhile. */
  dump<Out>(request: Request, answer: Message<Out, never>): Out[] {
    for (let attempt = 1; attempt <= DUMP_ATTEMPTS; attempt++) {
      const out: Out[] = [];
      const whole = this.#dumpOnce(request, (r, start, end) => out.push(answer.read(r, start, end)));
      if (whole) return out;
    }
    throw interrupted(request.operation);
  }

  /**
   * A dump datagram by datagram, on a socket of its own: between two of them the caller may do anything, also end early. What
   * changed meanwhile ends it with EINTR, since what was given out cannot be taken back.
   */
  *dumpChunks<Out>(request: Request, answer: Message<Out, never>): Generator<Out[], void, void> {
    const own = new Socket(this.#open, this.#calls);
    try {
      const { sequence, fd } = own.#sendDump(request);
      let whole = true;
      for (;;) {
        const out: Out[] = [];
        const state = own.#receiveDump(fd, sequence, request, (r, s, e) => out.push(answer.read(r, s, e)));
        whole &&= state.whole;
        if (out.length > 0) yield out;
        if (state.done) break;
      }
      if (!whole) throw interrupted(request.operation);
    } finally {
      own.close();
    }
  }

  #descriptor(): number {
    this.#fd ??= this.#open();
    return this.#fd;
  }

  /** An exception between send and the last answer leaves answers behind: that descriptor is given up. */
  #guarded<T>(run: (fd: number) => T): T {
    const fd = this.#descriptor();
    let clean = false;
    try {
      const result = run(fd);
      clean = true;
      return result;
    } finally {
      if (!clean) this.close();
    }
  }

  #exchangeSome(
    requests: readonly Request[],
    first: number,
    errors: (NetlinkError | undefined)[],
    onReply: OnReply | undefined,
    whole = false,
  ): number {
    const base = this.#sequence;
    const starts: number[] = [];
    writer.position = 0;
    let next = first;
    while (next < requests.length) {
      if (!whole && (starts.length >= BATCH_MESSAGES || writer.position >= BATCH_BYTES)) break;
      starts.push(writer.position);
      writeRequest(requests[next]!, NLM_F_REQUEST, base + starts.length - 1);
      next++;
    }
    const count = starts.length;
    // The mark at the end of a transaction is not acknowledged by every kernel.
    const last = whole ? count - 2 : count - 1;
    const lastAt = starts[last]!;
    writer.view.setUint16(lastAt + 6, writer.view.getUint16(lastAt + 6, LITTLE) | NLM_F_ACK, LITTLE);
    this.#sequence = (base + count) & 0x3fff_ffff || 1;
    starts.push(writer.position);
    const sent = writer.bytes;

    this.#guarded((fd) => {
      translating(requests[first]!.operation, () => this.#calls.send(fd, writer.bytes, writer.position));
      let done = false;
      for (;;) {
        eachMessage(receive(this.#calls, fd, requests[first]!.operation), (type, flags, sequence, start, end) => {
          const index = sequence - base;
          if (index < 0 || index >= count) return;
          const request = requests[first + index]!;
          if (type === NLMSG_ERROR) {
            const errno = -reader.view.getInt32(start, LITTLE);
            if (errno !== 0) {
              const about = new Reader(sent.subarray(starts[index], starts[index + 1]));
              errors[first + index] = kernelError(request, about, errno, flags, start, end);
            }
            // A transaction that could not begin or be committed is reported for its first mark.
            if (index === last || (whole && index === 0)) done = true;
          } else {
            onReply?.(type, reader, start, end, first + index);
          }
        });
        if (done) break;
      }
    });
    return next;
  }

  #dumpOnce(request: Request, onItem: (r: Reader, start: number, end: number) => void): boolean {
    const { sequence } = this.#sendDump(request);
    return this.#guarded((fd) => {
      let whole = true;
      for (;;) {
        const state = this.#receiveDump(fd, sequence, request, onItem);
        whole &&= state.whole;
        if (state.done) return whole;
      }
    });
  }

  #sendDump(request: Request): { sequence: number; fd: number } {
    const sequence = this.#sequence++;
    writer.position = 0;
    writeRequest(request, NLM_F_REQUEST | NLM_F_DUMP, sequence);
    return this.#guarded((fd) => {
      translating(request.operation, () => this.#calls.send(fd, writer.bytes, writer.position));
      return { sequence, fd };
    });
  }

  #receiveDump(
    fd: number,
    expected: number,
    request: Request,
    onItem: (r: Reader, start: number, end: number) => void,
  ): { done: boolean; whole: boolean } {
    let done = false;
    let whole = true;
    eachMessage(receive(this.#calls, fd, request.operation), (type, flags, sequence, start, end) => {
      if (sequence !== expected || done) return;
      if ((flags & NLM_F_DUMP_INTR) !== 0) whole = false;
      if (type === NLMSG_ERROR || type === NLMSG_DONE) {
        done = true;
        const errno = end - start >= 4 ? -reader.view.getInt32(start, LITTLE) : 0;
        if (errno > 0) throw dumpError(request, errno, type, flags, start, end);
      } else {
        onItem(reader, start, end);
        if ((flags & NLM_F_MULTI) === 0) done = true;
      }
    });
    return { done, whole };
  }
}

function interrupted(operation: string): NetlinkError {
  return new NetlinkError(operation, 4, { kernelMessage: 'what was being listed changed meanwhile, list it again' });
}

function writeRequest(request: Request, flags: number, sequence: number): void {
  const at = writer.reserve(HEADER);
  request.message.write(writer, request.body);
  writer.align();
  const { view } = writer;
  view.setUint32(at, writer.position - at, LITTLE);
  view.setUint16(at + 4, request.type, LITTLE);
  view.setUint16(at + 6, request.flags | flags, LITTLE);
  view.setUint32(at + 8, sequence, LITTLE);
  view.setUint32(at + 12, 0, LITTLE);
}

function receive(calls: Calls, fd: number, operation: string): number {
  const n = calls.recv(fd, reader.bytes, MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0) throw new NetlinkError(operation, -n, { kernelMessage: 'receiving the answer failed' });
  if (n > reader.bytes.length) throw new NetlinkError(operation, 90, { kernelMessage: `an answer of ${n} bytes` });
  return n;
}

type OnMessage = (type: number, flags: number, sequence: number, start: number, end: number) => void;

/** Walks the messages of the datagram in `reader`; stops at the first whose length cannot be. */
function eachMessage(length: number, onMessage: OnMessage): void {
  walk(reader, length, onMessage);
}

export function walk(r: Reader, length: number, onMessage: OnMessage): void {
  const { view } = r;
  let at = 0;
  while (at + HEADER <= length) {
    const size = view.getUint32(at, LITTLE);
    if (size < HEADER || at + size > length) return;
    onMessage(
      view.getUint16(at + 4, LITTLE),
      view.getUint16(at + 6, LITTLE),
      view.getUint32(at + 8, LITTLE),
      at + HEADER,
      at + size,
    );
    at += (size + 3) & ~3;
  }
}

/** `struct nlmsgerr`: the error, the request's header, the request itself unless capped, then what the kernel adds. */
function kernelError(
  request: Request,
  sent: Reader,
  errno: number,
  flags: number,
  start: number,
  end: number,
): NetlinkError {
  if ((flags & NLM_F_ACK_TLVS) === 0) return new NetlinkError(request.operation, errno);
  let at = start + 4 + HEADER;
  if ((flags & NLM_F_CAPPED) === 0 && at <= end) at += reader.view.getUint32(start + 4, LITTLE) - HEADER;
  return new NetlinkError(request.operation, errno, extendedAck(request, sent, (at + 3) & ~3, end));
}

function dumpError(
  request: Request,
  errno: number,
  type: number,
  flags: number,
  start: number,
  end: number,
): NetlinkError {
  const sent = new Reader(writer.bytes.subarray(0, writer.position));
  if (type === NLMSG_ERROR) return kernelError(request, sent, errno, flags, start, end);
  if ((flags & NLM_F_ACK_TLVS) === 0) return new NetlinkError(request.operation, errno);
  return new NetlinkError(request.operation, errno, extendedAck(request, sent, start + 4, end));
}

function extendedAck(request: Request, sent: Reader, from: number, end: number): Details {
  let kernelMessage: string | undefined;
  let attribute: string | undefined;
  let missing: number | undefined;
  let nest = 0;
  let at = from;
  while (at + 4 <= end) {
    const length = reader.view.getUint16(at, LITTLE);
    if (length < 4 || at + length > end) break;
    const id = reader.view.getUint16(at + 2, LITTLE) & 0x3fff;
    if (id === 1) kernelMessage = readText(reader, at + 4, at + length);
    else if (length >= 8) {
      const value = reader.view.getUint32(at + 4, LITTLE);
      if (id === 2) attribute = request.message.locate(sent, HEADER, sent.bytes.length, value);
      else if (id === 5) missing = value;
      else if (id === 6) nest = value;
    }
    at += (length + 3) & ~3;
  }
  if (missing !== undefined) {
    attribute = request.message.missing(sent, HEADER, sent.bytes.length, nest, missing);
  }
  return { kernelMessage, attribute };
}
