/** Links as such: names, moves, groups, batches, errors, counters. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { isFallbackDevice, jsonTool } from '../testing/oracle.ts';
import { NetlinkError } from '../wire/error.ts';

let ns: Netns;
beforeEach(() => {
  ns = open({ create: true });
});
afterEach(() => ns.close());

const names = (netns: Netns): unknown[] =>
  jsonTool(netns, 'ip -json link')
    .map((link) => link['ifname'])
    .filter((name) => !isFallbackDevice(name));
const listed = (netns: Netns): string[] =>
  netns.link
    .list()
    .map(({ name }) => name)
    .filter((name) => !isFallbackDevice(name));

const failure = (work: () => void): NetlinkError => {
  try {
    work();
  } catch (error) {
    if (error instanceof NetlinkError) return error;
    throw error;
  }
  throw new Error('It should have failed');
};

describe('link', () => {
  it('returns the index of what it made', () => {
    const index = ns.link.add({ kind: 'bridge', name: 'br0' });
    expect(jsonTool(ns, 'ip -json link show br0')[0]).toMatchObject({ ifindex: index });
    expect(ns.link.add({ kind: 'vxlan', name: 'vx', data: { id: 1, port: 4789 } })).toBe(ns.link.get('vx').index);
    expect(ns.link.add({ kind: 'veth', name: 'v', index: 77 })).toBe(77);
  });

  it('changes name, MTU, addresses, alias, group, queue length and state', () => {
    ns.link.add({ kind: 'veth', name: 'v0', peer: { name: 'v1' } });
    ns.link.set('v0', {
      name: 'renamed',
      mtu: 1234,
      address: '02:00:00:00:00:42',
      alias: 'what it is for: ü',
      group: 9,
      txqlen: 77,
      up: true,
    });
    expect(jsonTool(ns, 'ip -json link show renamed')[0]).toMatchObject({
      mtu: 1234,
      address: '02:00:00:00:00:42',
      ifalias: 'what it is for: ü',
      group: '9',
      txqlen: 77,
      flags: expect.arrayContaining(['UP']) as [],
    });
    expect(ns.link.get('renamed')).toMatchObject({ mtu: 1234, alias: 'what it is for: ü', group: 9, up: true });
    ns.link.set('renamed', { up: false });
    expect(ns.link.get('renamed').up).toBe(false);
  });

  it('moves a link, and makes both ends of a veth where they belong', () => {
    using other = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', peer: { name: 'eth0', netns: other } });
    expect(names(other)).toEqual(['lo', 'eth0']);
    ns.link.add({ kind: 'bridge', name: 'br0', netns: other });
    ns.link.add({ kind: 'ifb', name: 'ifb7' });
    ns.link.set('ifb7', { netns: other });
    expect(names(other)).toEqual(expect.arrayContaining(['br0', 'ifb7']));
    expect(names(ns)).toEqual(['lo', 'v0']);
  });

  it('gives a link more names, and finds it by them', () => {
    ns.link.add({ kind: 'bridge', name: 'br0' });
    const long = 'a-name-that-is-longer-than-fifteen-bytes';
    ns.link.addAltNames('br0', [long, 'other']);
    expect(jsonTool(ns, 'ip -json link show br0')[0]).toMatchObject({ altnames: [long, 'other'] });
    expect(ns.link.get('br0').altNames).toEqual([long, 'other']);
    ns.link.deleteAltNames('br0', ['other']);
    expect(ns.link.get('br0').altNames).toEqual([long]);
  });

  it('lists by master and by kind', () => {
    ns.link.add({ kind: 'bridge', name: 'br0' });
    ns.link.add({ kind: 'veth', name: 'v0', master: 'br0', peer: { name: 'v1' } });
    const list = (options: object): string[] => ns.link.list(options).map((link) => link.name);
    expect(list({ master: 'br0' })).toEqual(['v0']);
    expect(list({ kind: 'veth' }).toSorted()).toEqual(['v0', 'v1']);
  });

  it('removes a thousand links of a group without a wait for each', () => {
    ns.batch((batch) => {
      for (let i = 0; i < 500; i++) {
        batch.link.add({ kind: 'veth', name: `n${i}`, group: 7, peer: { name: `m${i}`, group: 7 } });
      }
    });
    expect(listed(ns)).toHaveLength(1 + 1000);
    ns.link.deleteGroup(7);
    expect(names(ns)).toEqual(['lo']);
  });

  it('has an outline of each link that says what the whole link says', () => {
    ns.link.set('lo', { up: true });
    ns.link.add({ kind: 'bridge', name: 'br0', group: 7 });
    ns.link.add({ kind: 'veth', name: 'v0', mtu: 1400, txqlen: 77, peer: { name: 'v1' } });
    ns.link.set('v0', { master: 'br0', alias: 'whose', afSpec: { inet6: { addrGenMode: 1 } } });
    ns.link.set('v0', { portKind: 'bridge', port: { learning: false } });
    const outlines = ns.link.list({ details: true }).map((link) => ({
      index: link.index,
      name: link.name,
      kind: link.kind,
      flags: link.flags,
      up: link.up,
      group: link.group,
      alias: link.alias,
      address: link.address,
      mtu: link.mtu,
      txqlen: link.txqlen,
      master: link.master,
      link: link.link,
      addrGenMode: link.afSpec?.inet6?.addrGenMode,
      port: link.portKind === 'bridge' ? { learning: link.port.learning, flood: link.port.flood } : undefined,
    }));
    expect(outlines.find(({ name }) => name === 'v0')).toMatchObject({
      alias: 'whose',
      mtu: 1400,
      addrGenMode: 1,
      port: { learning: false, flood: true },
    });
    expect(ns.link.outlines()).toEqual(outlines);
    expect(outlines.map(({ name }) => ns.link.outline(name))).toEqual(outlines);
  });

  it('counts packets as ip does', () => {
    ns.link.set('lo', { up: true });
    const counters = (): unknown => {
      const stats = jsonTool(ns, 'ip -s -json link show lo')[0]?.['stats64'] as Record<string, Record<string, number>>;
      return [stats['rx']?.['packets'], stats['rx']?.['bytes']];
    };
    const { rxPackets, rxBytes } = ns.stats.get('lo');
    expect([rxPackets, rxBytes]).toEqual(counters());
    expect(ns.stats.list().get(1)?.rxBytes).toBe(rxBytes);
    expect(ns.link.get('lo', { details: true }).stats?.rxBytes).toBe(rxBytes);
    expect(ns.link.get('lo').stats).toBeUndefined();
  });
});

describe('errors', () => {
  it('carry the kernel’s sentence', () => {
    ns.link.add({ kind: 'veth', name: 'v0' });
    const error = failure(() => ns.link.set('v0', { mtu: 5 }));
    expect(error).toMatchObject({
      code: 'EINVAL',
      operation: 'link.set',
      kernelMessage: 'mtu less than device minimum',
    });
    expect(error.message).toBe('link.set: EINVAL: mtu less than device minimum');
  });

  it('point at the attribute, however deep', () => {
    const long = 'longer-than-fifteen';
    expect(failure(() => ns.link.add({ kind: 'bridge', name: long })).attribute).toBe('name');
    expect(failure(() => ns.link.add({ kind: 'veth', name: 'v', peer: { name: long } })).attribute).toBe(
      'linkinfo.data.peer.name',
    );
  });

  it('refuse what is not an attribute, instead of sending something else', () => {
    expect(() => ns.link.add({ kind: 'bridge', name: 'br0', data: { colour: 1 } as object })).toThrow(
      '"colour" is not an attribute of bridge',
    );
    expect(() => ns.link.add({ kind: 'bridge', name: 'br0', mtu: -1 })).toThrow(RangeError);
    expect(() => ns.link.add({ kind: 'bridge', name: 'br0', mtu: 2 ** 32 })).toThrow(RangeError);
    expect(names(ns)).toEqual(['lo']);
  });

  it('leave the rest of a batch done, and the socket usable', () => {
    const error = failure(() =>
      ns.batch((batch) => {
        batch.link.add({ kind: 'bridge', name: 'br0' });
        batch.link.add({ kind: 'bridge', name: 'br0' });
        batch.link.add({ kind: 'bridge', name: 'br1' });
        batch.link.delete('nothing');
      }),
    );
    expect(error).toMatchObject({ code: 'EEXIST', operation: 'link.add', retry: 'whenChanged' });
    expect(listed(ns)).toEqual(['lo', 'br0', 'br1']);
  });

  it('say which process or file could not be opened', () => {
    expect(() => open({ pid: 2 ** 22 })).toThrow('ENOENT');
    expect(() => open({ path: '/dev/null' }).link.list()).toThrow('EINVAL');
  });
});

describe('a batch', () => {
  it('sends what waits before it answers a question', () => {
    ns.batch((batch) => {
      batch.link.add({ kind: 'bridge', name: 'br0' });
      batch.link.add({ kind: 'veth', name: 'v0', master: 'br0', peer: { name: 'v1' } });
      batch.address.add({ link: 'v1', address: '10.0.0.1/24' });
    });
    expect(ns.link.get('v0').master).toBe(ns.link.get('br0').index);
    expect(jsonTool(ns, 'ip -json address show v1')[0]).toMatchObject({ addr_info: [{ local: '10.0.0.1' }] });
  });
});
