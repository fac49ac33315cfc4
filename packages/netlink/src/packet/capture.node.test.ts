/** Packets between two real namespaces, and what the kernel's filter lets through to us. */
import { createSocket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as libc from '../libc.ts';
import { open, type Netns } from '../namespace.ts';
import type { BpfInstruction } from '../tc/filter-kinds.ts';

const AF_INET = 2;
const SOCK_DGRAM = 2;
const IPV4 = 0x0800;
const UDP = 17;
/** IPv4 and UDP to this port, of which `bytes` are wanted. */
const udpTo = (port: number, bytes = 0xffff): BpfInstruction[] => [
  [0x28, 0, 0, 0xffff_f000],
  [0x15, 0, 6, IPV4],
  [0x30, 0, 0, 9],
  [0x15, 0, 4, UDP],
  [0xb1, 0, 0, 0],
  [0x48, 0, 0, 2],
  [0x15, 0, 1, port],
  [0x06, 0, 0, bytes],
  [0x06, 0, 0, 0],
];

let here: Netns;
let there: Netns;
beforeEach(() => {
  here = open({ create: true });
  there = open({ create: true });
  here.link.add({ kind: 'veth', name: 'a', up: true, peer: { name: 'b', netns: there } });
  there.link.set('b', { up: true });
  here.address.add({ link: 'a', address: '10.0.0.1/24' });
  there.address.add({ link: 'b', address: '10.0.0.2/24' });
});
afterEach(() => {
  here.close();
  there.close();
});

/** A socket of `here`, from where datagrams go to `there`. */
async function send(datagrams: readonly (readonly [text: string, port: number])[]): Promise<void> {
  const socket = createSocket('udp4');
  try {
    socket.bind({ fd: here.run<number>(() => libc.socket(AF_INET, SOCK_DGRAM, 0)) });
    for (const [text, port] of datagrams) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      socket.send(text, port, '10.0.0.2', (error) => (error ? reject(error) : resolve()));
      await promise;
    }
  } finally {
    socket.close();
  }
}

const HEADERS = 28;
const text = (packet: Uint8Array): string => new TextDecoder().decode(packet.subarray(HEADERS));

describe('capture', () => {
  it('shows what the filter lets through, and nothing else', async () => {
    const seen: string[] = [];
    using watching = there.capture({ filter: udpTo(5000) }, (packet) => seen.push(text(packet)));
    await send([
      ['one', 5000],
      ['another port', 5001],
      ['two', 5000],
    ]);
    await vi.waitFor(() => expect(seen).toEqual(['one', 'two']), { timeout: 30_000 });
    expect(watching.stats()).toEqual({ packets: 2, dropped: 0 });
  });

  it('shows what goes out of one link, cut to what was asked for', async () => {
    const lengths: number[] = [];
    using _ = here.capture({ link: here.link.indexOf('a'), filter: udpTo(5000, HEADERS + 2) }, (packet) =>
      lengths.push(packet.length),
    );
    await send([['a long text', 5000]]);
    await vi.waitFor(() => expect(lengths).toEqual([HEADERS + 2]), { timeout: 30_000 });
  });

  it('goes round its ring: more packets than fit into it once', async () => {
    const long = 'x'.repeat(1400);
    let count = 0;
    using watching = there.capture({ filter: udpTo(5000) }, () => (count += 1));
    const rounds = 24;
    for (let i = 1; i <= rounds; i += 1) {
      await send(Array.from({ length: 500 }, () => [long, 5000] as const));
      await vi.waitFor(() => expect(count).toBe(500 * i), { timeout: 30_000 });
    }
    expect(watching.stats()).toEqual({ packets: 500 * rounds, dropped: 0 });
  });

  it('refuses a link that is not there, and leaves nothing open', () => {
    expect(() => here.capture({ link: 999, filter: udpTo(5000) }, () => undefined)).toThrow(/ENODEV/);
  });
});
