/** Nexthop objects against `ip nexthop`, both ways. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool } from '../testing/oracle.ts';
import { AF_INET6 } from './numbers.ts';

describe('nexthops', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', up: true, peer: { name: 'v1' } });
    ns.link.set('lo', { up: true });
    ns.link.set('v1', { up: true });
    ns.address.add({ link: 'v0', address: '10.0.0.1/24' });
    ns.address.add({ link: 'v0', address: 'fd00::1/64', flags: 2 });
  });
  afterEach(() => ns.close());

  const shown = (id: number) => jsonTool(ns, `ip -json -N nexthop show id ${id}`)[0];

  it('makes what ip shows', () => {
    ns.nexthop.add({ id: 1, via: '10.0.0.2', link: 'v0', protocol: 77 });
    ns.nexthop.add({ id: 2, via: 'fd00::2', link: 'v0' });
    ns.nexthop.add({ id: 3, blackhole: true });
    ns.nexthop.add({ id: 4, link: 'v0', family: AF_INET6 });
    ns.nexthop.add({ id: 5, via: '10.0.0.3', link: 'v0' });
    ns.nexthop.add({ id: 9, group: [{ id: 1 }, { id: 5, weight: 7 }] });
    expect(shown(1)).toMatchObject({ gateway: '10.0.0.2', dev: 'v0', protocol: '77' });
    expect(shown(2)).toMatchObject({ gateway: 'fd00::2', dev: 'v0' });
    expect(shown(3)).toHaveProperty('blackhole');
    expect(shown(4)).toMatchObject({ dev: 'v0' });
    expect(shown(9)).toMatchObject({ group: [{ id: 1 }, { id: 5, weight: 7 }] });
    expect(ns.nexthop.list({ groups: true }).map((one) => one.id)).toEqual([9]);
    expect(ns.nexthop.list({ link: 'v0' }).map((one) => one.id)).toEqual([1, 2, 4, 5]);
  });

  it('reads what ip made', () => {
    tool(ns, 'ip nexthop add id 1 via 10.0.0.2 dev v0 protocol 77 onlink');
    tool(ns, 'ip nexthop add id 2 via 10.0.0.3 dev v0');
    tool(ns, 'ip -6 nexthop add id 3 blackhole');
    tool(ns, 'ip nexthop add id 4 group 1,3/2,5');
    const link = ns.link.indexOf('v0');
    expect(ns.nexthop.list()).toMatchObject([
      { id: 1, via: '10.0.0.2', link, protocol: 77, flags: 4 },
      { id: 2, via: '10.0.0.3', link, blackhole: false },
      { id: 3, blackhole: true, family: AF_INET6 },
      {
        id: 4,
        group: [
          { id: 1, weight: 3 },
          { id: 2, weight: 5 },
        ],
        groupType: 'mpath',
      },
    ]);
    expect(ns.nexthop.get(2)).toEqual(ns.nexthop.list()[1]);
  });

  it('changes one under its routes, and deletes it', () => {
    ns.nexthop.add({ id: 1, via: '10.0.0.2', link: 'v0' });
    expect(() => ns.nexthop.add({ id: 1, via: '10.0.0.3', link: 'v0' })).toThrow('nexthop.add: EEXIST');
    tool(ns, 'ip route add 192.0.2.0/24 nhid 1');
    ns.nexthop.replace({ id: 1, via: '10.0.0.3', link: 'v0' });
    expect(tool(ns, 'ip route show 192.0.2.0/24')).toContain('via 10.0.0.3');
    ns.nexthop.delete(1);
    expect(tool(ns, 'ip route show 192.0.2.0/24').trim()).toBe('');
    expect(() => ns.nexthop.get(1)).toThrow('nexthop.get: ENOENT');
  });
});
