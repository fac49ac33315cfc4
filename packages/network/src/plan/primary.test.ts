import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desire, seen } from './builders.ts';
import { routeProtocol } from './mark.ts';
import type { Observed } from './observed.ts';
import { planPod } from './pod.ts';
import { sysctlsToObserve } from './primary.ts';
import { simulate } from './simulate.ts';

const rpFilter = 'net.ipv4.conf.rp_filter';
const world = seen({}, { sysctls: [{ link: 'eth0', name: rpFilter, value: '1' }] });
const sources = [{ apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PrimaryNetwork', name: 'p' }];
const asked = { interfaceName: 'eth0', mtuBytes: 1400, sysctls: { [rpFilter]: '2' }, sources };

const eth0 = ({ pod }: Observed): number | undefined => pod?.links.find(({ name }) => name === 'eth0')?.mtuBytes;

describe('the primary link', () => {
  it('is not changed before what was there is written down', () => {
    const plan = planPod(desire([], world, { primary: asked }), world);
    expect(plan.steps).toEqual([]);
    expect(plan.recordFirst).toBe(true);
    expect(plan.primary).toMatchObject({ state: 'Pending', before: { mtuBytes: 1500, sysctls: { [rpFilter]: '1' } } });
  });

  it('is changed then, and has nothing left to do', () => {
    const primaryBefore = planPod(desire([], world, { primary: asked }), world).primary?.before;
    const plan = planPod(desire([], world, { primary: asked, primaryBefore }), world);
    expect(plan.steps).toEqual([
      { do: 'setLink', in: 'pod', link: 'eth0', set: { mtuBytes: 1400 }, was: { mtuBytes: 1500 } },
      { do: 'setSysctl', in: 'pod', link: 'eth0', name: rpFilter, value: '2', was: '1' },
    ]);
    const after = simulate(plan.steps, world);
    expect(planPod(desire([], after, { primary: asked, primaryBefore }), after)).toMatchObject({
      steps: [],
      recordFirst: false,
      primary: { state: 'Attached', before: primaryBefore, applied: { mtuBytes: 1400 } },
    });
  });

  it('gets back what it had, and the record goes after that', () => {
    const primaryBefore = { mtuBytes: 1500, sysctls: { [rpFilter]: '1' } };
    const changed = simulate(planPod(desire([], world, { primary: asked, primaryBefore }), world).steps, world);
    const plan = planPod(desire([], changed, { primaryBefore }), changed);
    const after = simulate(plan.steps, changed);
    expect(eth0(after)).toBe(1500);
    expect(after.pod?.sysctls).toEqual(world.pod?.sysctls);
    expect(plan.primary?.before).toEqual(primaryBefore);
    const last = planPod(desire([], after, { primaryBefore }), after);
    expect(last.steps).toEqual([]);
    expect(last.primary?.before).toBeUndefined();
  });

  it('keeps its first value on record when the wish changes', () => {
    const primaryBefore = { mtuBytes: 1500 };
    const changed = simulate(
      planPod(desire([], world, { primary: { ...asked, sysctls: {} }, primaryBefore }), world).steps,
      world,
    );
    const plan = planPod(
      desire([], changed, { primary: { ...asked, sysctls: {}, mtuBytes: 1300 }, primaryBefore }),
      changed,
    );
    expect(plan).toMatchObject({ recordFirst: false, primary: { before: { mtuBytes: 1500 } } });
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
    ['SettingMissing', { ...asked, sysctls: { 'net.ipv4.conf.nonsense': '1' } }],
  ])('says %s and is left alone', (reason, primary) => {
    expect(planPod(desire([], world, { primary }), world)).toMatchObject({
      steps: [],
      primary: { state: 'Failed', reason },
    });
  });

  it('tells which sysctls to read', () => {
    expect(sysctlsToObserve({ primary: asked }, { sysctls: { 'net.ipv6.conf.accept_ra': '0' } })).toEqual([
      { link: 'eth0', name: rpFilter },
      { link: 'eth0', name: 'net.ipv6.conf.accept_ra' },
    ]);
  });

  it('ends where it began after any series of wishes', () => {
    const anyWish = fc.option(
      fc.record({
        interfaceName: fc.constant('eth0'),
        mtuBytes: fc.option(fc.constantFrom(1300, 1400, 1500), { nil: undefined }),
        sysctls: fc.constantFrom({}, { [rpFilter]: '0' }, { [rpFilter]: '2' }),
        sources: fc.constant(sources),
      }),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(anyWish, fc.boolean()), { maxLength: 6 }), (wishes) => {
        let [now, before] = [world, planPod(desire([], world), world).primary?.before];
        const run = (primary: Parameters<typeof desire>[2], crash = false): void => {
          const recorded = planPod(desire([], now, { ...primary, primaryBefore: before }), now);
          if (recorded.primary) before = recorded.primary.before;
          if (crash) return;
          const plan = planPod(desire([], now, { ...primary, primaryBefore: before }), now);
          now = simulate(plan.steps, now);
        };
        for (const [wish, crash] of wishes) run(wish ? { primary: wish } : {}, crash);
        run({});
        run({});
        expect(eth0(now)).toBe(1500);
        expect(now.pod?.sysctls).toEqual(world.pod?.sysctls);
        expect(planPod(desire([], now, { primaryBefore: before }), now).primary?.before).toBeUndefined();
      }),
    );
  });
});
