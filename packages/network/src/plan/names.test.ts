import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveMac, gatewayMac, linkLocalOf } from '../mac.ts';
import { link, podUid, seen, wish } from '../testing/builders.ts';
import { linkGroup, podMark } from './mark.ts';
import { chooseNames, linkNames } from './names.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;

describe('linkNames', () => {
  it.each([
    ['pc0', 2841804, 'pc02841804', 'hpc02841804'],
    ['uplink7', 2841804, 'uplink72841804', 'huplink72841804'],
    ['backbone', 2841804, 'backbone2841804', expect.stringMatching(/^h[0-9a-f]{14}$/)],
    ['backbones', 2841804, expect.stringMatching(/^p[0-9a-f]{14}$/), expect.stringMatching(/^h[0-9a-f]{14}$/)],
  ])('of %s and %i are %s and %s', (prefix, pid, pod, node) => {
    expect(linkNames(prefix, pid)).toEqual({ pod, node });
  });

  it('fit into 15 bytes, differ from each other, and are the same every time', () => {
    const anyPrefix = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 15 }).filter((text) => bytes(text) <= 15);
    fc.assert(
      fc.property(anyPrefix, fc.integer({ min: 1, max: 4194304 }), (prefix, pid) => {
        const names = linkNames(prefix, pid);
        expect(bytes(names.pod)).toBeLessThanOrEqual(15);
        expect(bytes(names.node)).toBeLessThanOrEqual(15);
        expect(names.pod).not.toBe(names.node);
        expect(linkNames(prefix, pid)).toEqual(names);
      }),
    );
  });
});

describe('chooseNames', () => {
  const spec = { podUid, interfaces: [wish()] };

  it('keeps the name of a link without another end, and names an end that it may get as if it were new', () => {
    const alone = { group: linkGroup, kind: 'dummy', alias: podMark(podUid, wish().key) };
    const observed = seen({}, { links: [link('pc012', 5, alone)] });
    expect(chooseNames({ spec, pid: 12, observed }).get(wish().key)).toEqual({ pod: 'pc012', node: 'hpc012' });
    const other = chooseNames({ spec, pid: 99, observed }).get(wish().key);
    expect(other).toEqual({ pod: 'pc012', node: expect.stringMatching(/^h[0-9a-f]{14}$/) as unknown });
    const status = { interfaces: [{ key: wish().key, name: 'old1', state: 'Attached' as const }] };
    expect(chooseNames({ spec, status, pid: 9, observed: seen() }).get(wish().key)).toMatchObject({ pod: 'old1' });
  });

  it('takes recorded names first', () => {
    const status = { interfaces: [{ key: wish().key, name: 'old1', hostName: 'hold1', state: 'Attached' as const }] };
    const names = chooseNames({ spec, status, pid: 9, observed: seen() });
    expect(names.get(wish().key)).toEqual({ pod: 'old1', node: 'hold1' });
  });

  it('calls a link exactly as asked, and its peer by a hash', () => {
    const exact = { podUid, interfaces: [wish({ name: 'net1', namePrefix: undefined })] };
    const names = chooseNames({ spec: exact, pid: 9, observed: seen() }).get(wish().key);
    expect(names).toEqual({ pod: 'net1', node: expect.stringMatching(/^h[0-9a-f]{14}$/) as unknown });
  });

  const other = link('hpc012', 5, { kind: 'veth', group: linkGroup, alias: podMark('other', 'k') });

  it('steps aside where another pod took the recorded name on the node, as after the node started anew', () => {
    const status = { interfaces: [{ key: wish().key, name: 'pc012', hostName: 'hpc012', state: 'Attached' as const }] };
    const names = chooseNames({ spec, status, pid: 9, observed: seen({ links: [other] }) }).get(wish().key);
    expect(names).toEqual({ pod: 'pc012', node: expect.stringMatching(/^h[0-9a-f]{14}$/) as unknown });
    const own = { ...other, alias: podMark(podUid, wish().key) };
    expect(chooseNames({ spec, status, pid: 9, observed: seen({ links: [own] }) }).get(wish().key)?.node).toBe(
      'hpc012',
    );
  });

  it('steps aside where another pod has the name on the node', () => {
    const names = chooseNames({ spec, pid: 12, observed: seen({ links: [other] }) }).get(wish().key);
    expect(names).toEqual({ pod: 'pc012', node: expect.stringMatching(/^h[0-9a-f]{14}$/) as unknown });
  });
});

describe('deriveMac', () => {
  it('is unicast and locally administered', () => {
    fc.assert(
      fc.property(fc.string(), fc.ipV4(), (network, address) => {
        expect(deriveMac(network, address)).toMatch(/^02(:[0-9a-f]{2}){5}$/);
        expect(gatewayMac(network)).toMatch(/^0a(:[0-9a-f]{2}){5}$/);
      }),
    );
  });

  it('is different for different IPv4 addresses of a network', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.uniqueArray(fc.ipV4(), { minLength: 2, maxLength: 2 }),
        (network, [a = '', b = '']) => {
          expect(deriveMac(network, a)).not.toBe(deriveMac(network, b));
        },
      ),
    );
  });

  it('is the same for two spellings of an IPv6 address', () => {
    expect(deriveMac('n', 'fd00:0::2')).toBe(deriveMac('n', 'fd00::2'));
  });

  it('gives the link-local address that the kernel makes of it', () => {
    // As podconfig-operator's documents show them: c6:f4:a6:0e:e3:51 with fe80::c4f4:a6ff:fe0e:e351.
    expect(linkLocalOf('c6:f4:a6:0e:e3:51').toString(16)).toBe('fe80000000000000c4f4a6fffe0ee351');
  });
});
