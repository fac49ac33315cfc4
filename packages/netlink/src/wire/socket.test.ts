/**
 * What a real kernel does only when it is unlucky or hostile: interrupted dumps, late answers, cut and random bytes. The kernel
 * is a script here; everything else about sockets is tested against the real kernel.
 */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { LITTLE } from '../codec/writer.ts';
import { linkMessage } from '../route/link-table.ts';
import { RTM_DELLINK, RTM_GETLINK, RTM_NEWLINK } from '../route/numbers.ts';
import { isNetlinkError } from './error.ts';
import {
  NLM_F_ACK_TLVS,
  NLM_F_CAPPED,
  NLM_F_DUMP_INTR,
  NLM_F_MULTI,
  NLMSG_DONE,
  NLMSG_ERROR,
  request,
} from './request.ts';
import { Socket } from './socket.ts';

const kernel = {
  answer: (_sequences: number[]): Uint8Array[] => [],
  queue: [] as (Uint8Array | number)[],
  sends: 0,
  closed: 0,
  send: (_fd: number, bytes: Uint8Array, length: number): number => {
    kernel.sends++;
    const sequences: number[] = [];
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    for (let at = 0; at < length; at += view.getUint32(at, LITTLE)) sequences.push(view.getUint32(at + 8, LITTLE));
    kernel.queue.push(...kernel.answer(sequences));
    return length;
  },
  recv: (_fd: number, into: Uint8Array): number => {
    const next = kernel.queue.shift();
    if (next === undefined) return -11;
    if (typeof next === 'number') return next;
    into.set(next.subarray(0, into.length));
    return next.length;
  },
  close: (): void => {
    kernel.closed++;
  },
};

function reply(type: number, flags: number, sequence: number, payload: Uint8Array): Uint8Array {
  const size = 16 + payload.length;
  const out = new Uint8Array((size + 3) & ~3);
  const view = new DataView(out.buffer);
  view.setUint32(0, size, LITTLE);
  view.setUint16(4, type, LITTLE);
  view.setUint16(6, flags, LITTLE);
  view.setUint32(8, sequence, LITTLE);
  out.set(payload, 16);
  return out;
}

function link(index: number): Uint8Array {
  const out = new Uint8Array(16);
  new DataView(out.buffer).setInt32(4, index, LITTLE);
  return out;
}

const number = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value).buffer);
const failure = (errno: number, more: Uint8Array = new Uint8Array(0)): Uint8Array =>
  Buffer.concat([number(-errno), Buffer.alloc(16), more]);
const ack = failure(0);

const list = request('link.list', RTM_GETLINK, 0, linkMessage, {});
const remove = (index: number) => request('link.delete', RTM_DELLINK, 0, linkMessage, { index });

/** Whether it ended in one of the two ways that a caller can expect. */
function outcome(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    return isNetlinkError(error);
  }
}

let socket: Socket;
let opened = 0;
beforeEach(() => {
  kernel.queue.length = 0;
  kernel.sends = 0;
  kernel.closed = 0;
  opened = 0;
  socket = new Socket(() => ++opened, kernel);
});

const indexes = (): number[] => socket.dump(list, linkMessage).map((one) => one.index);

describe('a dump', () => {
  it('is repeated when the kernel says that it was interrupted', () => {
    let attempt = 0;
    kernel.answer = ([sequence]) => {
      const flags = NLM_F_MULTI | (attempt++ < 3 ? NLM_F_DUMP_INTR : 0);
      return [
        reply(RTM_NEWLINK, flags, sequence!, link(attempt)),
        reply(RTM_NEWLINK, NLM_F_MULTI, sequence!, link(7)),
        reply(NLMSG_DONE, NLM_F_MULTI, sequence!, number(0)),
      ];
    };
    expect(indexes()).toEqual([4, 7]);
    expect(kernel.sends).toBe(4);
  });

  it('is given up with EINTR when it never succeeds', () => {
    kernel.answer = ([sequence]) => [reply(NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, sequence!, number(0))];
    expect(indexes).toThrow('EINTR');
    expect(kernel.sends).toBeLessThan(100);
  });

  it('throws what the kernel reports at its end', () => {
    kernel.answer = ([sequence]) => [reply(NLMSG_DONE, NLM_F_MULTI, sequence!, number(-12))];
    expect(indexes).toThrow('ENOMEM');
  });

  it('does not take answers to an earlier request', () => {
    kernel.answer = ([sequence]) => [
      reply(RTM_NEWLINK, NLM_F_MULTI, sequence! - 1, link(1)),
      reply(NLMSG_DONE, NLM_F_MULTI, sequence! - 1, number(0)),
      reply(RTM_NEWLINK, NLM_F_MULTI, sequence!, link(2)),
      reply(NLMSG_DONE, NLM_F_MULTI, sequence!, number(0)),
    ];
    expect(indexes()).toEqual([2]);
  });
});

describe('a batch', () => {
  it('puts each error at its request, with one acknowledgement for all', () => {
    kernel.answer = (sequences) => [
      reply(NLMSG_ERROR, NLM_F_CAPPED, sequences[1]!, failure(19)),
      reply(NLMSG_ERROR, NLM_F_CAPPED, sequences[2]!, ack),
    ];
    const errors = socket.exchange([remove(1), remove(2), remove(3)]);
    expect(errors.map((error) => error?.code)).toEqual([undefined, 'ENODEV', undefined]);
    expect(kernel.sends).toBe(1);
  });

  it('is cut into several sends when it is long', () => {
    kernel.answer = (sequences) => [reply(NLMSG_ERROR, NLM_F_CAPPED, sequences.at(-1)!, ack)];
    const requests = Array.from({ length: 1000 }, (_, i) => remove(i + 1));
    expect(socket.exchange(requests)).toHaveLength(1000);
    expect(kernel.sends).toBe(4);
  });
});

describe('a socket', () => {
  it('opens a new descriptor after answers were lost', () => {
    kernel.answer = () => [];
    expect(() => socket.run(remove(1))).toThrow('EAGAIN');
    expect(kernel.closed).toBe(1);
    kernel.queue.push(-105);
    expect(() => socket.run(remove(1))).toThrow('ENOBUFS');
    kernel.answer = (sequences) => [reply(NLMSG_ERROR, 0, sequences[0]!, ack)];
    socket.run(remove(1));
    expect(opened).toBe(3);
  });

  it('ends in an answer or a NetlinkError whatever it is sent', { timeout: 600_000 }, () => {
    const numRuns = Number(process.env['NETLINK_FUZZ_RUNS'] ?? 300);
    const types = fc.constantFrom(NLMSG_ERROR, NLMSG_DONE, RTM_NEWLINK);
    const messages = fc.array(fc.tuple(types, fc.nat(0xffff), fc.uint8Array({ maxLength: 80 }), fc.nat(2)), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(messages, fc.uint8Array({ maxLength: 64 }), fc.boolean(), (script, junk, dumping) => {
        kernel.queue.length = 0;
        kernel.answer = ([sequence]) => [
          ...script.map(([type, flags, payload, late]) =>
            reply(type, flags | NLM_F_ACK_TLVS, sequence! - late, payload),
          ),
          junk,
        ];
        expect(outcome(() => void (dumping ? socket.dump(list, linkMessage) : socket.run(remove(1))))).toBe(true);
      }),
      { numRuns },
    );
  });
});
