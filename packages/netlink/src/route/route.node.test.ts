/** Addresses, routes, neighbours, fdb and bridge VLANs, each with iproute2 as the other opinion. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool, whereKernelHas } from '../testing/oracle.ts';
import { addressFlags } from './address.ts';
import type { Route, RouteSettings } from './route.ts';

let ns: Netns;
beforeEach(() => {
  ns = open({ create: true });
  ns.link.set('lo', { up: true });
  ns.link.add({ kind: 'veth', name: 'a', up: true, peer: { name: 'b' } });
  ns.link.set('b', { up: true });
  ns.address.add({ link: 'a', address: '10.1.0.1/24' });
  ns.address.add({ link: 'a', address: 'fd01::1/64', flags: addressFlags.noDad });
});
afterEach(() => ns.close());

const ip = (line: string): Record<string, unknown>[] => jsonTool(ns, `ip -json ${line}`);

const bridge = (line: string): Record<string, unknown>[] => jsonTool(ns, `bridge -json ${line}`);
const fixed = (macs: unknown[]): string[] => macs.map(String).filter((mac) => !mac.startsWith('33:33'));
const here = (family: string): Record<string, unknown>[] => ip(`${family} -d route show table all`);
const familyOf = (settings: RouteSettings): string => (settings.dst.includes(':') ? '-6' : '-4');
const addressesShown = (): Record<string, unknown>[] =>
  ip('address show dev a').flatMap((link) => link['addr_info'] as Record<string, unknown>[]);

describe('address', () => {
  it('adds, replaces and deletes as ip shows it', () => {
    ns.address.add({ link: 'a', address: '10.7.0.1/16', label: 'a:x', broadcast: '10.7.255.255', scope: 253 });
    expect(addressesShown()).toContainEqual(
      expect.objectContaining({
        local: '10.7.0.1',
        prefixlen: 16,
        label: 'a:x',
        broadcast: '10.7.255.255',
        scope: 'link',
      }),
    );
    ns.address.add({ link: 'a', address: 'fd07::1/48', validLifetime: 3600, preferredLifetime: 600 });
    ns.address.replace({ link: 'a', address: 'fd07::1/48', validLifetime: 7200, flags: addressFlags.noPrefixRoute });
    const replaced = addressesShown().find((one) => one['local'] === 'fd07::1');
    expect(replaced).toMatchObject({ prefixlen: 48, noprefixroute: true });
    expect(replaced?.['valid_life_time']).toBeGreaterThan(3600);
    ns.address.delete({ link: 'a', address: '10.7.0.1/16' });
    expect(addressesShown().map((one) => one['local'])).not.toContain('10.7.0.1');
  });

  it('makes a point-to-point address', () => {
    ns.address.add({ link: 'a', address: '10.8.0.1', peer: '10.8.0.2' });
    expect(addressesShown()).toContainEqual(
      expect.objectContaining({ local: '10.8.0.1', address: '10.8.0.2', prefixlen: 32 }),
    );
    expect(ns.address.list({ link: 'a' })).toContainEqual(
      expect.objectContaining({ local: '10.8.0.1', address: '10.8.0.2', prefix: '10.8.0.1/32' }),
    );
  });

  it('lists what ip made, of one link or of one family', () => {
    tool(ns, 'ip address add 10.9.0.1/25 dev b noprefixroute metric 7');
    tool(ns, 'ip address add fd09::9/65 dev b nodad');
    const of = (options: object): string[] => ns.address.list(options).map((one) => one.prefix);
    expect(of({ link: 'b' })).toEqual(expect.arrayContaining(['10.9.0.1/25', 'fd09::9/65']));
    expect(of({ link: 'b' })).not.toContain('10.1.0.1/24');
    expect(of({ family: 2 })).toEqual(expect.arrayContaining(['127.0.0.1/8', '10.1.0.1/24', '10.9.0.1/25']));
    expect(of({ family: 2 }).some((prefix) => prefix.includes(':'))).toBe(false);
    const seen = ns.address.list({ link: 'b' }).find((one) => one.local === '10.9.0.1');
    expect(seen?.metric).toBe(7);
    expect((seen?.flags ?? 0) & addressFlags.noPrefixRoute).not.toBe(0);
  });
});

describe('route', () => {
  interface Case {
    readonly what: string;
    readonly ours: RouteSettings;
    readonly theirs: string;
    readonly shown: Record<string, unknown>;
  }
  const cases: Case[] = [
    {
      what: 'a gateway in another table with metrics',
      ours: { dst: '10.2.0.0/16', via: '10.1.0.2', table: 1000, metrics: { mtu: 1400, advmss: 1300 }, metric: 9 },
      theirs: '10.2.0.0/16 via 10.1.0.2 table 1000 mtu 1400 advmss 1300 metric 9',
      shown: {
        dst: '10.2.0.0/16',
        gateway: '10.1.0.2',
        table: '1000',
        metric: 9,
        metrics: [{ mtu: 1400, advmss: 1300 }],
      },
    },
    {
      what: 'a default route with a source',
      ours: { dst: 'default', via: '10.1.0.3', src: '10.1.0.1' },
      theirs: 'default via 10.1.0.3 src 10.1.0.1',
      shown: { dst: 'default', gateway: '10.1.0.3', prefsrc: '10.1.0.1' },
    },
    {
      what: 'a route on the link',
      ours: { dst: '10.3.0.0/24', link: 'a', protocol: 4 },
      theirs: '10.3.0.0/24 dev a protocol static',
      shown: { dst: '10.3.0.0/24', dev: 'a', scope: 'link', protocol: 'static' },
    },
    {
      what: 'an onlink gateway',
      ours: { dst: '10.4.0.0/24', via: '192.0.2.1', link: 'a', onlink: true },
      theirs: '10.4.0.0/24 via 192.0.2.1 dev a onlink',
      shown: { dst: '10.4.0.0/24', gateway: '192.0.2.1', flags: ['onlink'] },
    },
    {
      what: 'several ways with weights',
      ours: {
        dst: '10.5.0.0/16',
        nexthops: [
          { via: '10.1.0.4', link: 'a', weight: 3 },
          { via: '10.1.0.5', weight: 1 },
        ],
      },
      theirs: '10.5.0.0/16 nexthop via 10.1.0.4 dev a weight 3 nexthop via 10.1.0.5 weight 1',
      shown: {
        nexthops: [
          { gateway: '10.1.0.4', dev: 'a', weight: 3, flags: [] },
          { gateway: '10.1.0.5', dev: 'a', weight: 1, flags: [] },
        ],
      },
    },
    {
      what: 'several IPv6 ways',
      ours: { dst: 'fd05::/48', nexthops: [{ via: 'fd01::4', weight: 2 }, { via: 'fd01::5' }] },
      theirs: 'fd05::/48 nexthop via fd01::4 weight 2 nexthop via fd01::5',
      shown: { dst: 'fd05::/48' },
    },
    {
      what: 'a gateway of the other family',
      ours: { dst: '10.6.0.0/16', via: 'fd01::6', link: 'a' },
      theirs: '10.6.0.0/16 via inet6 fd01::6 dev a',
      shown: { via: { family: 'inet6', host: 'fd01::6' } },
    },
    {
      what: 'a blackhole',
      ours: { dst: '10.7.0.0/16', type: 'blackhole' },
      theirs: 'blackhole 10.7.0.0/16',
      shown: { type: 'blackhole', dst: '10.7.0.0/16' },
    },
    {
      what: 'an unreachable IPv6 net with a metric',
      ours: { dst: 'fd07::/64', type: 'unreachable', metric: 77, pref: 1 },
      theirs: 'unreachable fd07::/64 metric 77 pref high',
      shown: { type: 'unreachable', metric: 77 },
    },
    {
      what: 'seg6 encapsulation',
      ours: {
        dst: 'fd08::/48',
        link: 'a',
        encap: { type: 'seg6', mode: 'encap', segments: ['fd0a::1', 'fd0a::2', 'fd0a::3'] },
      },
      theirs: 'fd08::/48 encap seg6 mode encap segs fd0a::1,fd0a::2,fd0a::3 dev a',
      shown: { encap: 'seg6', mode: 'encap', segs: ['fd0a::1', 'fd0a::2', 'fd0a::3'] },
    },
    {
      what: 'a seg6local action',
      ours: { dst: 'fd0b::1', link: 'a', encap: { type: 'seg6local', action: 'End.DT6', table: 254 } },
      theirs: 'fd0b::1 encap seg6local action End.DT6 table 254 dev a',
      shown: { encap: 'seg6local', action: 'End.DT6' },
    },
    {
      what: 'ip6 encapsulation',
      ours: {
        dst: 'fd0c::/48',
        link: 'a',
        encap: { type: 'ip6', id: 5n, dst: 'fd08::1', src: 'fd08::2', hoplimit: 9, trafficClass: 0, flags: 0 },
      },
      theirs: 'fd0c::/48 encap ip6 id 5 dst fd08::1 src fd08::2 hoplimit 9 dev a',
      shown: { encap: 'ip6', id: 5, dst: 'fd08::1', src: 'fd08::2', hoplimit: 9 }, // ip shows two members as one
    },
    {
      what: 'mpls encapsulation',
      ours: { dst: '10.8.0.0/16', via: '10.1.0.2', encap: { type: 'mpls', labels: [100, 200] } },
      theirs: '10.8.0.0/16 encap mpls 100/200 via 10.1.0.2',
      shown: { encap: 'mpls' },
    },
  ];

  it.for(cases)('adds and deletes $what', ({ what, ours, theirs, shown }, context) => {
    const dst = ours.dst === 'default' || ours.dst.includes('/') ? ours.dst : `${ours.dst}/128`;
    const seen = (): Route[] => ns.route.list().filter((route) => route.dst === dst);

    whereKernelHas(what, context, () => ns.route.add(ours));
    expect(here(familyOf(ours))).toContainEqual(expect.objectContaining(shown));
    const made = seen();
    expect(made).toHaveLength(1);

    ns.route.delete(ours);
    expect(seen()).toEqual([]);

    tool(ns, `ip route add ${theirs}`);
    expect(seen()).toEqual(made);
  });

  it('replaces, appends, and finds the route that a packet takes', () => {
    ns.route.add({ dst: '10.2.0.0/16', via: '10.1.0.2' });
    ns.route.replace({ dst: '10.2.0.0/16', via: '10.1.0.3' });
    expect(ns.route.get('10.2.3.4').via).toBe('10.1.0.3');
    expect(ns.route.get('10.2.3.4', { entry: true })).toMatchObject({ dst: '10.2.0.0/16', via: '10.1.0.3' });
    ns.route.append({ dst: '10.2.0.0/16', via: '10.1.0.4' });
    expect(ip('route show 10.2.0.0/16').map((route) => route['gateway'])).toEqual(['10.1.0.3', '10.1.0.4']);
    expect(() => ns.route.add({ dst: '10.2.0.0/16', via: '10.1.0.5' })).toThrow('EEXIST');
    expect(() => ns.route.add({ dst: '10.9.0.0/16', via: '192.0.2.1' })).toThrow('Nexthop has invalid gateway');
  });

  it('streams thousands of routes and lists only what was asked for', async () => {
    const count = 3_000;
    ns.batch((batch) => {
      const link = ns.link.indexOf('a');
      for (let i = 0; i < count; i++) {
        batch.route.add({ dst: `10.${100 + (i >> 8)}.${i & 255}.0/24`, link, table: 200 + (i % 2) });
      }
    });
    expect(ns.route.list({ table: 200 })).toHaveLength(count / 2);
    expect(ns.route.list({ table: 200, family: 2, link: 'b' })).toEqual([]);
    let seen = 0;
    let chunks = 0;
    for await (const chunk of ns.route.stream({ family: 2 })) {
      seen += chunk.filter((route) => route.table >= 200 && route.table < 202).length;
      chunks++;
      expect(ns.link.get('a').name).toBe('a'); // other requests go on meanwhile
    }
    expect(seen).toBe(count);
    expect(chunks).toBeGreaterThan(1);
  });
});

describe('neighbour', () => {
  it('adds, replaces, lists and deletes as ip shows it', () => {
    ns.neighbour.add({ link: 'a', address: '10.1.0.9', lladdr: '02:00:00:00:00:09' });
    ns.neighbour.replace({ link: 'a', address: '10.1.0.9', lladdr: '02:00:00:00:00:0a', state: 'reachable' });
    expect(ip('neighbour show dev a')).toContainEqual(
      expect.objectContaining({ dst: '10.1.0.9', lladdr: '02:00:00:00:00:0a', state: ['REACHABLE'] }),
    );
    tool(ns, 'ip neighbour add fd01::9 lladdr 02:00:00:00:00:0b dev a');
    expect(ns.neighbour.list({ link: 'a', family: 10 })).toContainEqual(
      expect.objectContaining({ dst: 'fd01::9', lladdr: '02:00:00:00:00:0b', state: 0x80 }),
    );
    ns.neighbour.delete({ link: 'a', address: '10.1.0.9' });
    expect(ip('neighbour show 10.1.0.9').filter((one) => one['lladdr'] !== undefined)).toEqual([]);
  });
});

describe('bridge', () => {
  beforeEach(() => {
    ns.link.add({ kind: 'bridge', name: 'br0', up: true, data: { mcastSnooping: false } });
    ns.link.set('b', { master: 'br0' });
  });

  it('sets every switch of a port as bridge(8) shows it, and back', () => {
    const names = {
      isolated: 'isolated',
      learning: 'learning',
      flood: 'flood',
      mcastFlood: 'mcast_flood',
      bcastFlood: 'bcast_flood',
      neighSuppress: 'neigh_suppress',
      hairpin: 'hairpin',
      guard: 'guard',
      rootBlock: 'root_block',
      locked: 'locked',
      fastLeave: 'fastleave',
    } as const;
    for (const [ours, theirs] of Object.entries(names)) {
      for (const value of [true, false]) {
        ns.link.set('b', { portKind: 'bridge', port: { [ours]: value } });
        expect(bridge('-d link show dev b')[0]).toMatchObject({ [theirs]: value });
        tool(ns, `bridge link set dev b ${theirs} ${value ? 'off' : 'on'}`);
        expect(ns.link.get('b').port).toMatchObject({ [ours]: !value });
      }
    }
    ns.link.set('b', { portKind: 'bridge', port: { cost: 7, priority: 3 } });
    expect(bridge('-d link show dev b')[0]).toMatchObject({ cost: 7, priority: 3 });
  });

  it('keeps static entries in the bridge and destinations in the vxlan', () => {
    const vxlan = { id: 10, port: 4789, learning: false, local: '10.1.0.1' };
    ns.link.add({ kind: 'vxlan', name: 'vx', data: vxlan, master: 'br0', up: true });
    ns.fdb.add({ link: 'b', lladdr: '02:00:00:00:00:01', master: true, state: 'static', sticky: true });
    ns.fdb.append({ link: 'vx', lladdr: '00:00:00:00:00:00', dst: '10.1.0.7' });
    ns.fdb.append({ link: 'vx', lladdr: '00:00:00:00:00:00', dst: '10.1.0.8', port: 4790, vni: 11 });
    ns.fdb.replace({
      link: 'vx',
      lladdr: '02:00:00:00:00:02',
      dst: '10.1.0.8',
      self: true,
      master: true,
      sticky: true,
      state: 'static',
    });
    expect(bridge('fdb show dev b')).toContainEqual(
      expect.objectContaining({ mac: '02:00:00:00:00:01', master: 'br0', state: 'static', flags: ['sticky'] }),
    );
    const shown = bridge('fdb show dev vx');
    expect(shown).toContainEqual(expect.objectContaining({ mac: '00:00:00:00:00:00', dst: '10.1.0.7' }));
    expect(shown).toContainEqual(
      expect.objectContaining({ mac: '00:00:00:00:00:00', dst: '10.1.0.8', port: 4790, vni: 11 }),
    );
    const both = shown.filter((entry) => entry['mac'] === '02:00:00:00:00:02');
    expect(both).toContainEqual(expect.objectContaining({ master: 'br0', state: 'static' }));
    expect(both).toContainEqual(expect.objectContaining({ dst: '10.1.0.8' }));

    tool(ns, 'bridge fdb append 02:00:00:00:00:03 dev vx dst 10.1.0.9 self static');
    expect(ns.fdb.list({ link: 'vx' })).toContainEqual(
      expect.objectContaining({ lladdr: '02:00:00:00:00:03', dst: '10.1.0.9' }),
    );
    expect(ns.fdb.list({ bridge: 'br0' }).some((entry) => entry.lladdr === '02:00:00:00:00:01')).toBe(true);
    // IPv6 joins groups when it likes, and what a bridge learns comes by itself: neither is in both lists for certain.
    const ours = ns.fdb.list().filter(({ state }) => (state & 0xc0) !== 0);
    const theirs = bridge('fdb show').filter(({ state }) => state === 'permanent' || state === 'static');
    expect(fixed(ours.map(({ lladdr }) => lladdr)).toSorted()).toEqual(fixed(theirs.map(({ mac }) => mac)).toSorted());
    expect(ours).toContainEqual(expect.objectContaining({ lladdr: '02:00:00:00:00:03' }));

    ns.fdb.delete({ link: 'vx', lladdr: '00:00:00:00:00:00', dst: '10.1.0.7' });
    expect(bridge('fdb show dev vx').some((entry) => entry['dst'] === '10.1.0.7')).toBe(false);
    ns.fdb.flush({ link: 'vx', dst: '10.1.0.8' });
    expect(bridge('fdb show dev vx').some((entry) => entry['dst'] === '10.1.0.8')).toBe(false);
  });

  it('keeps a VLAN table', (context) => {
    whereKernelHas('VLAN filtering', context, () =>
      ns.link.set('br0', { kind: 'bridge', data: { vlanFiltering: true } }),
    );
    ns.vlan.add({ link: 'b', vid: 5, pvid: true, untagged: true });
    ns.vlan.add({ link: 'b', vid: 10, vidEnd: 12 });
    ns.vlan.add({ link: 'br0', vid: 20, self: true });
    const shown = bridge('vlan show');
    expect(shown).toContainEqual({
      ifname: 'b',
      vlans: [
        { vlan: 1, flags: ['Egress Untagged'] },
        { vlan: 5, flags: ['PVID', 'Egress Untagged'] },
        { vlan: 10 },
        { vlan: 11 },
        { vlan: 12 },
      ],
    });
    expect(shown.find((one) => one['ifname'] === 'br0')).toMatchObject({
      vlans: expect.arrayContaining([{ vlan: 20 }]) as [],
    });
    tool(ns, 'bridge vlan add dev b vid 30 untagged');
    expect(ns.vlan.list({ link: 'b' })).toEqual([
      { link: ns.link.indexOf('b'), vid: 1, pvid: false, untagged: true },
      { link: ns.link.indexOf('b'), vid: 5, pvid: true, untagged: true },
      ...[10, 11, 12].map((vid) => ({ link: ns.link.indexOf('b'), vid, pvid: false, untagged: false })),
      { link: ns.link.indexOf('b'), vid: 30, pvid: false, untagged: true },
    ]);
    ns.vlan.delete({ link: 'b', vid: 10, vidEnd: 12 });
    ns.vlan.delete({ link: 'br0', vid: 20, self: true });
    expect(ns.vlan.list().filter(({ vid }) => vid >= 10 && vid <= 20)).toEqual([]);
  });
});
