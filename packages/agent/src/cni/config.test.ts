import { describe, expect, it } from 'vitest';
import { attachment, configText } from '../testing/attachment.ts';
import { hasCheck, ownBridge, parseConfig, pluginInput, refuseOthers, refuseUnused } from './config.ts';

const allowed = new Set(['bridge', 'host-local', 'static']);
const chain = (...plugins: object[]) => parseConfig(configText(plugins));
const input = (plugin: object, capabilities: object = {}, previous?: unknown) => {
  const list = chain(plugin);
  return pluginInput(list, list.plugins[0]!, attachment({ capabilities }), previous);
};

describe('parseConfig', () => {
  it.each([
    ['text that is not JSON', '{'],
    ['what is no object', '[]'],
    ['a list without plugins', '{"cniVersion":"1.0.0","name":"x","plugins":[]}'],
    ['a single plugin', '{"cniVersion":"1.0.0","name":"x","type":"bridge"}'],
    ['a version that nobody knows', configText([{ type: 'bridge' }], { cniVersion: '2.0.0' })],
    ['a name that is a path', configText([{ type: 'bridge' }], { name: '../x' })],
    ['a plugin that is a path', configText([{ type: '../../bin/sh' }])],
    ['a plugin that is a folder', configText([{ type: '..' }])],
    ['a plugin with a word of a shell', configText([{ type: 'bridge;reboot' }])],
    ['an ipam that is a path', configText([{ type: 'bridge', ipam: { type: '/bin/sh' } }])],
    ['a plugin without type', configText([{}])],
    ['more than 16 KiB', configText([{ type: 'bridge', more: 'x'.repeat(16_384) }])],
    [
      'deep nesting',
      configText([{ type: 'bridge', more: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as unknown }]),
    ],
    ['very deep nesting', `{"cniVersion":"1.0.0","name":"x","plugins":${'['.repeat(8_000)}${']'.repeat(8_000)}}`],
  ])('refuses %s, for good', (_, text) => {
    expect(() => parseConfig(text)).toThrow(expect.objectContaining({ reason: 'InvalidConfig', isRetryable: false }));
  });

  it.each([
    [{ cniVersion: '0.3.1' }, '0.3.1'],
    [{ cniVersion: '0.4.0', cniVersions: ['0.4.0', '1.1.0', '9.9.9'] }, '1.1.0'],
  ])('takes of %j the newest version that is known', (versions, version) => {
    const list = parseConfig(configText([{ type: 'bridge' }], versions));
    expect(list.cniVersion).toBe(version);
    expect(hasCheck(list)).toBe(version !== '0.3.1');
  });
});

describe('refuseOthers', () => {
  it('lets pass what the node allows', () => {
    expect(() => refuseOthers(chain({ type: 'bridge', ipam: { type: 'static' } }), allowed)).not.toThrow();
    expect(() => refuseOthers(chain({ type: 'bridge', ipam: {} }), allowed)).not.toThrow();
  });

  it.each([
    [[{ type: 'bridge' }, { type: 'portmap' }], 'portmap'],
    [[{ type: 'bridge', ipam: { type: 'dhcp' } }], 'dhcp'],
  ])('names of %j the plugin that is not allowed', (plugins, name) => {
    expect(() => refuseOthers(chain(...plugins), allowed)).toThrow(`The CNI plugin ${name} is not allowed`);
  });
});

describe('pluginInput', () => {
  it('keeps keys that nobody knows, and sets name and version', () => {
    expect(input({ type: 'bridge', 'org.example': { a: 1 } })).toEqual({
      type: 'bridge',
      'org.example': { a: 1 },
      name: 'data',
      cniVersion: '1.0.0',
    });
  });

  it('hands over the capabilities that the plugin declares, and no others', () => {
    const capabilities = { ips: ['10.1.0.2/24'], mac: '02:00:00:00:00:01' };
    expect(input({ type: 'bridge', capabilities: { mac: true, ips: false } }, capabilities)).toMatchObject({
      runtimeConfig: { mac: '02:00:00:00:00:01' },
    });
    expect(input({ type: 'bridge', capabilities: { mac: true } }, capabilities)).not.toHaveProperty('capabilities');
  });

  it('believes neither a result nor a runtimeConfig that stands in the text', () => {
    expect(Object.keys(input({ type: 'bridge', prevResult: {}, runtimeConfig: {} }))).not.toEqual(
      expect.arrayContaining(['prevResult']),
    );
    expect(input({ type: 'bridge', prevResult: { x: 1 }, runtimeConfig: {} }, {}, { ips: [] })).toMatchObject({
      prevResult: { ips: [] },
    });
    expect(input({ type: 'bridge', runtimeConfig: {} })).not.toHaveProperty('runtimeConfig');
  });
});

it('refuses a capability that no plugin declares by its name', () => {
  const list = chain({ type: 'bridge', capabilities: { ips: true } });
  expect(() => refuseUnused(list, attachment({ capabilities: { ips: ['10.1.0.2'] } }))).not.toThrow();
  expect(() => refuseUnused(list, attachment({ capabilities: { mac: '02:00:00:00:00:01' } }))).toThrow(
    'capability mac',
  );
});

it.each([
  ['pl0123456789ab', 'pl0123456789ab'],
  ['cni0', undefined],
  ['pl0123456789abc', undefined],
])('makes the bridge %s only where the operator named it', (bridge, own) => {
  expect(ownBridge(chain({ type: 'bridge', bridge }))).toBe(own);
  expect(ownBridge(chain({ type: 'macvlan', bridge }))).toBeUndefined();
});
