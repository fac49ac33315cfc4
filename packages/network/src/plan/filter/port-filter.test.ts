import { parseIp } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Frame, runFilter } from '../../testing/interpreter.ts';
import { portFilter } from './port-filter.ts';

const me = '02:00:00:00:00:02';
const peer = '02:00:00:00:00:03';
const gw = '0a:00:00:00:00:01';
const everyone = 'ff:ff:ff:ff:ff:ff';
const group6 = '33:33:00:00:00:01';
const my4 = '192.168.100.2';
const my6 = 'fd00:1::2';
const myLinkLocal = 'fe80::ff:fe00:2';

const program = portFilter({
  mac: me,
  addresses: [my4, '192.168.100.7', my6, myLinkLocal],
  gatewayMac: gw,
  gateways: ['192.168.100.1', 'fd00:1::1'],
  broadcasts: ['192.168.100.255'],
});

const mac = (text: string): number[] => text.split(':').map((byte) => Number.parseInt(byte, 16));
const be = (value: bigint | number, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * (bytes - 1 - i))) & 255n));
const ip = (text: string): number[] => {
  const { family, value } = parseIp(text);
  return be(value, family === 4 ? 4 : 16);
};
const ether = (to: string, from: string, type: number, payload: readonly number[]): Frame => ({
  bytes: Uint8Array.from([...mac(to), ...mac(from), ...be(type, 2), ...payload]),
});
const udp = (source: number, to: number): number[] => [...be(source, 2), ...be(to, 2), ...be(8, 2), 0, 0];
const tcp = Array.from({ length: 20 }, () => 0);

const ipv4 = (
  to: string,
  source: string,
  destination: string,
  protocol = 6,
  body: readonly number[] = tcp,
  from = me,
): Frame =>
  ether(to, from, 0x0800, [
    0x45,
    0,
    ...be(20 + body.length, 2),
    0,
    0,
    0,
    0,
    64,
    protocol,
    0,
    0,
    ...ip(source),
    ...ip(destination),
    ...body,
  ]);
const arp = (senderMac: string, sender: string, target = '192.168.100.1', to = everyone): Frame =>
  ether(to, me, 0x0806, [
    0,
    1,
    8,
    0,
    6,
    4,
    0,
    1,
    ...mac(senderMac),
    ...ip(sender),
    ...mac('00:00:00:00:00:00'),
    ...ip(target),
  ]);
const ipv6 = (to: string, source: string, destination: string, next = 6, body: readonly number[] = tcp): Frame =>
  ether(to, me, 0x86dd, [0x60, 0, 0, 0, ...be(body.length, 2), next, 64, ...ip(source), ...ip(destination), ...body]);
const nd = (type: number, target: string): number[] => [type, 0, 0, 0, 0, 0, 0, 0, ...ip(target)];
/** Eight bytes of an extension header that leads to ICMPv6. */
const extension = (inner: number, body: readonly number[]): number[] => [inner, 0, 0, 0, 0, 0, 0, 0, ...body];
const tagged = (frame: Frame): Frame => ({ ...frame, vlanTag: true });

const pass = 0xffffffff;
const drop = 2;

describe('the filter at a port lets out', () => {
  it.each([
    ['IPv4 to a peer', ipv4(peer, my4, '192.168.100.3')],
    ['IPv4 from the second address', ipv4(peer, '192.168.100.7', '192.168.100.3')],
    ['IPv4 to the gateway', ipv4(gw, my4, '192.168.100.1')],
    ['IPv4 to somewhere else through a peer', ipv4(peer, my4, '8.8.8.8')],
    ['broadcast', ipv4(everyone, my4, '255.255.255.255', 17, udp(68, 67))],
    ['subnet broadcast', ipv4(everyone, my4, '192.168.100.255', 17, udp(1000, 1000))],
    ['multicast', ipv4('01:00:5e:00:00:fb', my4, '224.0.0.251', 17, udp(5353, 5353))],
    [
      'a later fragment whose bytes look like a DHCP server',
      withFragment(ipv4(peer, my4, '192.168.100.3', 17, udp(67, 68)), 1),
    ],
    ['ARP for the gateway', arp(me, my4)],
    ['an ARP probe', arp(me, '0.0.0.0', my4)],
    ['IPv6 to a peer', ipv6(peer, my6, 'fd00:1::3')],
    ['IPv6 to the gateway', ipv6(gw, my6, 'fd00:1::1')],
    ['an honest neighbour advertisement', ipv6(peer, my6, 'fd00:1::3', 58, nd(136, my6))],
    ['an honest link-local neighbour advertisement', ipv6(group6, myLinkLocal, 'ff02::1', 58, nd(136, myLinkLocal))],
    ['a solicitation for an address under test', ipv6(group6, '::', 'ff02::1:ff00:2', 58, nd(135, my6))],
    ['a solicitation for a peer', ipv6(group6, my6, 'ff02::1:ff00:3', 58, nd(135, 'fd00:1::3'))],
    ['an echo request', ipv6(peer, my6, 'fd00:1::3', 58, [128, 0, 0, 0, 0, 0, 0, 0])],
    [
      'an MLD report behind hop-by-hop',
      ipv6(group6, myLinkLocal, 'ff02::16', 0, extension(58, [143, 0, 0, 0, 0, 0, 0, 0])),
    ],
    ['a fragment of TCP', ipv6(peer, my6, 'fd00:1::3', 44, extension(6, tcp))],
  ])('%s', (_, frame) => {
    expect(runFilter(program, frame)).toBe(pass);
  });
});

describe('the filter at a port stops', () => {
  it.each([
    ['a foreign MAC', ipv4(peer, my4, '192.168.100.3', 6, tcp, peer)],
    ['a foreign IPv4 source', ipv4(peer, '192.168.100.3', '192.168.100.9')],
    ["the gateway's IPv4 as source", ipv4(peer, '192.168.100.1', '192.168.100.3')],
    ['a foreign IPv6 source', ipv6(peer, 'fd00:1::3', 'fd00:1::9')],
    ['ARP for the gateway', arp(me, '192.168.100.1', '192.168.100.3')],
    ['gratuitous ARP for the gateway', arp(me, '192.168.100.1', '192.168.100.1')],
    ['a foreign hardware address in ARP', arp(peer, my4)],
    ['an advertisement for the gateway', ipv6(group6, my6, 'ff02::1', 58, nd(136, 'fd00:1::1'))],
    ['the same behind hop-by-hop', ipv6(group6, my6, 'ff02::1', 0, extension(58, nd(136, 'fd00:1::1')))],
    ['the same behind destination options', ipv6(group6, my6, 'ff02::1', 60, extension(58, nd(136, 'fd00:1::1')))],
    ['the same behind a fragment header', ipv6(group6, my6, 'ff02::1', 44, extension(58, nd(136, 'fd00:1::1')))],
    ['a router advertisement', ipv6(group6, myLinkLocal, 'ff02::1', 58, nd(134, '::'))],
    ['802.1Q', tagged(ipv4(peer, my4, '192.168.100.3'))],
    ['802.1Q with a priority only', tagged(arp(me, my4))],
    ['802.1Q still in the frame', ether(peer, me, 0x8100, [0, 5, 8, 0, ...tcp, ...tcp])],
    ['QinQ', ether(peer, me, 0x88a8, [0, 5, 0x81, 0, ...tcp, ...tcp])],
    ['an unknown ethertype', ether(peer, me, 0x88cc, [...tcp, ...tcp])],
    ['a DHCP server', ipv4(peer, my4, '192.168.100.3', 17, udp(67, 68))],
  ])('forged: %s', (_, frame) => {
    expect(runFilter(program, frame)).toBe(drop);
  });

  it.each([
    ["a frame to the gateway's MAC for another tenant", ipv4(gw, my4, '192.168.99.2')],
    ["a frame to the gateway's MAC for another tenant, IPv6", ipv6(gw, my6, 'fd00:2::2')],
    ['unicast in a broadcast frame', ipv4(everyone, my4, '192.168.99.1')],
    ['unicast in a multicast frame, IPv6', ipv6(group6, my6, 'fd00:2::1')],
    ['two extension headers', ipv6(group6, my6, 'ff02::1', 0, extension(60, extension(58, nd(136, 'fd00:1::1'))))],
    ['a redirect', ipv6(peer, myLinkLocal, 'fd00:1::3', 58, nd(137, 'fd00:1::3'))],
    ['a DHCPv6 server', ipv6(peer, myLinkLocal, 'fe80::3', 17, udp(547, 546))],
    ['an unspecified source that is no solicitation', ipv6(group6, '::', 'ff02::1', 58, nd(136, my6))],
    [
      'hop-by-hop that claims to be longer than the frame',
      ipv6(group6, my6, 'ff02::1', 0, [58, 200, 0, 0, 0, 0, 0, 0]),
    ],
    ['spanning tree', ether('01:80:c2:00:00:00', me, 0x0026, [0x42, 0x42, 3, ...tcp, ...tcp])],
  ])('%s', (_, frame) => {
    expect(runFilter(program, frame)).toBe(drop);
  });

  it('everything that is cut off before its addresses are known', () => {
    const whole = [ipv4(peer, my4, '192.168.100.3'), arp(me, my4), ipv6(peer, my6, 'fd00:1::3')];
    const headers = [34, 42, 54];
    whole.forEach(({ bytes }, i) => {
      for (let length = 14; length < headers[i]!; length += 1) {
        expect(runFilter(program, { bytes: bytes.subarray(0, length) })).toBe(drop);
      }
    });
  });

  it('all IPv4 where a pod has no IPv4 address, and all to a gateway that there is not', () => {
    const bare = portFilter({ mac: me, addresses: [my6], gatewayMac: gw, gateways: [] });
    expect(runFilter(bare, ipv4(peer, '0.0.0.0', '192.168.100.3'))).toBe(drop);
    expect(runFilter(bare, ipv6(gw, my6, 'fd00:1::1'))).toBe(drop);
  });
});

function withFragment(frame: Frame, offset: number): Frame {
  const bytes = Uint8Array.from(frame.bytes);
  bytes[21] = offset;
  return { bytes };
}

describe('any frame', () => {
  it('ends in pass or drop and passes only with our own MAC', () => {
    const anyBytes = fc.uint8Array({ minLength: 14, maxLength: 120 });
    fc.assert(
      fc.property(anyBytes, fc.constantFrom(0x0800, 0x0806, 0x86dd), fc.boolean(), (bytes, type, mine) => {
        if (mine) bytes.set(mac(me), 6);
        bytes.set(be(type, 2), 12);
        const verdict = runFilter(program, { bytes });
        const own = mac(me).every((byte, i) => bytes[6 + i] === byte);
        expect(verdict === drop || own).toBe(true);
      }),
    );
  });

  it('has a program that the kernel takes, with as many addresses as an interface may have', () => {
    const many = Array.from({ length: 32 }, (_, i) => `fd00:1::${i + 2}`);
    const long = portFilter({ mac: me, addresses: many, gatewayMac: gw, gateways: many });
    expect(long.length).toBeLessThanOrEqual(4096);
    expect(runFilter(long, ipv6(peer, 'fd00:1::21', 'fd00:1::3'))).toBe(pass);
    expect(program.length).toBeLessThan(300);
  });
});
