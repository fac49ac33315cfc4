import {
  type Kind,
  type NetworkGrant,
  additionalNetworkKind,
  bridgeKind,
  networkGrantKind,
  podConfigKind,
  primaryNetworkKind,
} from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rangeOf } from '../address.ts';
import type { SourceObject } from '../source/source.ts';
import { bridgeDevices, bridgeNamings } from './devices.ts';
import { composePod } from './pod.ts';
import { type Limits, overlaps } from './refusals.ts';
import { problemsOf, settleNamespace } from './settle.ts';

const pod = { namespace: 'ns', name: 'p', uid: 'u', nodeName: 'n1', labels: {} };

/** The smaller the age, the younger. */
const object = ({ apiVersion, kind, parse }: Kind, name: string, age: number, spec: object, namespace = 'ns') => {
  const creationTimestamp = new Date(Date.UTC(2030, 0, 1) - age * 1000).toISOString();
  return parse({ apiVersion, kind, metadata: { name, namespace, creationTimestamp }, spec }) as SourceObject;
};
const link = (name: string, age: number, spec: object): SourceObject =>
  object(additionalNetworkKind, name, age, { podSelector: {}, ...spec });
const tuned = (name: string, age: number, spec: object): SourceObject =>
  object(primaryNetworkKind, name, age, { podSelector: {}, ...spec });

const reserved = ['10.96.0.0/12'];
const grantOf = (spec: Partial<NetworkGrant['spec']>): NetworkGrant => ({
  apiVersion: networkGrantKind.apiVersion,
  kind: networkGrantKind.kind,
  metadata: { name: 'g' },
  spec: { namespaces: {}, ...spec },
});

const had = (objects: readonly SourceObject[], limits: Limits) => {
  const { interfaces, conflicts, problems } = composePod(pod, settleNamespace('ns', objects, limits));
  return {
    has: interfaces.map((one) => one.interface.source.name),
    lost: conflicts.map(({ loser }) => loser.name),
    refused: problems.map(({ ref, reason }) => `${ref.name} ${reason}`),
  };
};

describe('an older object whose range the namespace may not have', () => {
  it.each([
    ['the name of a link', { name: 'net1', bridge: 'b0' }, { name: 'net1', bridge: 'b1', cidr: '10.1.0.0/24' }],
    ['a bridge', { name: 'net0', bridge: 'b0' }, { name: 'net1', bridge: 'b0', cidr: '10.1.0.0/24' }],
    [
      'a route',
      { name: 'net0', bridge: 'b0', routes: [{ to: '10.7.0.0/16' }] },
      { name: 'net1', bridge: 'b1', cidr: '10.1.0.0/24', routes: [{ to: '10.7.0.0/16' }] },
    ],
  ])('takes %s from no younger one', (_, older, younger) => {
    const objects = [link('older', 9, { ...older, cidr: '10.100.0.0/24' }), link('younger', 5, younger)];
    expect(had(objects, { reserved })).toEqual({ has: ['younger'], lost: [], refused: ['older RangeReserved'] });
    expect(had(objects, { reserved: [] }).has).toContain('older');
  });

  it('takes no device name from another namespace', () => {
    const spec = { name: 'net0', bridge: 'b0', podSelector: {} };
    const older = object(additionalNetworkKind, 'older', 9, { ...spec, cidr: '10.100.0.0/24' });
    const younger = object(additionalNetworkKind, 'younger', 5, { ...spec, cidr: '10.1.0.0/24' }, 'other');
    const devices = bridgeDevices(
      ['ns', 'other'].flatMap((one) => bridgeNamings(settleNamespace(one, [older, younger], { reserved }))),
    );
    expect(Object.fromEntries(devices)).toEqual({ 'other/b0': 'b0' });
  });
});

describe('an older object whose device of the node was not granted', () => {
  const older = link('older', 9, { name: 'net1', linkType: 'macvlan', parent: 'eth1' });
  const younger = link('younger', 5, { name: 'net1', bridge: 'b1', cidr: '10.1.0.0/24' });

  it('takes its name from no younger one', () => {
    const { has, refused } = had([older, younger], { reserved, grants: [grantOf({ cidrs: ['8.8.8.0/24'] })] });
    expect([has, refused]).toEqual([['younger'], ['older NotGranted']]);
  });

  it('has it once that is granted', () => {
    const { has, lost } = had([older, younger], { reserved, grants: [grantOf({ devices: ['eth1'] })] });
    expect([has, lost]).toEqual([['older'], ['younger']]);
  });
});

describe('an older PrimaryNetwork with a setting that was not granted', () => {
  const [plain, proxyArp] = ['net.ipv4.conf.rp_filter', 'net.ipv4.conf.proxy_arp'];
  const older = tuned('older', 9, { mtuBytes: 1300, sysctls: { [plain]: '2', [proxyArp]: '1' } });
  const younger = tuned('younger', 5, { mtuBytes: 1400, sysctls: { [plain]: '0' } });
  const primaryOf = (limits: Limits) => {
    const { primary, problems, conflicts } = composePod(pod, settleNamespace('ns', [older, younger], limits));
    return { primary, problems, lost: conflicts.map(({ loser }) => loser.name) };
  };

  it('has nothing of what it asks for, and keeps no younger one from it', () => {
    const { primary, problems, lost } = primaryOf({ reserved, grants: [grantOf({ primarySysctls: [plain] })] });
    expect(primary).toMatchObject({ mtuBytes: 1400, sysctls: { [plain]: '0' }, sources: [{ name: 'younger' }] });
    expect(primary).not.toHaveProperty('grantedSysctls');
    expect(lost).toEqual([]);
    expect(problems).toMatchObject([{ ref: { name: 'older' }, reason: 'NotGranted' }]);
    expect(problems[0]?.message).toContain(`${proxyArp} only by a NetworkGrant`);
  });

  it.each([
    ['once all of it is granted, by several grants', [{ primarySysctls: [proxyArp] }, { devices: ['eth1'] }]],
    ['where grants cannot be read', undefined],
  ])('has it %s, and the PodNetwork says what is granted', (_, grants) => {
    const { primary, problems, lost } = primaryOf({ reserved, grants: grants?.map(grantOf) });
    expect(primary).toMatchObject({ mtuBytes: 1300, grantedSysctls: [proxyArp], sources: [{ name: 'older' }] });
    expect([problems, lost]).toEqual([[], ['younger']]);
  });
});

describe('a Bridge that may not have its range', () => {
  const refused = object(bridgeKind, 'refused', 9, { name: 'b0', cidr: '8.8.8.0/24' });
  const bare = link('bare', 5, { name: 'net1', bridge: 'b0' });
  const ranged = link('ranged', 1, { name: 'net2', bridge: 'b0', cidr: '10.1.0.0/24' });
  const limits = { reserved, grants: [] };

  it('says so, and a link that would have its addresses is refused with it rather than left without', () => {
    const settled = settleNamespace('ns', [refused, bare], limits);
    expect(problemsOf(refused, settled)).toMatchObject([{ ref: { kind: 'Bridge' }, reason: 'NotGranted' }]);
    expect(had([refused, bare], limits)).toEqual({ has: [], lost: [], refused: ['bare NotGranted'] });
    expect(bridgeNamings(settled)).toEqual([]);
  });

  it('leaves the bridge to who has a range for it', () => {
    expect(had([refused, bare, ranged], limits)).toEqual({ has: ['bare', 'ranged'], lost: [], refused: [] });
  });

  it('is no obstacle to an older Bridge that asks for the same range without a gateway', () => {
    const none = object(bridgeKind, 'none', 10, { name: 'b0', cidr: '8.8.8.0/24', gateway: 'None' });
    const settled = settleNamespace('ns', [refused, none, bare], limits);
    expect(problemsOf(refused, settled)).toEqual([]);
    expect(had([refused, none, bare], limits).has).toEqual(['bare']);
  });
});

it('finds a reserved range that another overlaps, among any number of them', () => {
  const anyRange = fc
    .tuple(fc.nat(255), fc.nat(255), fc.integer({ min: 8, max: 30 }))
    .map(([x, y, length]) => rangeOf(`10.${x}.${y}.0/${length}`));
  fc.assert(
    fc.property(fc.array(anyRange, { maxLength: 8 }), anyRange, (all, cidr) => {
      const one = object(bridgeKind, 'b', 1, { name: 'b0', cidr, gateway: 'None' });
      const [problem] = problemsOf(one, settleNamespace('ns', [one], { reserved: all }));
      const rivals = all.filter((other) => overlaps(other, cidr));
      expect(problem !== undefined).toBe(rivals.length > 0);
      expect(problem === undefined || rivals.some((rival) => problem.message.includes(`overlaps ${rival},`))).toBe(
        true,
      );
    }),
  );
});

describe('a gateway that is an edge of its range', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255'],
    ['192.168.100.0/24', '192.168.100.0'],
    ['10.0.0.4/30', '10.0.0.7'],
  ])('makes the object of %s with gateway %s unreadable', (cidr, gateway) => {
    const one = object(bridgeKind, 'b', 1, { name: 'b0', cidr, gateway });
    expect(problemsOf(one, settleNamespace('ns', [one], { reserved }))).toMatchObject([
      { reason: 'InvalidSpec', message: expect.stringContaining(`The gateway ${gateway} is the network or broadcast`) },
    ]);
  });

  it.each([
    ['10.0.0.6/31', '10.0.0.6'],
    ['10.0.0.6/31', '10.0.0.7'],
    ['fd00::/64', 'fd00::'],
    ['10.0.0.0/16', '10.0.7.255'],
  ])('is none of %s with gateway %s', (cidr, gateway) => {
    const one = object(bridgeKind, 'b', 1, { name: 'b0', cidr, gateway });
    expect(problemsOf(one, settleNamespace('ns', [one], { reserved }))).toEqual([]);
  });
});

it('knows nothing of objects of other namespaces', () => {
  const there = object(podConfigKind, 'a', 1, { networkAttachments: [{ name: 'pc0', master: 'b0' }] }, 'there');
  expect(settleNamespace('ns', [there], { reserved }).objects.size).toBe(0);
});
