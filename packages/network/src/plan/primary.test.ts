import type { PodNetworkSpec } from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desire, link, seen, wish } from '../testing/builders.ts';
import type { DesiredPod } from './desired.ts';
import { routeProtocol } from './mark.ts';
import type { Observed } from './observed.ts';
import { planPod } from './pod.ts';
import { isSameSetting, sysctlsToObserve } from './primary.ts';
import { simulate } from '../explain/simulate.ts';

const rpFilter = 'net.ipv4.conf.rp_filter';
const world = seen({}, { sysctls: [{ link: 'eth0', name: rpFilter, value: '1' }] });
const both = seen(
  {},
  {
    links: [link('eth0', 2), link('net1', 3, { mtuBytes: 9000 })],
    sysctls: ['eth0', 'net1'].map((name) => ({ link: name, name: rpFilter, value: '1' })),
  },
);
const sources = [{ apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PrimaryNetwork', name: 'p' }];
const asked = { interfaceName: 'eth0', mtuBytes: 1400, sysctls: { [rpFilter]: '2' }, sources };

/** As the operator writes settings that a NetworkGrant allows. */
const granted = (sysctls: Record<string, string>) => ({ sysctls, grantedSysctls: Object.keys(sysctls) });

const set = (name: string, mtuBytes: number) => expect.objectContaining({ link: name, set: { mtuBytes } }) as unknown;
const eth0 = ({ pod }: Observed): number | undefined => pod?.links.find(({ name }) => name === 'eth0')?.mtuBytes;

describe('the primary link', () => {
  it('is not changed before what was there is written down', () => {
    const plan = planPod(desire([], world, { primary: asked }), world);
    expect(plan.steps).toEqual([]);
    expect(plan.recordFirst).toBe(true);
    expect(plan.primary).toMatchObject({
      state: 'Pending',
      record: { interfaceName: 'eth0', before: { mtuBytes: 1500, sysctls: { [rpFilter]: '1' } } },
    });
  });

  it('is changed then, and has nothing left to do', () => {
    const primaryRecord = planPod(desire([], world, { primary: asked }), world).primary?.record;
    const plan = planPod(desire([], world, { primary: asked, primaryRecord }), world);
    expect(plan.steps).toEqual([
      { do: 'setLink', in: 'pod', owner: 'primary', link: 'eth0', set: { mtuBytes: 1400 }, was: { mtuBytes: 1500 } },
      { do: 'setSysctl', in: 'pod', owner: 'primary', link: 'eth0', name: rpFilter, value: '2', was: '1' },
    ]);
    const after = simulate(plan.steps, world);
    expect(planPod(desire([], after, { primary: asked, primaryRecord }), after)).toMatchObject({
      steps: [],
      recordFirst: false,
      primary: { state: 'Attached', record: primaryRecord, applied: { mtuBytes: 1400 } },
    });
  });

  it('is never a link of our own, which two objects would change to and fro', () => {
    const interfaces = [wish({ name: 'sig0', namePrefix: undefined })];
    const attached = simulate(planPod(desire(interfaces, world), world).steps, world);
    const primary = { interfaceName: 'sig0', mtuBytes: 1400, sources };
    expect(planPod(desire(interfaces, attached, { primary }), attached)).toMatchObject({
      steps: [],
      recordFirst: false,
      primary: { state: 'Failed', reason: 'NotPrimary' },
    });
  });

  it('gets back what it had, and the record goes after that', () => {
    // As it was written before links had names in it.
    const primaryRecord = { before: { mtuBytes: 1500, sysctls: { [rpFilter]: '1' } } };
    const changed = simulate(planPod(desire([], world, { primary: asked, primaryRecord }), world).steps, world);
    const plan = planPod(desire([], changed, { primaryRecord }), changed);
    const after = simulate(plan.steps, changed);
    expect(eth0(after)).toBe(1500);
    expect(after.pod?.sysctls).toEqual(world.pod?.sysctls);
    expect(plan.primary?.record).toEqual({ interfaceName: 'eth0', ...primaryRecord });
    const last = planPod(desire([], after, { primaryRecord }), after);
    expect(last.steps).toEqual([]);
    expect(last.primary).toBeUndefined();
  });

  it('keeps its first value on record when the wish changes', () => {
    const primaryRecord = { before: { mtuBytes: 1500 } };
    const changed = simulate(
      planPod(desire([], world, { primary: { ...asked, sysctls: {} }, primaryRecord }), world).steps,
      world,
    );
    const plan = planPod(
      desire([], changed, { primary: { ...asked, sysctls: {}, mtuBytes: 1300 }, primaryRecord }),
      changed,
    );
    expect(plan).toMatchObject({ recordFirst: false, primary: { record: { before: { mtuBytes: 1500 } } } });
    expect(eth0(simulate(plan.steps, changed))).toBe(1300);
  });

  it('needs no record for a value that it has anyway', () => {
    const plan = planPod(desire([], world, { primary: { interfaceName: 'eth0', mtuBytes: 1500, sources } }), world);
    expect(plan).toMatchObject({ steps: [], recordFirst: false, primary: { state: 'Attached' } });
  });

  it('gets extra routes and loses only those', () => {
    const theirs = {
      to: '0.0.0.0/0',
      type: 'unicast',
      table: 254,
      metric: 0,
      protocol: 3,
      via: '10.0.0.1',
      link: 2,
    } as const;
    const before = seen({}, { routes: [theirs] });
    const primary = { interfaceName: 'eth0', routes: [{ to: '10.9.0.0/16', via: '10.0.0.1' }], sources };
    const after = simulate(planPod(desire([], before, { primary }), before).steps, before);
    expect(after.pod?.routes).toMatchObject([theirs, { to: '10.9.0.0/16', protocol: routeProtocol }]);
    const gone = simulate(planPod(desire([], after), after).steps, after);
    expect(gone.pod?.routes).toEqual([theirs]);
  });

  it.each([
    ['PrimaryLinkMissing', { ...asked, interfaceName: 'ens3' }],
    ['SettingMissing', { ...asked, ...granted({ 'net.ipv4.conf.nonsense': '1' }) }],
    ['NotGranted', { ...asked, sysctls: { 'net.ipv4.conf.nonsense': '1' } }],
    ['NotGranted', { ...asked, sysctls: { [rpFilter]: '2', 'net.ipv4.conf.proxy_arp': '1' } }],
  ])('says %s and is left alone', (reason, primary) => {
    expect(planPod(desire([], world, { primary }), world)).toMatchObject({
      steps: [],
      primary: { state: 'Failed', reason },
    });
  });

  it('gets back what it had when it is asked for a setting that is not granted, also besides others', () => {
    const sysctls = ['arp_ignore', 'proxy_arp'].map((name) => ({
      link: 'eth0',
      name: `net.ipv4.conf.${name}`,
      value: '0',
    }));
    let world = seen({}, { sysctls });
    const before = world;
    const wanted = { ...asked, sysctls: { 'net.ipv4.conf.arp_ignore': '1', 'net.ipv4.conf.proxy_arp': '1' } };
    const allowed = { ...wanted, grantedSysctls: ['net.ipv4.conf.proxy_arp'] };
    const primaryRecord = planPod(desire([], world, { primary: allowed }), world).primary?.record;
    world = simulate(planPod(desire([], world, { primary: allowed, primaryRecord }), world).steps, world);
    expect(world.pod?.sysctls.map(({ value }) => value)).toEqual(['1', '1']);

    const denied = planPod(desire([], world, { primary: wanted, primaryRecord }), world);
    expect(denied.primary).toMatchObject({ state: 'Failed', reason: 'NotGranted', record: primaryRecord });
    expect(denied.primary?.message).toContain('net.ipv4.conf.proxy_arp only by a NetworkGrant');
    expect(denied.primary?.message).not.toContain('arp_ignore');
    const after = simulate(denied.steps, world);
    expect(after.pod).toEqual(before.pod);
    const again = planPod(desire([], after, { primary: wanted, primaryRecord }), after);
    expect(again).toMatchObject({ steps: [], recordFirst: false, primary: { state: 'Failed', reason: 'NotGranted' } });
  });

  it('tells which sysctls to read', () => {
    expect(
      sysctlsToObserve(
        { primary: asked },
        { before: { sysctls: { 'net.ipv6.conf.accept_ra': '0', [rpFilter]: '1' } } },
      ),
    ).toEqual([
      { link: 'eth0', name: rpFilter },
      { link: 'eth0', name: 'net.ipv6.conf.accept_ra' },
    ]);
  });

  it('ends where it began after any series of wishes, on whichever link', () => {
    const anyWish = fc.option(
      fc.record({
        interfaceName: fc.constantFrom('eth0', 'net1'),
        mtuBytes: fc.option(fc.constantFrom(1300, 1400, 1500), { nil: undefined }),
        sysctls: fc.constantFrom({}, { [rpFilter]: '0' }, { [rpFilter]: '2' }),
        routes: fc.subarray([{ to: '10.9.0.0/16' }]),
        sources: fc.constant(sources),
      }),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(anyWish, fc.nat(5), fc.boolean()), { maxLength: 6 }), (wishes) => {
        let now: Observed = both;
        let primaryRecord: DesiredPod['primaryRecord'];
        /** Ends after so many looks; a crash is before the report of the last. */
        const run = (primary: Partial<PodNetworkSpec>, looks = 5, crash = false): void => {
          for (let i = 0; i < looks; i += 1) {
            const plan = planPod(desire([], now, { ...primary, primaryRecord }), now);
            now = simulate(plan.steps, now);
            if (!crash || i < looks - 1) primaryRecord = plan.primary?.record;
          }
        };
        for (const [wish, looks, crash] of wishes) run(wish ? { primary: wish } : {}, looks, crash);
        run({});
        expect(now.pod?.links).toEqual(both.pod?.links);
        expect(new Set(now.pod?.sysctls)).toEqual(new Set(both.pod?.sysctls));
        expect(now.pod?.routes).toEqual([]);
        expect(primaryRecord).toBeUndefined();
      }),
    );
  });
});

describe('a primary link that is not eth0', () => {
  const net1 = { interfaceName: 'net1', mtuBytes: 2000, sources };
  const ofNet1 = { interfaceName: 'net1', before: { mtuBytes: 9000 } };
  const changed = simulate(planPod(desire([], both, { primary: net1, primaryRecord: ofNet1 }), both).steps, both);

  it('is the one that gets back what it had', () => {
    expect(planPod(desire([], changed, { primaryRecord: ofNet1 }), changed).steps).toEqual([set('net1', 9000)]);
  });

  it('loses the routes that it was given', () => {
    const primary = { ...net1, routes: [{ to: '10.9.0.0/16' }] };
    const routed = simulate(planPod(desire([], both, { primary, primaryRecord: ofNet1 }), both).steps, both);
    expect(routed.pod?.routes).toHaveLength(1);
    const plan = planPod(desire([], routed, { primaryRecord: ofNet1 }), routed);
    expect(simulate(plan.steps, routed).pod?.routes).toEqual([]);
  });

  it('is written down before it gets a route, so that someone knows where to take it away', () => {
    const primary = { interfaceName: 'net1', routes: [{ to: '10.9.0.0/16' }], sources };
    const plan = planPod(desire([], both, { primary }), both);
    expect(plan).toMatchObject({ steps: [], recordFirst: true, primary: { record: { interfaceName: 'net1' } } });
  });

  it('is recorded and changed only when the one before it is restored', () => {
    const primary = { ...net1, interfaceName: 'eth0', mtuBytes: 1400 };
    const first = planPod(desire([], changed, { primary, primaryRecord: ofNet1 }), changed);
    expect(first).toMatchObject({ steps: [set('net1', 9000)], recordFirst: false, primary: { record: ofNet1 } });
    const restored = simulate(first.steps, changed);
    const second = planPod(desire([], restored, { primary, primaryRecord: ofNet1 }), restored);
    const ofEth0 = { interfaceName: 'eth0', before: { mtuBytes: 1500 } };
    expect(second).toMatchObject({ steps: [], recordFirst: true, primary: { record: ofEth0 } });
    const third = planPod(desire([], restored, { primary, primaryRecord: ofEth0 }), restored);
    expect(third.steps).toEqual([set('eth0', 1400)]);
  });

  it('has nothing to restore when it is gone', () => {
    expect(planPod(desire([], world, { primaryRecord: ofNet1 }), world)).toMatchObject({
      steps: [],
      primary: undefined,
    });
    const primary = { ...net1, interfaceName: 'eth0', mtuBytes: 1400 };
    const next = planPod(desire([], world, { primary, primaryRecord: ofNet1 }), world);
    expect(next).toMatchObject({ recordFirst: true, primary: { record: { interfaceName: 'eth0' } } });
  });
});

describe('the primary link of a pod that is not found', () => {
  const nowhere: Observed = { node: world.node };
  const record = { interfaceName: 'eth0', before: { mtuBytes: 1500 } };

  it('is waited for, and keeps its record', () => {
    const waiting = { state: 'Pending', reason: 'PodNotRunning' };
    const plan = planPod(desire([], nowhere, { primary: asked, primaryRecord: record }), nowhere);
    expect(plan).toMatchObject({ steps: [], recordFirst: false, primary: { ...waiting, record } });
    expect(planPod(desire([], nowhere, { primaryRecord: record }), nowhere).primary).toMatchObject({ record });
    expect(planPod(desire([], nowhere, { primary: asked }), nowhere).primary).toMatchObject(waiting);
    expect(planPod(desire([], nowhere), nowhere).primary).toBeUndefined();
  });
});

describe('IPv6 of the primary link', () => {
  const disable = 'net.ipv6.conf.disable_ipv6';
  const sysctls = [{ link: 'eth0', name: disable, value: '0' }];
  const having = (address: string) => seen({}, { sysctls, addresses: [{ link: 2, address }] });
  const wish = { interfaceName: 'eth0', sources };

  it.each([
    [{ ...wish, mtuBytes: 1279 }, /MTU under 1280 .* eth0, which has fd00::2\/64; ask for 1280 or more/],
    [{ ...wish, mtuBytes: 1400, ...granted({ [disable]: '1' }) }, /disable_ipv6 .* eth0, which has fd00::2\/64/],
  ])('is not taken away with the addresses that the CNI plugin gave: %j', (primary, message) => {
    const there = having('fd00::2/64');
    const plan = planPod(desire([], there, { primary }), there);
    expect(plan).toMatchObject({ steps: [], recordFirst: false, primary: { state: 'Failed', reason: 'LosesIpv6' } });
    expect(plan.primary?.message).toMatch(message);
    for (const none of [having('fe80::1/64'), having('10.0.0.2/24')]) {
      expect(planPod(desire([], none, { primary }), none)).toMatchObject({ recordFirst: true });
    }
  });

  it.each([
    { ...wish, mtuBytes: 1280 },
    { ...wish, mtuBytes: 1400, ...granted({ [disable]: '0' }) },
  ])('stays with %j', (primary) => {
    const there = having('fd00::2/64');
    expect(planPod(desire([], there, { primary }), there)).toMatchObject({ recordFirst: true });
  });
});

it.each([
  ['02', '2', true],
  ['2', '2\t', true],
  ['-1', '-01', true],
  ['2', '3', false],
  ['', '0', false],
  ['abc', '0', false],
])('takes %j and %j for the same number: %s', (a, b, same) => {
  expect(isSameSetting(a, b)).toBe(same);
});
