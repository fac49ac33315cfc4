/** Filters against `tc`, both ways. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { answers, answersAtOnce, jsonTool, tool, whereKernelHas } from '../testing/oracle.ts';
import type { FilterSettings } from './filter.ts';
import type { BpfInstruction } from './filter-kinds.ts';

/** What differs between two equal filters: actions have a running number, and the sides of clsact a name. */
function withoutNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNames);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'index' && key !== 'parent');
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNames(inner)]));
}

/** Drops IPv4 (ethertype at 12), lets everything else go on. */
const dropIpv4: BpfInstruction[] = [
  [0x28, 0, 0, 12],
  [0x15, 0, 1, 0x800],
  [0x06, 0, 0, 2],
  [0x06, 0, 0, 0xffff_ffff],
];
const bytecode = '4,40 0 0 12,21 0 1 2048,6 0 0 2,6 0 0 4294967295';

describe('filters', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', peer: { name: 'v1' } });
    ns.link.add({ kind: 'ifb', name: 'ifb0' });
    ns.qdisc.add({ link: 'v0', kind: 'clsact' });
  });
  afterEach(() => ns.close());

  const shown = (side = 'ingress') =>
    jsonTool(ns, `tc -json filter show dev v0 ${side}`).filter((filter) => filter['options'] !== undefined);
  const listed = (parent = 'ingress') => ns.filter.list({ link: 'v0', parent }).filter((filter) => filter.handle !== 0);
  const place = { link: 'v0', parent: 'ingress', priority: 49001, handle: 1 } as const;

  it('loads a classic BPF program as tc shows it', () => {
    ns.filter.add({ ...place, kind: 'bpf', data: { program: dropIpv4 } });
    expect(shown()).toMatchObject([
      { kind: 'bpf', pref: 49001, protocol: 'all', options: { handle: '0x1', 'direct-action': true } },
    ]);
    expect(tool(ns, 'tc filter show dev v0 ingress')).toContain(`bytecode '${bytecode}'`);
  });

  it('reads the classic BPF program that tc loaded', () => {
    tool(ns, 'tc -batch -', `filter add dev v0 egress prio 7 handle 3 protocol ip bpf da bytecode "${bytecode}"`);
    expect(listed('egress')).toMatchObject([
      {
        kind: 'bpf',
        priority: 7,
        protocol: 'ip',
        handle: 3,
        parent: 'egress',
        data: { program: dropIpv4, directAction: true },
      },
    ]);
    expect(listed('ingress')).toEqual([]);
  });

  it('stops the packets that the program drops, and only those', () => {
    using far = open({ create: true });
    ns.link.set('v1', { netns: far });
    ns.address.add({ link: 'v0', address: '10.0.0.1/24' });
    ns.address.add({ link: 'v0', address: 'fd00::1/64', flags: 2 });
    far.address.add({ link: 'v1', address: '10.0.0.2/24' });
    far.address.add({ link: 'v1', address: 'fd00::2/64', flags: 2 });
    ns.link.set('v0', { up: true });
    far.link.set('v1', { up: true });
    expect([answers(far, '10.0.0.1'), answers(far, 'fd00::1')]).toEqual([true, true]);
    ns.filter.add({ ...place, kind: 'bpf', data: { program: dropIpv4 } });
    expect([answersAtOnce(far, '10.0.0.1'), answers(far, 'fd00::1')]).toEqual([false, true]);
    ns.filter.delete({ ...place });
    expect(answers(far, '10.0.0.1')).toBe(true);
  });

  const redirect = { kind: 'mirred', mode: 'egressRedirect', link: 'ifb0' } as const;

  it.for<[string, string, (priority: number) => FilterSettings]>([
    [
      'u32 with mirred redirect',
      'protocol all u32 match u32 0 0 action mirred egress redirect dev ifb0',
      (priority) => ({ ...place, handle: undefined, priority, kind: 'u32', data: { actions: [redirect] } }),
    ],
    [
      'u32 by address with mirred mirror',
      'protocol ip u32 match ip dst 10.1.2.3/32 match ip protocol 17 0xff action mirred egress mirror dev ifb0',
      (priority) => ({
        ...place,
        handle: undefined,
        priority,
        protocol: 'ip',
        kind: 'u32',
        data: {
          keys: [
            { at: 16, value: 0x0a01_0203, mask: 0xffff_ffff },
            { at: 8, value: 0x0011_0000, mask: 0x00ff_0000 },
          ],
          actions: [{ kind: 'mirred', mode: 'egressMirror', link: 'ifb0' }],
        },
      }),
    ],
    [
      'flower with gact',
      'protocol ip handle 1 flower ip_proto udp dst_port 53 src_ip 10.0.0.0/8 dst_mac 02:00:00:00:00:01 action drop',
      (priority) => ({
        ...place,
        priority,
        protocol: 'ip',
        kind: 'flower',
        data: {
          ethType: 0x800,
          ipProtocol: 17,
          udpDestination: 53,
          ip4Source: '10.0.0.0',
          ip4SourceMask: '255.0.0.0',
          ethDestination: '02:00:00:00:00:01',
          actions: [{ kind: 'gact', verdict: 'drop' }],
        },
      }),
    ],
    [
      'flower by VLAN and IPv6',
      'protocol 802.1Q handle 1 flower vlan_id 7 vlan_ethtype ipv6 dst_ip fd00::/16 ip_proto tcp src_port 80 action ok',
      (priority) => ({
        ...place,
        priority,
        protocol: '802.1Q',
        kind: 'flower',
        data: {
          ethType: 0x8100,
          vlanId: 7,
          vlanEthType: 0x86dd,
          ip6Destination: 'fd00::',
          ip6DestinationMask: 'ffff::',
          ipProtocol: 6,
          tcpSource: 80,
          actions: [{ kind: 'gact', verdict: 'ok' }],
        },
      }),
    ],
    [
      'matchall with two actions',
      'protocol all handle 1 matchall action mirred ingress mirror dev ifb0 action drop',
      (priority) => ({
        ...place,
        priority,
        kind: 'matchall',
        data: {
          actions: [
            { kind: 'mirred', mode: 'ingressMirror', link: 'ifb0' },
            { kind: 'gact', verdict: 'drop' },
          ],
        },
      }),
    ],
  ])('makes and reads %s as tc does', ([what, line, settings], context) => {
    whereKernelHas(what, context, () => ns.filter.add(settings(20)));
    tool(ns, `tc filter add dev v0 egress prio 20 ${line}`);
    expect(withoutNames(shown('ingress'))).toEqual(withoutNames(shown('egress')));
    const ours = listed('ingress');
    expect(withoutNames(ours)).toEqual(withoutNames(listed('egress')));
    expect(ours.at(-1)).toMatchObject({ kind: settings(20).kind, priority: 20 });
  });

  it('sends to a class', () => {
    ns.qdisc.add({ link: 'v0', kind: 'htb', handle: '1:' });
    ns.class.add({ link: 'v0', kind: 'htb', parent: '1:', handle: '1:10', data: { bytesPerSecond: 1e6 } });
    ns.filter.add({ link: 'v0', parent: '1:', priority: 3, protocol: 'ip', kind: 'u32', data: { classId: '1:10' } });
    expect(tool(ns, 'tc filter show dev v0 parent 1:')).toContain('flowid 1:10');
    expect(ns.filter.list({ link: 'v0', parent: '1:' }).at(-1)).toMatchObject({ data: { classId: '1:10' } });
  });

  it('exchanges a program in place, and deletes only its own', () => {
    ns.filter.replace({ ...place, kind: 'bpf', data: { program: dropIpv4 } });
    ns.filter.add({ ...place, handle: 2, kind: 'bpf', data: { program: dropIpv4 } });
    ns.filter.replace({ ...place, kind: 'bpf', data: { program: dropIpv4.slice(3) } });
    expect(listed().map((one) => [one.handle, one.kind === 'bpf' && one.data.program.length])).toEqual([
      [2, 4],
      [1, 1],
    ]);
    expect(() => ns.filter.add({ ...place, kind: 'bpf', data: { program: dropIpv4 } })).toThrow('filter.add: EEXIST');
    ns.filter.delete({ ...place });
    expect(listed().map((one) => one.handle)).toEqual([2]);
    ns.filter.delete({ link: 'v0', parent: 'ingress', priority: 49001 });
    expect(listed()).toEqual([]);
  });

  it('says why the kernel refused a program', () => {
    const endless: BpfInstruction[] = [[0x05, 0, 0, 7]];
    expect(() => ns.filter.add({ ...place, kind: 'bpf', data: { program: endless } })).toThrow('filter.add: EINVAL');
  });
});
