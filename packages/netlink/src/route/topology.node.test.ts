/** A random topology, made by us and by `ip`: both must see the same in both. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { isFallbackDevice, jsonTool, tool } from '../testing/oracle.ts';
import type { Link } from './link.ts';

interface Plan {
  readonly bridges: number;
  readonly veths: readonly {
    readonly bridge: number;
    readonly up: boolean;
    readonly mtu: number;
    readonly host: number;
  }[];
  readonly vxlans: readonly { readonly id: number; readonly bridge: number; readonly ttl: number }[];
  readonly macvlans: readonly number[];
}
const plan: fc.Arbitrary<Plan> = fc.record({
  bridges: fc.integer({ min: 1, max: 3 }),
  veths: fc.array(
    fc.record({
      bridge: fc.nat(2),
      up: fc.boolean(),
      mtu: fc.integer({ min: 1280, max: 9000 }),
      host: fc.integer({ min: 1, max: 254 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  vxlans: fc.uniqueArray(
    fc.record({ id: fc.integer({ min: 1, max: 0xff_ffff }), bridge: fc.nat(2), ttl: fc.nat(255) }),
    { maxLength: 3, selector: (vxlan) => vxlan.id },
  ),
  macvlans: fc.array(fc.nat(4), { maxLength: 2 }),
});

function makeByUs(netns: Netns, { bridges, veths, vxlans, macvlans }: Plan): void {
  for (let i = 0; i < bridges; i++) netns.link.add({ kind: 'bridge', name: `br${i}`, up: true });
  veths.forEach(({ bridge, up, mtu, host }, i) => {
    netns.link.add({
      kind: 'veth',
      name: `a${i}`,
      mtu,
      master: `br${bridge % bridges}`,
      up,
      peer: { name: `b${i}`, mtu },
    });
    netns.address.add({ link: `b${i}`, address: `10.${i}.0.${host}/24` });
  });
  vxlans.forEach(({ id, bridge, ttl }, i) => {
    const data = { id, ttl, port: 4789, learning: false };
    netns.link.add({ kind: 'vxlan', name: `vx${i}`, data, master: `br${bridge % bridges}` });
  });
  macvlans.forEach((veth, i) => {
    const link = `b${veth % veths.length}`;
    netns.link.add({ kind: 'macvlan', name: `mv${i}`, link, data: { mode: 'bridge' } });
  });
}

function makeByIp(netns: Netns, { bridges, veths, vxlans, macvlans }: Plan): void {
  const lines: string[] = [];
  for (let i = 0; i < bridges; i++) lines.push(`link add br${i} up type bridge`);
  veths.forEach(({ bridge, up, mtu, host }, i) => {
    lines.push(`link add a${i} mtu ${mtu} ${up ? 'up' : 'down'} type veth peer name b${i} mtu ${mtu}`);
    lines.push(`link set a${i} master br${bridge % bridges}`, `address add 10.${i}.0.${host}/24 dev b${i}`);
  });
  vxlans.forEach(({ id, bridge, ttl }, i) => {
    lines.push(`link add vx${i} type vxlan id ${id} ttl ${ttl} dstport 4789 nolearning`);
    lines.push(`link set vx${i} master br${bridge % bridges}`);
  });
  macvlans.forEach((veth, i) => lines.push(`link add mv${i} link b${veth % veths.length} type macvlan mode bridge`));
  tool(netns, 'ip -batch -', `${lines.join('\n')}\n`);
}

const summary = (link: Link, byIndex: Map<number, string>): unknown => ({
  name: link.name,
  kind: link.kind,
  mtu: link.mtu,
  up: link.up,
  master: link.master === undefined ? undefined : byIndex.get(link.master),
  settings: link.kind === 'vxlan' ? [link.data.id, link.data.ttl, link.data.port, link.data.learning] : undefined,
  mode: link.kind === 'macvlan' ? link.data.mode : undefined,
});
function readByUs(netns: Netns): unknown {
  const links = netns.link.list().filter(({ name }) => !isFallbackDevice(name));
  const byIndex = new Map(links.map((link) => [link.index, link.name]));
  const addresses = netns.address.list({ family: 2 }).map((one) => [byIndex.get(one.index), one.prefix]);
  return { links: links.map((link) => summary(link, byIndex)), addresses };
}

interface Shown {
  ifname: string;
  mtu: number;
  flags: string[];
  master?: string;
  linkinfo?: { info_kind?: string; info_data?: Record<string, unknown> };
  addr_info: { family: string; local: string; prefixlen: number }[];
}
function readByIp(netns: Netns): unknown {
  const all = jsonTool(netns, 'ip -d -json address') as unknown as Shown[];
  const links = all.filter(({ ifname }) => !isFallbackDevice(ifname));
  const info = (link: Shown): Record<string, unknown> => link.linkinfo?.info_data ?? {};
  const of = (link: Shown, kind: string): boolean => link.linkinfo?.info_kind === kind;
  return {
    links: links.map((link) => ({
      name: link.ifname,
      kind: link.linkinfo?.info_kind,
      mtu: link.mtu,
      up: link.flags.includes('UP'),
      master: link.master,
      settings: of(link, 'vxlan')
        ? [info(link)['id'], info(link)['ttl'] ?? 0, info(link)['port'], info(link)['learning']]
        : undefined,
      mode: of(link, 'macvlan') ? info(link)['mode'] : undefined,
    })),
    addresses: links.flatMap((link) =>
      link.addr_info
        .filter((one) => one.family === 'inet')
        .map((one) => [link.ifname, `${one.local}/${one.prefixlen}`]),
    ),
  };
}

describe('a random topology', () => {
  it('reads alike to ip and to us, whoever made it', () => {
    fc.assert(
      fc.property(plan, (wanted) => {
        using ours = open({ create: true });
        using theirs = open({ create: true });
        makeByUs(ours, wanted);
        makeByIp(theirs, wanted);
        expect(readByUs(ours)).toEqual(readByIp(ours));
        expect(readByUs(theirs)).toEqual(readByIp(theirs));
        expect(readByUs(ours)).toEqual(readByUs(theirs));
      }),
      { numRuns: 12 },
    );
  });
});
