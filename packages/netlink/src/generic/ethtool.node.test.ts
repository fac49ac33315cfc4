/** ethtool against `ethtool`, both ways. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, type Netns } from '../namespace.ts';
import { jsonTool, tool } from '../testing/oracle.ts';
import type { Feature } from './ethtool.ts';

describe('ethtool', () => {
  let ns: Netns;
  beforeEach(() => {
    ns = open({ create: true });
    ns.link.add({ kind: 'veth', name: 'v0', up: true, peer: { name: 'v1' } });
    ns.link.set('v1', { up: true });
  });
  afterEach(() => ns.close());

  const theirs = () => jsonTool(ns, 'ethtool --json -k v0')[0] as Record<string, Feature>;

  it('reads features as ethtool does', () => {
    const ours = ns.ethtool.features('v0');
    const shown = theirs();
    const shared = Object.keys(shown).filter((name) => Object.hasOwn(ours, name));
    expect(shared.length).toBeGreaterThan(20);
    for (const name of shared) expect([name, ours[name]]).toEqual([name, shown[name]]);
  });

  it('turns checksum offload off and on', () => {
    ns.ethtool.setFeatures('v0', { 'tx-checksum-ip-generic': false });
    expect(theirs()['tx-checksum-ip-generic']).toMatchObject({ active: false, requested: false });
    expect(theirs()['rx-gro-list']).toEqual(ns.ethtool.features('v0')['rx-gro-list']);
    ns.ethtool.setFeatures('v0', { 'tx-checksum-ip-generic': true });
    expect(theirs()['tx-checksum-ip-generic']).toMatchObject({ active: true });
    tool(ns, 'ethtool -K v0 tx off');
    expect(ns.ethtool.features('v0')['tx-checksum-ip-generic']).toMatchObject({ active: false });
  });

  it('says which feature it could not change', () => {
    expect(() => ns.ethtool.setFeatures('v0', { 'tx-vlan-offload-nonsense': true })).toThrow(
      'ethtool.setFeatures: EOPNOTSUPP',
    );
    expect(() => ns.ethtool.setFeatures('v0', { 'tx-checksum-fcoe-crc': true })).toThrow(
      /EOPNOTSUPP.*tx-checksum-fcoe-crc/,
    );
  });

  it('reads state, modes, channels and rings', () => {
    const line = (program: string, name: string) =>
      new RegExp(`^\\s*${name}:\\s*(.*)$`, 'm').exec(tool(ns, program))?.[1];
    expect(ns.ethtool.linkState('v0')).toMatchObject({ carrier: line('ethtool v0', 'Link detected') === 'yes' });
    expect(ns.ethtool.linkModes('v0')).toMatchObject({ speedMbps: 10_000, duplex: 'full', autonegotiation: false });
    expect(line('ethtool v0', 'Speed')).toBe('10000Mb/s');
    expect(ns.ethtool.linkInfo('v0')).toMatchObject({ port: 'tp', transceiver: 'internal' });
    expect(ns.ethtool.channels('v0')).toMatchObject({
      rx: Number(/Current[^]*RX:\s*(\d+)/.exec(tool(ns, 'ethtool -l v0'))?.[1]),
    });
    ns.link.set('v1', { up: false });
    expect(ns.ethtool.linkState('v0')).toMatchObject({ carrier: false });
  });

  it('passes on that a driver has no rings or coalescing', () => {
    ns.link.add({ kind: 'bridge', name: 'br0' });
    expect(() => ns.ethtool.rings('br0')).toThrow('ethtool.rings: EOPNOTSUPP');
    expect(() => ns.ethtool.coalesce('br0')).toThrow('ethtool.coalesce: EOPNOTSUPP');
    expect(() => ns.ethtool.linkState('none')).toThrow('ethtool.linkState: ENODEV');
  });
});
