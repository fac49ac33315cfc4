/** Rules against `ip rule`, both ways. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool } from '../testing/oracle.ts';
import { AF_INET, AF_INET6 } from './numbers.ts';

describe('rules', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'bridge', name: 'br0' });
  });
  afterEach(() => ns.close());

  const shown = (priority: number, family = '-4') =>
    jsonTool(ns, `ip ${family} -json -details -N rule show`).filter((rule) => rule['priority'] === priority);

  it('makes what ip shows', () => {
    ns.rule.add({ priority: 100, from: '10.1.0.0/16', to: '10.2.3.4', iif: 'br0', table: 1000, protocol: 77 });
    expect(shown(100)).toMatchObject([
      { src: '10.1.0.0', srclen: 16, dst: '10.2.3.4', iif: 'br0', table: '1000', protocol: '77' },
    ]);
    ns.rule.add({ priority: 101, fwmark: 0x10, fwmask: 0xff, oif: 'br0', not: true, action: 'unreachable' });
    expect(shown(101)).toMatchObject([{ not: null, fwmark: '0x10', fwmask: '0xff', oif: 'br0', action: '7' }]);
    ns.rule.add({ priority: 102, ipProtocol: 17, destinationPorts: { start: 53, end: 54 }, suppressPrefixLength: 0 });
    expect(shown(102)).toMatchObject([
      { ipproto: 'ipproto-17', dport_start: 53, dport_end: 54, suppress_prefixlen: 0 },
    ]);
    ns.rule.add({ priority: 103, from: '2001:db8::/32', table: 5, uidRange: { start: 1, end: 9 } });
    expect(shown(103, '-6')).toMatchObject([{ src: '2001:db8::', srclen: 32, table: '5', uid_start: 1, uid_end: 9 }]);
    ns.rule.add({ priority: 104, goto: 105 });
    expect(shown(104)).toMatchObject([{ goto: 105 }]);
  });

  it.each([
    [
      '-4',
      'from 10.1.0.0/16 iif br0 table 1000 protocol 77 priority 50',
      { from: '10.1.0.0/16', iif: 'br0', table: 1000, protocol: 77 },
    ],
    [
      '-4',
      'not to 10.9.8.7 fwmark 1/3 oif br0 prohibit priority 50',
      { to: '10.9.8.7/32', fwmark: 1, fwmask: 3, oif: 'br0', not: true, action: 'prohibit' },
    ],
    [
      '-6',
      'from 2001:db8::/32 ipproto 6 sport 1-2 table 9 priority 50',
      { from: '2001:db8::/32', ipProtocol: 6, sourcePorts: { start: 1, end: 2 }, table: 9 },
    ],
    [
      '-4',
      'table main suppress_prefixlength 0 suppress_ifgroup 4 priority 50',
      { suppressPrefixLength: 0, suppressGroup: 4, table: 254 },
    ],
    ['-4', 'tos 0x10 blackhole priority 50', { tos: 16, action: 'blackhole' }],
  ])('reads what ip made: %s %s', (family, line, expected) => {
    tool(ns, `ip ${family} rule add ${line}`);
    const found = ns.rule.list({ family: family === '-4' ? AF_INET : AF_INET6 });
    expect(found.find((rule) => rule.priority === 50)).toMatchObject(expected);
    expect(found.filter((rule) => rule.table === 254 && rule.priority === 32766)).toHaveLength(1);
  });

  it('lists both families, and nothing that is not there', () => {
    const found = ns.rule.list();
    expect(found.map(({ family, priority, table }) => [family, priority, table])).toEqual([
      [AF_INET, 0, 255],
      [AF_INET, 32766, 254],
      [AF_INET, 32767, 253],
      [AF_INET6, 0, 255],
      [AF_INET6, 32766, 254],
    ]);
    expect(found[0]).not.toHaveProperty('suppressPrefixLength');
    expect(found[0]).not.toHaveProperty('from');
  });

  it('deletes only the rule that has everything given', () => {
    ns.rule.add({ priority: 10, iif: 'br0', table: 1 });
    ns.rule.add({ priority: 10, iif: 'br0', table: 2 });
    ns.rule.delete({ priority: 10, iif: 'br0', table: 2 });
    expect(shown(10)).toMatchObject([{ table: '1' }]);
    expect(() => ns.rule.delete({ priority: 10, table: 2 })).toThrow('rule.delete: ENOENT');
  });

  it('refuses a rule that is there already', () => {
    ns.rule.add({ priority: 10, from: '10.0.0.1', table: 7 });
    expect(() => ns.rule.add({ priority: 10, from: '10.0.0.1', table: 7 })).toThrow('rule.add: EEXIST');
  });

  it('goes into a batch', () => {
    ns.batch(({ rule }) => {
      for (let i = 0; i < 50; i++) rule.add({ priority: 1000 + i, from: `10.0.0.${i}`, table: 100 + i });
    });
    expect(ns.rule.list().filter((rule) => rule.priority >= 1000 && rule.priority < 1050)).toHaveLength(50);
  });
});
