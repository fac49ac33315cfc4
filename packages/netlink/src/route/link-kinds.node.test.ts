/**
 * Every kind of link, made, changed, read back and removed, with `ip` as the other opinion in both directions. A kind that this
 * machine's kernel lacks is skipped with the reason; the kernel tier runs the same file where none may lack.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool, whereKernelHas } from '../testing/oracle.ts';
import type { LinkAdd, LinkChange } from './link.ts';

interface Case {
  readonly what: string;
  readonly ours: LinkAdd;
  /** The same for `ip link add x0 …`. */
  readonly theirs: string | undefined;
  /** What `ip -d -json` says in info_data. */
  readonly shown: Record<string, unknown>;
  readonly change?: LinkChange;
  readonly changed?: Record<string, unknown>;
}

const KEY = 0x2000;
const SEQUENCE = 0x1000;
const ends4 = { local: '10.9.0.1', remote: '10.9.0.2' };
const ends6 = { local: 'fd09::1', remote: 'fd09::2' };
const shown4 = { local: '10.9.0.1', remote: '10.9.0.2' };

const cases: Case[] = [
  { what: 'dummy', ours: { kind: 'dummy', name: 'x0' }, theirs: 'type dummy', shown: {} },
  { what: 'ifb', ours: { kind: 'ifb', name: 'x0' }, theirs: 'type ifb', shown: {} },
  { what: 'nlmon', ours: { kind: 'nlmon', name: 'x0' }, theirs: 'type nlmon', shown: {} },
  { what: 'wireguard', ours: { kind: 'wireguard', name: 'x0' }, theirs: 'type wireguard', shown: {} },
  {
    what: 'veth',
    ours: { kind: 'veth', name: 'x0', mtu: 1400, address: '02:00:00:00:00:01', peer: { name: 'x1', mtu: 1300 } },
    theirs: 'mtu 1400 address 02:00:00:00:00:01 type veth peer name x1 mtu 1300',
    shown: {},
  },
  {
    what: 'netkit',
    ours: { kind: 'netkit', name: 'x0', data: { mode: 'l2', policy: 'forward' }, peer: { name: 'x1' } },
    theirs: undefined, // iproute2 6.1 does not know it
    shown: {},
  },
  {
    what: 'bridge',
    ours: {
      kind: 'bridge',
      name: 'x0',
      data: { ageingTime: 10_000, mcastSnooping: false, priority: 4096, groupFwdMask: 8, forwardDelay: 400 },
    },
    theirs: 'type bridge ageing_time 10000 mcast_snooping 0 priority 4096 group_fwd_mask 8 forward_delay 400',
    shown: { ageing_time: 10_000, mcast_snooping: 0, priority: 4096, forward_delay: 400 },
    change: { kind: 'bridge', data: { ageingTime: 0, mcastSnooping: true } },
    changed: { ageing_time: 0, mcast_snooping: 1, priority: 4096 },
  },
  {
    what: 'bridge with VLAN filtering',
    ours: {
      kind: 'bridge',
      name: 'x0',
      data: { vlanFiltering: true, vlanDefaultPvid: 7, vlanProtocol: '802.1ad' },
    },
    theirs: 'type bridge vlan_filtering 1 vlan_default_pvid 7 vlan_protocol 802.1ad',
    shown: { vlan_filtering: 1, vlan_default_pvid: 7, vlan_protocol: '802.1ad' },
    change: { kind: 'bridge', data: { vlanFiltering: false } },
    changed: { vlan_filtering: 0 },
  },
  {
    what: 'vlan of 802.1Q',
    ours: { kind: 'vlan', name: 'x0', link: 'p0', data: { id: 100 } },
    theirs: 'link p0 type vlan id 100',
    shown: { id: 100, protocol: '802.1Q' },
  },
  {
    what: 'vlan of 802.1ad',
    ours: { kind: 'vlan', name: 'x0', link: 'p0', data: { id: 4094, protocol: '802.1ad' } },
    theirs: 'link p0 type vlan id 4094 protocol 802.1ad',
    shown: { id: 4094, protocol: '802.1ad' },
  },
  {
    what: 'macvlan',
    ours: { kind: 'macvlan', name: 'x0', link: 'p0', data: { mode: 'bridge' } },
    theirs: 'link p0 type macvlan mode bridge',
    shown: { mode: 'bridge' },
    change: { kind: 'macvlan', data: { mode: 'private' } },
    changed: { mode: 'private' },
  },
  {
    what: 'macvtap',
    ours: { kind: 'macvtap', name: 'x0', link: 'p0', data: { mode: 'vepa' } },
    theirs: 'link p0 type macvtap mode vepa',
    shown: { mode: 'vepa' },
  },
  {
    what: 'ipvlan',
    ours: { kind: 'ipvlan', name: 'x0', link: 'p0', data: { mode: 'l3', flags: 1 } },
    theirs: 'link p0 type ipvlan mode l3 private',
    shown: { mode: 'l3' },
    change: { kind: 'ipvlan', data: { mode: 'l2' } },
    changed: { mode: 'l2' },
  },
  {
    what: 'ipvtap',
    ours: { kind: 'ipvtap', name: 'x0', link: 'p0', data: { mode: 'l2' } },
    theirs: 'link p0 type ipvtap mode l2',
    shown: { mode: 'l2' },
  },
  {
    what: 'vxlan',
    ours: {
      kind: 'vxlan',
      name: 'x0',
      data: { id: 42, port: 4789, learning: false, local: '10.9.0.1', ttl: 64, df: 'set', udpCsum: true },
    },
    theirs: 'type vxlan id 42 dstport 4789 nolearning local 10.9.0.1 ttl 64 df set udpcsum',
    shown: { id: 42, port: 4789, learning: false, local: '10.9.0.1', ttl: 64, df: 'set' },
    change: { kind: 'vxlan', data: { id: 42, ttl: 5, local: '10.9.0.3' } },
    changed: { ttl: 5, local: '10.9.0.3', learning: false },
  },
  {
    what: 'vxlan over IPv6 with a group',
    ours: {
      kind: 'vxlan',
      name: 'x0',
      data: { id: 43, port: 4790, group6: 'ff05::100', local6: 'fd09::1', gbp: true, ttlInherit: true },
      link: 'p0',
    },
    theirs: 'type vxlan id 43 dstport 4790 group ff05::100 local fd09::1 dev p0 gbp ttl inherit',
    shown: { id: 43, group6: 'ff05::100', local6: 'fd09::1', gbp: true },
  },
  {
    what: 'vxlan with collected metadata',
    ours: { kind: 'vxlan', name: 'x0', data: { external: true, port: 4791, learning: false } },
    theirs: 'type vxlan external dstport 4791 nolearning',
    shown: { external: true, port: 4791 },
  },
  {
    what: 'geneve',
    ours: { kind: 'geneve', name: 'x0', data: { id: 7, remote: '10.9.0.2', ttl: 9, port: 6082, tos: 4 } },
    theirs: 'type geneve id 7 remote 10.9.0.2 ttl 9 dstport 6082 tos 4',
    shown: { id: 7, remote: '10.9.0.2', ttl: 9, port: 6082 },
  },
  {
    what: 'gre',
    ours: {
      kind: 'gre',
      name: 'x0',
      data: { ...ends4, ttl: 10, pmtudisc: true, ikey: 5, okey: 6, iflags: KEY, oflags: KEY },
    },
    theirs: 'type gre local 10.9.0.1 remote 10.9.0.2 ttl 10 ikey 5 okey 6',
    shown: { ...shown4, ttl: 10, ikey: '0.0.0.5', okey: '0.0.0.6' },
  },
  {
    what: 'gretap',
    ours: { kind: 'gretap', name: 'x0', data: { ...ends4, ttl: 11, pmtudisc: true } },
    theirs: 'type gretap local 10.9.0.1 remote 10.9.0.2 ttl 11',
    shown: { ...shown4, ttl: 11 },
  },
  {
    what: 'erspan',
    ours: {
      kind: 'erspan',
      name: 'x0',
      data: {
        ...ends4,
        pmtudisc: true,
        ikey: 30,
        okey: 30,
        iflags: KEY | SEQUENCE,
        oflags: KEY | SEQUENCE,
        erspanVersion: 1,
        erspanIndex: 123,
      },
    },
    theirs: 'type erspan local 10.9.0.1 remote 10.9.0.2 seq key 30 erspan_ver 1 erspan 123',
    shown: { ...shown4, erspan_ver: 1, erspan_index: 123 },
  },
  {
    what: 'ip6gre',
    ours: { kind: 'ip6gre', name: 'x0', data: { ...ends6, ttl: 12, encapLimit: 4, encapFlags: 2 } },
    theirs: 'type ip6gre local fd09::1 remote fd09::2 hoplimit 12 encaplimit 4',
    shown: { local: 'fd09::1', remote: 'fd09::2' },
  },
  {
    what: 'ip6gretap',
    ours: { kind: 'ip6gretap', name: 'x0', data: { ...ends6, ttl: 13, encapLimit: 4, encapFlags: 2 } },
    theirs: 'type ip6gretap local fd09::1 remote fd09::2 hoplimit 13 encaplimit 4',
    shown: { local: 'fd09::1', remote: 'fd09::2' },
  },
  {
    what: 'ipip',
    ours: { kind: 'ipip', name: 'x0', data: { ...ends4, ttl: 14, pmtudisc: true, proto: 0 } },
    theirs: 'type ipip local 10.9.0.1 remote 10.9.0.2 ttl 14',
    shown: { ...shown4, ttl: 14 },
    change: { kind: 'ipip', data: { ...ends4, ttl: 15, pmtudisc: true, proto: 0 } },
    changed: { ttl: 15 },
  },
  {
    what: 'sit',
    ours: { kind: 'sit', name: 'x0', data: { ...ends4, ttl: 16, pmtudisc: true, proto: 0 } },
    theirs: 'type sit local 10.9.0.1 remote 10.9.0.2 ttl 16',
    shown: { ...shown4, ttl: 16 },
  },
  {
    what: 'ip6tnl',
    ours: { kind: 'ip6tnl', name: 'x0', data: { ...ends6, proto: 41, ttl: 17, encapLimit: 4, encapFlags: 2 } },
    theirs: 'type ip6tnl local fd09::1 remote fd09::2 mode ip6ip6 hoplimit 17 encaplimit 4',
    shown: { local: 'fd09::1', remote: 'fd09::2' },
  },
  {
    what: 'vrf',
    ours: { kind: 'vrf', name: 'x0', data: { table: 10 } },
    theirs: 'type vrf table 10',
    shown: { table: 10 },
  },
  {
    what: 'bond',
    ours: { kind: 'bond', name: 'x0', data: { mode: 'active-backup', miimon: 100, updelay: 200 } },
    theirs: 'type bond mode active-backup miimon 100 updelay 200',
    shown: { mode: 'active-backup', miimon: 100, updelay: 200 },
    change: { kind: 'bond', data: { miimon: 50 } },
    changed: { miimon: 50 },
  },
  {
    what: 'xfrm',
    ours: { kind: 'xfrm', name: 'x0', data: { ifId: 7 } },
    theirs: 'type xfrm if_id 7',
    shown: { if_id: '0x7' },
  },
];

interface Shown {
  ifname: string;
  linkinfo?: { info_kind?: string; info_data?: Record<string, unknown> };
}
const show = (netns: Netns): Shown => jsonTool(netns, 'ip -d -json link show dev x0')[0] as unknown as Shown;

/** Settings that differ between two links that were asked for alike. */
const own = new Set([
  'bridgeId',
  'rootId',
  'helloTimer',
  'gcTimer',
  'tcnTimer',
  'topologyChangeTimer',
  'adActorSystem',
]);

function settingsOf(netns: Netns): Record<string, unknown> {
  const data: object = netns.link.get('x0').data ?? {};
  return Object.fromEntries(Object.entries(data).filter(([key]) => !own.has(key)));
}

describe('link kinds', () => {
  let ours: Netns;
  let theirs: Netns;
  beforeEach(() => {
    [ours, theirs] = [open({ create: true }), open({ create: true })];
    for (const netns of [ours, theirs]) {
      netns.link.add({ kind: 'veth', name: 'p0', index: 90, up: true, peer: { name: 'p1', index: 91 } });
      netns.link.set('p1', { up: true });
      netns.address.add({ link: 'p0', address: '10.9.0.1/24' });
      netns.address.add({ link: 'p0', address: 'fd09::1/64', flags: 2 });
    }
  });
  afterEach(() => {
    ours.close();
    theirs.close();
  });

  it.for(cases)('makes, reads back and removes $what', (test, context) => {
    const { ours: wanted } = test;
    whereKernelHas(test.what, context, () => void ours.link.add(wanted));

    const seen = show(ours);
    expect(seen.linkinfo?.info_kind).toBe(wanted.kind);
    expect(seen.linkinfo?.info_data ?? {}).toMatchObject(test.shown);
    expect(ours.link.get('x0')).toMatchObject({ kind: wanted.kind, name: 'x0' });
    expect(settingsOf(ours)).toMatchObject(('data' in wanted ? wanted.data : undefined) ?? {});

    ours.link.delete('x0');
    const left = jsonTool(ours, 'ip -json link').map((one) => one['ifname']);
    expect(left).not.toContain('x0');
    expect(left).toContain('p0');
  });

  it.for(cases.filter((test) => test.theirs !== undefined))('reads $what that ip made', (test, context) => {
    whereKernelHas(test.what, context, () => void ours.link.add(test.ours));
    tool(theirs, `ip link add name x0 ${test.theirs}`);
    expect(theirs.link.get('x0').kind).toBe(test.ours.kind);
    expect(settingsOf(theirs)).toEqual(settingsOf(ours));
  });

  it.for(cases.filter((test) => test.change !== undefined))('changes $what', (test, context) => {
    whereKernelHas(test.what, context, () => void ours.link.add(test.ours));
    ours.link.set('x0', test.change ?? {});
    expect(show(ours).linkinfo?.info_data).toMatchObject(test.changed ?? {});
  });

  it.each([
    ['tun', false],
    ['tap', true],
  ] as const)('makes a %s that stays', (mode, vnetHdr) => {
    ours.tuntap.add({ name: 'x0', mode, vnetHdr });
    expect(show(ours).linkinfo).toMatchObject({ info_kind: 'tun', info_data: { type: mode, persist: true } });
    expect(ours.link.get('x0')).toMatchObject({ kind: 'tun', data: { type: mode, vnetHdr } });
    tool(theirs, `ip tuntap add x0 mode ${mode}`);
    expect(theirs.link.get('x0')).toMatchObject({ kind: 'tun', data: { type: mode, persist: true } });
    ours.link.delete('x0');
    expect(() => ours.link.get('x0')).toThrow('ENODEV');
  });
});
