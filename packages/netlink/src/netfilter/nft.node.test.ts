/** nf_tables against `nft`, both ways. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { answers, tool } from '../testing/oracle.ts';
import { counter, match, verdict, type NftExpression } from './expressions.ts';
import type { NftSet } from './nft.ts';

const table = { family: 'inet', name: 'ours' } as const;
const chain = { family: 'inet', table: 'ours', name: 'in' } as const;
const place = { family: 'inet', table: 'ours', chain: 'in' } as const;
const vteps: NftSet = { family: 'inet', table: 'ours', name: 'vteps', type: 'ipv4_addr', interval: true };

const set = (name: string, type: NftSet['type'], interval = false): NftSet => ({ ...vteps, name, type, interval });

describe('nf_tables', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', peer: { name: 'v1' } });
  });
  afterEach(() => ns.close());

  /** The ruleset as nft writes it, on one line. */
  const ruleset = () => tool(ns, 'nft list ruleset').replace(/\s+/g, ' ').trim();

  const base = (): void =>
    ns.nft.transaction((t) => {
      t.addTable(table);
      t.addChain({ ...chain, hook: 'input', priority: -400, policy: 'accept' });
      t.addSet(vteps);
    });

  it('makes the guard of a tunnel port as nft shows it', () => {
    base();
    ns.nft.transaction((t) => {
      t.addElements(vteps, ['192.0.2.1', '192.0.2.7-192.0.2.9', '198.51.100.0/24', '255.255.255.255']);
      t.addRule({
        ...place,
        expressions: [
          ...match.destinationPort('udp', 8472),
          ...match.source('ip', '!=', '@vteps'),
          counter,
          verdict.drop,
        ],
        comment: 'only tunnel ends',
      });
    });
    expect(ruleset()).toBe(
      'table inet ours { set vteps { type ipv4_addr flags interval ' +
        'elements = { 192.0.2.1, 192.0.2.7-192.0.2.9, 198.51.100.0/24, 255.255.255.255 } } ' +
        'chain in { type filter hook input priority -400; policy accept; ' +
        'udp dport 8472 ip saddr != @vteps counter packets 0 bytes 0 drop comment "only tunnel ends" } }',
    );
    expect(ns.nft.elements(vteps)).toEqual(['192.0.2.1', '192.0.2.7-192.0.2.9', '198.51.100.0/24', '255.255.255.255']);
  });

  it.for<[string, NftExpression[]]>([
    ['udp dport 53 accept', [...match.destinationPort('udp', 53), verdict.accept]],
    ['tcp sport 80 drop', [...match.sourcePort('tcp', 80), verdict.drop]],
    ['iifname "v0" accept', [...match.iif('v0'), verdict.accept]],
    ['oifname != "v0" return', [...match.oif('v0', '!='), verdict.return]],
    ['ip saddr 10.0.0.1 drop', [...match.source('ip', '==', '10.0.0.1'), verdict.drop]],
    ['ip daddr != 10.0.0.0/9 drop', [...match.destination('ip', '!=', '10.0.0.0/9'), verdict.drop]],
    ['ip6 saddr fd00::/64 drop', [...match.source('ip6', '==', 'fd00::/64'), verdict.drop]],
    ['ip6 daddr fd00::1 accept', [...match.destination('ip6', '==', 'fd00::1'), verdict.accept]],
    ['meta mark 0x00000010 accept', [...match.mark(16), verdict.accept]],
    ['meta l4proto ipv6-icmp accept', [...match.protocol('icmp6'), verdict.accept]],
    ['meta pkttype broadcast drop', [...match.packetType('broadcast'), verdict.drop]],
    [
      'limit rate over 100/second burst 50 packets drop',
      [...match.limit({ rate: 100, burst: 50, over: true }), verdict.drop],
    ],
    [
      'limit rate 10 kbytes/minute burst 5 kbytes',
      match.limit({ rate: 10_240, perSeconds: 60, burst: 5120, unit: 'bytes' }),
    ],
    ['jump other', [verdict.jump('other')]],
    ['goto other', [verdict.goto('other')]],
  ])('makes and reads "%s" as nft does', ([line, expressions]) => {
    base();
    const theirs = { ...chain, name: 'theirs' };
    ns.nft.transaction((t) => {
      t.addChain({ ...chain, name: 'other' });
      t.addChain(theirs);
      t.addRule({ ...place, expressions });
    });
    tool(ns, `nft add rule inet ours theirs ${line}`);
    expect(ruleset()).toContain(`policy accept; ${line} }`);
    const seen = (name: string) => ns.nft.rules({ ...table, table: 'ours', chain: name })[0]?.expressions;
    expect(seen('in')).toEqual(seen('theirs'));
  });

  it('drops what comes from outside a set, counts it, and lets it in once it is a member', async () => {
    base();
    ns.nft.transaction((t) =>
      t.addRule({
        ...place,
        expressions: [...match.protocol('icmp'), ...match.source('ip', '!=', '@vteps'), counter, verdict.drop],
      }),
    );
    using far = open({ create: true });
    ns.link.set('v1', { netns: far });
    ns.address.add({ link: 'v0', address: '10.0.0.1/24' });
    far.address.add({ link: 'v1', address: '10.0.0.2/24' });
    ns.link.set('v0', { up: true });
    far.link.set('v1', { up: true });
    // Who asks for the MAC first sends the pings when the answer comes: perhaps after they were given up, or never.
    far.neighbour.add({ link: 'v1', address: '10.0.0.1', lladdr: ns.link.get('v0').address ?? '' });
    expect(() => tool(far, 'ping -n -c 2 -i 0.2 -W 1 10.0.0.1')).toThrow('Command failed');
    const counted = () =>
      ns.nft.rules(place).flatMap(({ expressions }) => expressions.filter((one) => one.name === 'counter'));
    await vi.waitFor(() => expect(counted()).toMatchObject([{ data: { packets: 2n } }]), { timeout: 60_000 });
    ns.nft.transaction((t) => t.addElements(vteps, ['10.0.0.2']));
    expect(answers(far, '10.0.0.1')).toBe(true);
    expect(counted()).toMatchObject([{ data: { packets: 2n } }]);
  });

  it('limits broadcasts where a link takes frames in', () => {
    ns.nft.transaction((t) => {
      t.addTable({ family: 'netdev', name: 'guard' });
      t.addChain({
        family: 'netdev',
        table: 'guard',
        name: 'v0',
        hook: 'ingress',
        device: 'v0',
        priority: 5,
        policy: 'accept',
      });
      t.addRule({
        family: 'netdev',
        table: 'guard',
        chain: 'v0',
        expressions: [
          ...match.packetType('broadcast'),
          ...match.limit({ rate: 100, burst: 50, over: true }),
          verdict.drop,
        ],
      });
    });
    expect(ruleset()).toContain(
      'type filter hook ingress device "v0" priority filter + 5; policy accept; meta pkttype broadcast limit rate over 100/second burst 50 packets drop',
    );
    expect(ns.nft.chains({ family: 'netdev' })).toEqual([
      {
        family: 'netdev',
        table: 'guard',
        name: 'v0',
        hook: 'ingress',
        priority: 5,
        type: 'filter',
        policy: 'accept',
        device: 'v0',
      },
    ]);
  });

  it('reads what nft made', () => {
    tool(
      ns,
      'nft -f -',
      `table ip theirs {
      set ports { type inet_service; elements = { 22, 80 } }
      set pairs { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 1-9, 192.0.2.1 . 53 } }
      set macs { type ether_addr; elements = { 02:00:00:00:00:01 } }
      set six { type ipv6_addr; flags interval; elements = { fd00::/64, fd01::1-fd01::5 } }
      set links { type ifname; elements = { "v0", "v1" } }
      chain out { type filter hook output priority 7; policy drop; }
      chain free { ct state established,related accept comment "x y"; }
    }`,
    );
    expect(ns.nft.tables()).toEqual([{ family: 'ip', name: 'theirs' }]);
    expect(ns.nft.chains()).toEqual([
      { family: 'ip', table: 'theirs', name: 'out', hook: 'output', priority: 7, type: 'filter', policy: 'drop' },
      { family: 'ip', table: 'theirs', name: 'free' },
    ]);
    const sets = ns.nft.sets({ family: 'ip', table: 'theirs' });
    const holds = sets.map(({ type = [], ...set }) => [
      set.name,
      type.join(' . '),
      ns.nft.elements({ ...set, type }).toSorted(),
    ]);
    expect(holds).toEqual([
      ['ports', 'inet_service', ['22', '80']],
      ['pairs', 'ipv4_addr . inet_service', ['10.0.0.0/8 . 1-9', '192.0.2.1 . 53']],
      ['macs', 'ether_addr', ['02:00:00:00:00:01']],
      ['six', 'ipv6_addr', ['fd00::/64', 'fd01::1-fd01::5']],
      ['links', 'ifname', ['v0', 'v1']],
    ]);
    expect(ns.nft.rules({ family: 'ip', table: 'theirs' })).toMatchObject([
      { chain: 'free', comment: 'x y', expressions: match.connectionState(6).concat(verdict.accept) },
    ]);
  });

  it('makes sets of every type as nft shows them', () => {
    const filled: [NftSet, string[]][] = [
      [set('ports', 'inet_service'), ['22', '8080']],
      [set('pairs', ['ipv4_addr', 'inet_service'], true), ['10.0.0.0/8 . 1-9', '192.0.2.1 . 53']],
      [set('plain', ['ether_addr', 'ipv4_addr']), ['02:00:00:00:00:01 . 10.0.0.1']],
      [set('six', 'ipv6_addr', true), ['fd00::/64', 'fd01::1-fd01::5']],
      [set('links', 'ifname'), ['v0']],
    ];
    ns.nft.transaction((t) => {
      t.addTable(table);
      for (const [one, elements] of filled) {
        t.addSet(one);
        t.addElements(one, elements);
      }
    });
    expect(ruleset()).toContain(
      'set pairs { type ipv4_addr . inet_service flags interval elements = { 10.0.0.0/8 . 1-9, 192.0.2.1 . 53 } }',
    );
    expect(ruleset()).toContain(
      'set plain { type ether_addr . ipv4_addr elements = { 02:00:00:00:00:01 . 10.0.0.1 } }',
    );
    expect(ruleset()).toContain('set six { type ipv6_addr flags interval elements = { fd00::/64, fd01::1-fd01::5 } }');
    expect(ruleset()).toContain('set links { type ifname elements = { "v0" } }');
    for (const [one, elements] of filled) expect(ns.nft.elements(one).toSorted()).toEqual(elements);
  });

  it('adds and removes many elements, and leaves the rest', () => {
    base();
    const all = Array.from({ length: 3000 }, (_, i) => `10.${i >> 8}.${i & 0xff}.1`);
    ns.nft.transaction((t) => t.addElements(vteps, all));
    expect(ns.nft.elements(vteps)).toEqual(all);
    ns.nft.transaction((t) => t.deleteElements(vteps, all.slice(1)));
    expect(ns.nft.elements(vteps)).toEqual(['10.0.0.1']);
    ns.nft.transaction((t) => t.flushSet(vteps));
    expect(ns.nft.elements(vteps)).toEqual([]);
  });

  it('does nothing if one change of a transaction fails', () => {
    base();
    expect(() =>
      ns.nft.transaction((t) => {
        t.addRule({ ...place, expressions: [verdict.drop] });
        t.deleteSet({ ...vteps, name: 'missing' });
        t.addRule({ ...place, expressions: [verdict.accept] });
      }),
    ).toThrow('nft.deleteSet: ENOENT (name)');
    expect(ns.nft.rules({ ...table, table: 'ours' })).toEqual([]);
    ns.nft.transaction((t) => t.addRule({ ...place, expressions: [verdict.accept] }));
    expect(ns.nft.rules({ ...table, table: 'ours' })).toHaveLength(1);
  });

  it('inserts, deletes and flushes rules, and deletes its table only', () => {
    tool(ns, 'nft add table inet foreign');
    base();
    ns.nft.transaction((t) => {
      t.addRule({ ...place, expressions: [verdict.accept], comment: 'second' });
      t.insertRule({ ...place, expressions: [counter], comment: 'first' });
    });
    const comments = () => ns.nft.rules({ ...table, table: 'ours', chain: 'in' }).map((rule) => rule.comment);
    expect(comments()).toEqual(['first', 'second']);
    const [first] = ns.nft.rules({ ...table, table: 'ours', chain: 'in' });
    ns.nft.transaction((t) => t.deleteRule(first!));
    expect(comments()).toEqual(['second']);
    ns.nft.transaction((t) => t.flushChain(chain));
    expect(comments()).toEqual([]);
    ns.nft.transaction((t) => {
      t.deleteChain(chain);
      t.deleteTable(table);
    });
    expect(ruleset()).toBe('table inet foreign { }');
  });
});
