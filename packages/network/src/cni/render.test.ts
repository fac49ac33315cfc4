import { InvalidInput, type NetworkGrant, networkAttachmentDefinitionKind, networkKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { ownBridge } from './allowed.ts';
import { configOfDefinition, configOfNetwork } from './config.ts';
import { type CniWish, renderCni } from './render.ts';

const metadata = { name: 'a', namespace: 'lab' };
const definition = (config: unknown) =>
  configOfDefinition({ ...networkAttachmentDefinitionKind, metadata, spec: { config: textOf(config) } });
const network = (spec: { plugin?: string; config?: unknown }) =>
  configOfNetwork({
    ...networkKind,
    metadata,
    spec: { ...spec, ...(spec.config !== undefined && { config: textOf(spec.config) }) },
  } as never);
const textOf = (config: unknown): string => (typeof config === 'string' ? config : JSON.stringify(config));

const bridge = { type: 'bridge', bridge: 'br0', ipam: { type: 'host-local', subnet: '10.1.0.0/24' } };
const wishFor = (config: unknown, more: Partial<CniWish> = {}): CniWish => ({
  list: definition(config),
  network: metadata,
  podNamespace: 'lab',
  ...more,
});
const grant = (spec: object) => ({ spec: { namespaces: { names: ['lab'] }, ...spec } }) as NetworkGrant;
const plugins = (...cniPlugins: string[]) => [grant({ cniPlugins })];

function rendered(wish: CniWish, grants: readonly NetworkGrant[] = []) {
  const result = renderCni(wish, grants);
  if (!('cni' in result)) throw new Error(result.message);
  return { ...result.cni, config: JSON.parse(result.cni.config) as Record<string, unknown> };
}

describe('a configuration', () => {
  it('of one plugin becomes a list, with the name of its object where it has none', () => {
    const expected = {
      cniVersion: '0.3.1',
      name: 'a',
      plugins: [
        {
          type: 'bridge',
          bridge: ownBridge('lab', 'br0'),
          ipam: { type: 'host-local', subnet: '10.1.0.0/24', dataDir: '/var/lib/podloom/ipam/lab' },
        },
      ],
    };
    expect(rendered(wishFor(bridge))).toEqual({ config: expected });
    expect(rendered(wishFor({ ...bridge, name: '' })).config).toEqual(expected);
    expect(
      rendered(wishFor({ name: 'own', cniVersion: '1.0.0', plugins: [bridge], disableCheck: true })).config,
    ).toEqual({ ...expected, name: 'own', cniVersion: '1.0.0', disableCheck: true });
  });

  it('of a Network takes its plugin', () => {
    expect(network({ plugin: 'bridge', config: { bridge: 'br0' } }).plugins).toEqual([
      { bridge: 'br0', type: 'bridge' },
    ]);
    expect(network({ plugin: 'bridge' }).plugins).toEqual([{ type: 'bridge' }]);
    expect(() => network({ plugin: 'bridge', config: { type: 'macvlan' } })).toThrow('another plugin');
    expect(() => network({ plugin: 'bridge', config: { plugins: [bridge] } })).toThrow('has a list');
  });

  it.each([
    ['no JSON', '{'],
    ['a list', []],
    ['deep JSON', '{"a":'.repeat(8_000)],
    ['more than 16 KiB', { ...bridge, note: 'x'.repeat(17_000) }],
    ['no type', { bridge: 'br0' }],
    ['no plugins', { plugins: [] }],
    ['17 plugins', { plugins: Array.from({ length: 17 }, () => bridge) }],
    ['a path for a type', { type: '../../bin/sh' }],
    ['a path for the type of its addresses', { type: 'bridge', ipam: { type: '/bin/sh' } }],
    ['a path for a name', { ...bridge, name: '../x' }],
    ['a version that nobody speaks', { ...bridge, cniVersion: '9.0.0' }],
  ])('with %s is refused', (_, config) => {
    expect(() => definition(config)).toThrow(InvalidInput);
  });

  it('that is missing is refused, because no file of a node is read', () => {
    const object = { ...networkAttachmentDefinitionKind, metadata };
    expect(() => configOfDefinition(object as never)).toThrow('not set');
  });
});

describe('what a pod asks for', () => {
  const able = { ...bridge, capabilities: { ips: true, mac: true } };
  it('goes to plugins that declare it', () => {
    const asked = { ips: ['10.1.0.7/24'], mac: '02:00:00:00:00:07' };
    expect(rendered(wishFor(able, asked)).capabilities).toEqual(asked);
    expect(renderCni(wishFor(bridge, { ips: asked.ips }), [])).toMatchObject({
      reason: 'NoCapability',
      message: expect.stringContaining('"ips"'),
    });
    const denying = { ...bridge, capabilities: { mac: false } };
    expect(renderCni(wishFor(denying, { mac: asked.mac }), [])).toMatchObject({
      reason: 'NoCapability',
      message: expect.stringContaining('"mac"'),
    });
  });

  it('wins over the arguments of the object, in every plugin', () => {
    const list = { plugins: [{ ...bridge, args: { cni: { a: 1, b: 1 } } }, bridge] };
    const { config } = rendered(wishFor(list, { cniArgs: { b: 2 } }), plugins('bridge'));
    expect(config['plugins']).toMatchObject([{ args: { cni: { a: 1, b: 2 } } }, { args: { cni: { b: 2 } } }]);
  });

  it('finds a MAC in the arguments where the podagent has it so', () => {
    const mac = '02:00:00:00:00:07';
    const one = rendered(wishFor(bridge, { mac, macInArgs: true }));
    expect(one.config['plugins']).toMatchObject([{ args: { cni: { mac } } }]);
    expect(one.capabilities).toBeUndefined();
    expect(rendered(wishFor(able, { mac, macInArgs: true })).capabilities).toEqual({ mac });
  });
});

describe('without a grant', () => {
  it.each([
    ['another plugin', { type: 'macvlan', master: 'eth0' }],
    ['another plugin in a list', { plugins: [bridge, { type: 'tuning' }] }],
    ['a second bridge', { plugins: [bridge, bridge] }],
    ['a gateway on the bridge', { ...bridge, isGateway: true }],
    ['masquerading', { ...bridge, ipMasq: true }],
    ['a VLAN', { ...bridge, vlan: 7 }],
    ['a key of tomorrow', { ...bridge, someday: {} }],
    ['a folder of its own for leases', { ...bridge, ipam: { ...bridge.ipam, dataDir: '/etc' } }],
    ['a file of the node', { ...bridge, ipam: { ...bridge.ipam, resolvConf: '/etc/shadow' } }],
    ['a program for addresses', { ...bridge, ipam: { type: 'dhcp' } }],
    ['an ipam without type', { ...bridge, ipam: { subnet: '10.1.0.0/24' } }],
    ['an inherited name for a type', { ...bridge, ipam: { type: 'constructor' } }],
    ['a bridge that is no name', { ...bridge, bridge: '../br0' }],
    ['a bridge that is an object', { ...bridge, bridge: {} }],
  ])('nobody has %s', (_, config) => {
    expect(renderCni(wishFor(config), [])).toMatchObject({
      reason: 'NotGranted',
      message: expect.stringContaining('lab'),
    });
  });

  it('everybody may say that these are not wanted, and static addresses', () => {
    const ipam = { type: 'static', addresses: [{ address: '10.1.0.7/24' }] };
    const { config } = rendered(wishFor({ type: 'bridge', isGateway: false, ipMasq: false, ipam }));
    expect(config['plugins']).toEqual([
      { type: 'bridge', isGateway: false, ipMasq: false, ipam, bridge: ownBridge('lab', 'cni0') },
    ]);
  });

  it('no two namespaces share a bridge', () => {
    expect(ownBridge('lab', 'br0')).toMatch(/^pl[0-9a-f]{12}$/);
    expect(ownBridge('other', 'br0')).not.toBe(ownBridge('lab', 'br0'));
  });

  it('a network of another namespace cannot be had, and with one it is its own bridge', () => {
    const wish = wishFor(bridge, { podNamespace: 'other' });
    expect(renderCni(wish, [])).toMatchObject({ reason: 'NotGranted', message: expect.stringContaining('lab/a') });
    const shared = [grant({ sharedNetworks: [metadata] })];
    expect(rendered(wish, shared).config['plugins']).toMatchObject([{ bridge: ownBridge('lab', 'br0') }]);
    expect(renderCni(wishFor({ type: 'macvlan' }, { podNamespace: 'other' }), shared)).toHaveProperty('reason');
  });
});

describe('with a grant', () => {
  it('a plugin is called as written', () => {
    const macvlan = { type: 'macvlan', master: 'eth1', ipam: { type: 'dhcp' } };
    expect(rendered(wishFor(macvlan), plugins('macvlan', 'dhcp')).config['plugins']).toEqual([macvlan]);
    expect(renderCni(wishFor(macvlan), plugins('macvlan'))).toMatchObject({ message: expect.stringContaining('dhcp') });
    const whole = { ...bridge, isGateway: true, ipMasq: true };
    expect(rendered(wishFor(whole), plugins('bridge')).config['plugins']).toMatchObject([
      { bridge: 'br0', isGateway: true, ipam: { dataDir: '/var/lib/podloom/ipam/lab' } },
    ]);
  });

  it('what it does not name is as for everybody', () => {
    const list = { plugins: [bridge, { type: 'tuning', sysctl: {} }] };
    expect(rendered(wishFor(list), plugins('tuning')).config['plugins']).toMatchObject([
      { bridge: ownBridge('lab', 'br0') },
      { type: 'tuning', sysctl: {} },
    ]);
  });
});
