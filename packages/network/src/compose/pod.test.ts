import { randomUUID } from 'node:crypto';
import {
  type AdditionalNetwork,
  type Bridge,
  type PodConfig,
  type PodNetworkConfig,
  type PrimaryNetwork,
  additionalNetworkKind,
  bridgeKind,
  networkGrantKind,
  podConfigKind,
  podNetworkConfigKind,
  podNetworkKind,
  podNetworkRoom,
  primaryNetworkKind,
} from '@podloom/api';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selects } from '../source/selects.ts';
import type { PodIdentity, SourceObject } from '../source/source.ts';
import { declaredNetworks } from './declared.ts';
import { bridgeDevices, bridgeNamings, type BridgeNaming, uniqueNamings } from './devices.ts';
import { composePod } from './pod.ts';
import { type Limits, grantsFor } from './refusals.ts';
import { problemsOf, settleNamespace } from './settle.ts';

const pod: PodIdentity = {
  namespace: 'cnf-test',
  name: 'cnf-a',
  uid: 'u',
  nodeName: 'node1',
  labels: { podconfig: 'a', podNetworkConfig: 'b', app: 'cnf' },
};

/** Objects go through their schema: a test cannot ask for what the API server would refuse. */
function object<T>(
  kind: { apiVersion: string; kind: string; parse: (o: unknown) => T },
  name: string,
  age: number,
  spec: unknown,
): T {
  const creationTimestamp = new Date(Date.UTC(2030, 0, 1) - age * 1000).toISOString();
  const metadata = { name, namespace: 'cnf-test', uid: randomUUID(), creationTimestamp };
  return kind.parse({ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec });
}
const podConfig = (name: string, age: number, ...networkAttachments: object[]): PodConfig =>
  object(podConfigKind, name, age, { networkAttachments });
const podNetworkConfig = (name: string, age: number, spec: object): PodNetworkConfig =>
  object(podNetworkConfigKind, name, age, spec);
const additional = (name: string, age: number, spec: object): AdditionalNetwork =>
  object(additionalNetworkKind, name, age, { podSelector: {}, ...spec });
const primary = (name: string, age: number, spec: object): PrimaryNetwork =>
  object(primaryNetworkKind, name, age, { podSelector: {}, ...spec });
const bridge = (name: string, age: number, spec: object): Bridge => object(bridgeKind, name, age, { name, ...spec });

type Sources = Readonly<Record<string, readonly SourceObject[]>>;
const settled = (sources: Sources, limits: Limits = { reserved: [] }) =>
  settleNamespace('cnf-test', Object.values(sources).flat(), limits);
const compose = (identity: PodIdentity, sources: Sources, limits?: Limits) =>
  composePod(identity, settled(sources, limits));
const bridgeConflicts = (sources: Sources) => [...settled(sources).conflicts.values()];

const grant = { apiVersion: networkGrantKind.apiVersion, kind: networkGrantKind.kind, metadata: { name: 'g' } };
const pc0 = { name: 'pc0', linkType: 'veth', master: 'pcbr0', parent: 'pc0', cidr: '192.168.100.0/24' };
const pc1 = { name: 'pc1', linkType: 'veth', master: 'pcbr1', parent: 'pc1', cidr: '192.168.99.0/24' };

const numbered = <T>(count: number, one: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => one(i));
const room = podNetworkRoom;

const problems = (object: SourceObject) => problemsOf(object, settled({ all: [object] })).map((one) => one.message);

describe('composePod', () => {
  it('makes of the sample PodConfig two interfaces on their bridges, each asking for an address', () => {
    const composed = compose(pod, { podConfigs: [podConfig('a', 1, pc0, pc1)] });
    expect(composed.conflicts).toEqual([]);
    expect(composed.interfaces).toEqual([
      {
        interface: {
          key: 'PodConfig/a/pc0',
          namePrefix: 'pc0',
          source: {
            apiVersion: 'podconfig.opdev.io/v1alpha1',
            kind: 'PodConfig',
            namespace: 'cnf-test',
            name: 'a',
            fieldPath: 'spec.networkAttachments[0]',
          },
          link: { type: 'veth' },
          bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24'], home: 'node' },
          routes: [],
        },
        requests: [{ network: 'pcbr0', cidr: '192.168.100.0/24', gateway: '192.168.100.1', exclude: [] }],
      },
      expect.objectContaining({ requests: [expect.objectContaining({ network: 'pcbr1' })] }),
    ]);
  });

  it('gives what a PodNetwork may be', () => {
    const { interfaces } = compose(pod, { podConfigs: [podConfig('a', 1, pc0)] });
    const spec = {
      podUid: 'u',
      nodeName: 'n',
      interfaces: interfaces.map((entry) => entry.interface),
    };
    const whole = { apiVersion: podNetworkKind.apiVersion, kind: 'PodNetwork', metadata: {}, spec };
    expect(() => podNetworkKind.parse(whole)).not.toThrow();
  });

  it.each([
    ['of another label', { ...pod, labels: { podconfig: 'z' } }],
    ['of another namespace', { ...pod, namespace: 'other' }],
    ["on the node's own network", { ...pod, hostNetwork: true }],
  ])('gives nothing to a pod %s', (_, identity) => {
    expect(compose(identity, { podConfigs: [podConfig('a', 1, pc0)] }).interfaces).toEqual([]);
  });

  it('gives nothing for an object that is being deleted', () => {
    const doomed = podConfig('a', 1, pc0);
    const leaving = { ...doomed, metadata: { ...doomed.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
    expect(compose(pod, { podConfigs: [leaving] }).interfaces).toEqual([]);
  });

  it('asks static addresses of the ranges that they lie in, and the next free one of the others', () => {
    const spec = {
      name: 'net1',
      bridge: 'b0',
      cidrs: ['10.0.0.0/24', 'fd00:1::/64'],
      addresses: ['10.0.0.9'],
      exclude: ['fd00:1::/80'],
    };
    const { interfaces } = compose(pod, { additionalNetworks: [additional('x', 1, spec)] });
    expect(interfaces[0]?.requests).toEqual([
      { network: 'b0', cidr: '10.0.0.0/24', gateway: '10.0.0.1', exclude: [], address: '10.0.0.9' },
      { network: 'b0', cidr: 'fd00:1::/64', gateway: 'fd00:1::1', exclude: ['fd00:1::/80'] },
    ]);
  });

  it('takes a name and a prefix of the same letters for two interfaces', () => {
    const keys = [{ name: 'net1' }, { namePrefix: 'net1' }].map(
      (spec) => compose(pod, { additionalNetworks: [additional('x', 1, spec)] }).interfaces[0]?.interface.key,
    );
    expect(keys).toEqual(['AdditionalNetwork/x/name:net1', 'AdditionalNetwork/x/net1']);
  });

  it('takes ranges, gateway and MTU from the Bridge where the attachment has none', () => {
    const sources = {
      podConfigs: [podConfig('a', 1, { name: 'pc0', master: 'br9' })],
      bridges: [bridge('br9', 0, { cidr: '10.9.0.0/24', gateway: '10.9.0.254', mtu: 9000 })],
    };
    const [first] = composePod(pod, settled(sources), { devices: new Map([['cnf-test/br9', 'brhash']]) }).interfaces;
    expect(first?.interface.bridge).toEqual({
      name: 'br9',
      device: 'brhash',
      gateways: ['10.9.0.254/24'],
      home: 'node',
      mtuBytes: 9000,
    });
    expect(first?.requests).toMatchObject([{ cidr: '10.9.0.0/24', gateway: '10.9.0.254' }]);
  });

  it('asks no address for a link without a bridge', () => {
    const { interfaces } = compose(pod, { podConfigs: [podConfig('a', 1, { ...pc0, master: undefined })] });
    expect(interfaces.map(({ requests }) => requests)).toEqual([[]]);
  });

  it('gives the bridge no address where the gateway is None', () => {
    const [first] = compose(pod, { podConfigs: [podConfig('a', 1, { ...pc0, gateway: 'None' })] }).interfaces;
    expect(first?.interface.bridge?.gateways).toEqual([]);
    expect(first?.requests).toMatchObject([{ gateway: null }]);
  });

  it.each([
    ['the same prefix', { networkName: 'pc0', master: 'other' }, 'InterfaceConflict'],
    ['another range on the same bridge', { networkName: 'x', master: 'pcbr0', cidr: '10.0.0.0/24' }, 'BridgeConflict'],
    ['another gateway on the same bridge', { networkName: 'x', master: 'pcbr0', gateway: 'None' }, 'BridgeConflict'],
    [
      'the same static address',
      { networkName: 'x', master: 'pcbr0', cidr: pc0.cidr, addresses: ['192.168.100.7'] },
      'AddressConflict',
    ],
    [
      'the same route, however it is written',
      {
        networkName: 'x',
        master: 'other',
        cidr: '10.1.0.0/24',
        routes: [{ to: 'FD00:9:0::/48', metric: 1024 }],
      },
      'RouteConflict',
    ],
  ])('lets the older have it when two want %s, and names it to the younger', (_, attachment, reason) => {
    const older = podConfig('a', 10, { ...pc0, addresses: ['192.168.100.7'], routes: [{ to: 'fd00:9::/48' }] });
    const younger = podNetworkConfig('b', 5, { additionalNetworks: [attachment] });
    const { interfaces, conflicts } = compose(pod, { podConfigs: [older], podNetworkConfigs: [younger] });
    expect(interfaces.map((entry) => entry.interface.key)).toEqual(['PodConfig/a/pc0']);
    expect(conflicts).toMatchObject([
      { reason, loser: { kind: 'PodNetworkConfig', name: 'b' }, winner: { kind: 'PodConfig', name: 'a' } },
    ]);
    expect(conflicts[0]?.message).toContain('PodConfig a');
  });

  it('goes by kind and name where several were made within one second', () => {
    const spec = { name: 'net1', bridge: 'pcbr0', cidr: '10.1.0.0/24' };
    const additionalNetworks = [additional('z', 5, spec), additional('b', 5, spec)];
    const { interfaces, conflicts } = compose(pod, { podConfigs: [podConfig('a', 5, pc0)], additionalNetworks });
    expect(interfaces.map((entry) => entry.interface.source.name)).toEqual(['b']);
    expect(conflicts.map(({ loser, winner }) => [loser.name, winner.name])).toEqual([
      ['z', 'b'],
      ['a', 'b'],
    ]);
  });

  it.each([
    ['First', undefined, true],
    [undefined, 'First', true],
    ['None', undefined, true],
    ['None', 'First', false],
    ['First', 'None', false],
    [undefined, 'None', false],
  ])('of a bridge whose gateway is %s, who asks for %s has an interface: %s', (has, asks, isServed) => {
    const podConfigs = [podConfig('a', 10, { ...pc0, gateway: has })];
    const attachment = { networkName: 'x', master: 'pcbr0', cidr: pc0.cidr, gateway: asks };
    const podNetworkConfigs = [podNetworkConfig('b', 5, { additionalNetworks: [attachment] })];
    const { interfaces, conflicts } = compose(pod, { podConfigs, podNetworkConfigs });
    expect(interfaces).toHaveLength(isServed ? 2 : 1);
    expect(conflicts.map(({ reason }) => reason)).toEqual(isServed ? [] : ['BridgeConflict']);
    const gateways = has === 'None' ? [] : ['192.168.100.1/24'];
    for (const entry of interfaces) expect(entry.interface.bridge?.gateways).toEqual(gateways);
  });

  it('tells a younger Bridge that an attachment decided otherwise', () => {
    const sources = { podConfigs: [podConfig('a', 9, pc0)], bridges: [bridge('pcbr0', 1, { cidr: '10.0.0.0/8' })] };
    expect(bridgeConflicts(sources)).toMatchObject([{ loser: { kind: 'Bridge' }, winner: { kind: 'PodConfig' } }]);
  });

  it.each([
    [
      'the younger Bridge',
      [bridge('jumbo', 9, { name: 'br9', mtu: 9000 }), bridge('small', 5, { name: 'br9', mtu: 1400 })],
    ],
    [
      'whoever loses the range, too',
      [
        bridge('jumbo', 9, { name: 'br9', cidr: '10.9.0.0/24', mtu: 9000 }),
        bridge('small', 5, { name: 'br9', cidr: '10.8.0.0/24', mtu: 1400 }),
      ],
    ],
  ])('tells %s that the bridge has another MTU', (_, bridges) => {
    const sources = { bridges, podConfigs: [podConfig('a', 1, { name: 'pc0', master: 'br9' })] };
    expect(bridgeConflicts(sources)).toMatchObject([
      { reason: 'BridgeConflict', loser: { name: 'small' }, winner: { name: 'jumbo' } },
    ]);
    expect(compose(pod, sources).interfaces[0]?.interface.bridge?.mtuBytes).toBe(9000);
  });

  it('hands out nothing that is excluded by the Bridge whose range it is, whoever has the MTU', () => {
    const bridges = [
      bridge('jumbo', 9, { name: 'br9', mtu: 9000 }),
      bridge('small', 5, { name: 'br9', mtu: 1400, cidr: '10.9.0.0/24', exclude: ['10.9.0.0/25'] }),
    ];
    const { interfaces } = compose(pod, {
      bridges,
      podConfigs: [podConfig('a', 1, { name: 'pc0', master: 'br9' })],
    });
    expect(interfaces[0]?.requests).toMatchObject([{ cidr: '10.9.0.0/24', exclude: ['10.9.0.0/25'] }]);
  });

  it.each([
    [9, 5, { loser: { kind: 'PrimaryNetwork' }, winner: { kind: 'PodConfig' } }],
    [5, 9, { loser: { kind: 'PodConfig' }, winner: { kind: 'PrimaryNetwork' } }],
  ])('lets the older have a route that a link and the primary link want (%i, %i)', (linkAge, primaryAge, conflict) => {
    const routes = [{ to: '10.7.0.0/16' }];
    const {
      interfaces,
      primary: merged,
      conflicts,
    } = compose(pod, {
      podConfigs: [podConfig('a', linkAge, { ...pc0, routes })],
      primaryNetworks: [primary('p', primaryAge, { routes })],
    });
    expect(conflicts).toMatchObject([{ reason: 'RouteConflict', ...conflict }]);
    expect([interfaces.length, merged?.sources.length ?? 0]).toEqual(linkAge > primaryAge ? [1, 0] : [0, 1]);
  });

  it.each([
    ['8.8.8.0/24', 'First', [], 'NotGranted'],
    ['8.8.8.0/24', 'First', ['8.8.0.0/16'], undefined],
    ['8.8.8.0/24', 'None', [], undefined],
    ['2600::/64', 'First', [], 'NotGranted'],
    ['172.31.0.0/16', 'First', [], undefined],
  ])(
    'gives a node %s with gateway %s, granted %j, only where it takes nothing from others',
    (cidr, gateway, cidrs, reason) => {
      const grants = [{ ...grant, spec: { namespaces: {}, cidrs } }];
      const podConfigs = [podConfig('a', 1, { ...pc0, cidr, gateway })];
      const { interfaces, problems } = compose(pod, { podConfigs }, { reserved: [], grants });
      expect(problems[0]?.reason).toBe(reason);
      expect(interfaces).toHaveLength(reason === undefined ? 1 : 0);
    },
  );

  it('reads no object whose texts mean nothing, and says which text it is', () => {
    const good = podConfig('a', 1, pc0);
    const bad = { ...good, spec: { networkAttachments: [{ ...pc0, cidr: '10.0.0/24' }] } } as PodConfig;
    expect(problems(good)).toEqual([]);
    expect(problems(bad)).toEqual([expect.stringContaining('"10.0.0/24"')]);
    expect(compose(pod, { podConfigs: [bad] }).interfaces).toEqual([]);
    const routed = primary('p', 1, { routes: [{ to: '10.7.0.0/16' }] });
    expect(problems(routed)).toEqual([]);
    const routes = ['10.0.0.1', '10.0.0.2'].map((via) => ({ to: '10.7.0.0/16', via }));
    const twice = { ...routed, spec: { ...routed.spec, routes } };
    expect(problems(twice)).toEqual([expect.stringContaining('Two routes lead to 10.7.0.0/16 with metric 0')]);
  });

  it('joins changes of the primary link and refuses a second MTU', () => {
    const sources = {
      podNetworkConfigs: [podNetworkConfig('b', 9, { eth0: { mtu: 1400 } })],
      primaryNetworks: [
        primary('queue', 5, { txQueueLength: 500, sysctls: { 'net.ipv4.conf.rp_filter': '2' } }),
        primary('rival', 4, { mtuBytes: 9000 }),
      ],
    };
    const composed = compose(pod, sources);
    expect(composed.primary).toMatchObject({ interfaceName: 'eth0', mtuBytes: 1400, txQueueLength: 500 });
    expect(composed.primary?.sources.map(({ name }) => name)).toEqual(['b', 'queue']);
    expect(composed.conflicts).toMatchObject([
      { reason: 'PrimaryConflict', loser: { name: 'rival' }, winner: { name: 'b' } },
    ]);
  });

  it.each([
    [
      'interfaces',
      room.interfaces,
      { additionalNetworks: numbered(room.interfaces + 1, (i) => additional(`n${i}`, 99 - i, { name: `net${i}` })) },
    ],
    [
      'objects',
      room.primarySources,
      { primaryNetworks: numbered(room.primarySources + 1, (i) => primary(`n${i}`, 99 - i, { mtuBytes: 1400 })) },
    ],
    [
      'settings',
      room.sysctls,
      {
        primaryNetworks: numbered(2, (i) =>
          primary(`n${i}`, 99 - i, {
            sysctls: Object.fromEntries(numbered(room.sysctls / 2 + 1, (j) => [`net.ipv4.conf.s${i}_${j}`, '1'])),
          }),
        ),
      },
    ],
    [
      'routes',
      room.routes,
      {
        primaryNetworks: numbered(3, (i) =>
          primary(`n${i}`, 99 - i, {
            routes: numbered(i < 2 ? room.routes / 2 : 1, (j) => ({ to: `10.${i}.${j}.0/24` })),
          }),
        ),
      },
    ],
  ])('leaves out the youngest where there are more %s than a PodNetwork has room for', (what, most, sources) => {
    const { interfaces, primary: merged, conflicts } = compose(pod, sources);
    const all = Object.values(sources).flat();
    const names = all.map(({ metadata }) => metadata.name);
    expect(conflicts).toMatchObject([{ loser: { name: names.at(-1) }, winner: { name: names.at(-2) } }]);
    expect(conflicts[0]?.message).toContain(`${most} ${what}`);
    expect([...interfaces, ...(merged?.sources ?? [])]).toHaveLength(all.length - 1);
  });

  it('takes two routes for the same where the kernel does: an IPv6 metric of 0 is none', () => {
    const primaryNetworks = [
      primary('a', 9, { routes: [{ to: 'fd00:9::/64', via: 'fe80::1' }] }),
      primary('b', 5, { routes: [{ to: 'fd00:9::/64', via: 'fe80::2', metric: 0 }] }),
    ];
    expect(compose(pod, { primaryNetworks }).conflicts).toMatchObject([{ loser: { name: 'b' } }]);
  });
});

/** A range of the network of that number, an address in it, and a second one that several may want. */
const anyRange = fc.record({
  net: fc.nat(1),
  hasRange: fc.boolean(),
  six: fc.boolean(),
  gateway: fc.constantFrom(undefined, undefined, 'First', 'None', 'given'),
  exclude: fc.boolean(),
});
const rangeSpec = ({ net, hasRange, six, gateway, exclude }: RangeDraw): object => ({
  ...(hasRange ? { cidrs: [`10.0.${net}.0/24`, ...(six ? [`fd00:${net}::/64`] : [])] } : {}),
  ...(gateway === 'given' ? (hasRange ? { gateway: `10.0.${net}.254` } : {}) : gateway ? { gateway } : {}),
  ...(exclude && hasRange ? { exclude: [`10.0.${net}.128/25`] } : {}),
});
type RangeDraw = typeof anyRange extends fc.Arbitrary<infer T> ? T : never;

const anyRoutes = fc.subarray([{ to: '10.7.0.0/16' }, { to: '10.8.0.0/16', metric: 5 }, { to: 'FD00:9:0::/48' }]);
const anyLink = fc
  .record({
    range: anyRange,
    bridge: fc.constantFrom('b0', 'b1'),
    host: fc.constantFrom(undefined, undefined, 7, 8),
    mtu: fc.constantFrom(undefined, 1400, 9000),
    routes: anyRoutes,
  })
  .map(({ range, bridge: name, host, mtu, routes }) => ({
    range: rangeSpec(range),
    bridge: name,
    mtu,
    more: {
      ...(host === undefined || !range.hasRange ? {} : { addresses: [`10.0.${range.net}.${host}`] }),
      ...(routes.length === 0 ? {} : { routes }),
    },
  }));
const anyNamedLinks = fc
  .uniqueArray(fc.tuple(fc.constantFrom('pc0', 'pc1', 'pc2'), anyLink), { selector: ([name]) => name, maxLength: 3 })
  .map((links) =>
    links.map(([name, { range, bridge: master, mtu, more }]) => ({ name, ...range, master, mtu, ...more })),
  );

/** Few ages, so that several are equal. Objects are made when they are drawn, and made once more with other uids. */
const anyAge = fc.nat(2);
const several = <T>(names: readonly string[], spec: fc.Arbitrary<T>) =>
  fc
    .subarray([...names])
    .chain((chosen) => fc.tuple(...chosen.map((name) => fc.record({ name: fc.constant(name), age: anyAge, spec }))));
const anyDeclared = fc.record({
  podConfigs: several(['a', 'c'], anyNamedLinks),
  podNetworkConfigs: several(
    ['b', 'd'],
    fc.record({ links: anyNamedLinks, mtu: fc.constantFrom(undefined, 1300, 1400) }),
  ),
  additionalNetworks: several(
    ['n0', 'n1', 'n2'],
    fc.record({ name: fc.constantFrom('pc0', 'net1', 'net2'), isPrefix: fc.boolean(), link: anyLink }),
  ),
  primaryNetworks: several(
    ['p0', 'p1'],
    fc.record({
      mtuBytes: fc.constantFrom(undefined, 1300, 1400),
      txQueueLength: fc.constantFrom(undefined, 500, 900),
      sysctls: fc.constantFrom(undefined, { 'net.ipv4.conf.rp_filter': '2' }, { 'net.ipv4.conf.rp_filter': '0' }),
      routes: anyRoutes,
    }),
  ),
  bridges: several(
    ['x0', 'x1', 'x2'],
    fc.record({ name: fc.constantFrom('b0', 'b1'), range: anyRange, mtu: fc.constantFrom(undefined, 1400, 9000) }),
  ),
});
type Declared = typeof anyDeclared extends fc.Arbitrary<infer T> ? T : never;

const made = (declared: Declared): Sources => ({
  podConfigs: declared.podConfigs.map(({ name, age, spec }) => podConfig(name, age, ...spec)),
  podNetworkConfigs: declared.podNetworkConfigs.map(({ name, age, spec: { links, mtu } }) =>
    podNetworkConfig(name, age, {
      ...(mtu === undefined ? {} : { eth0: { mtu } }),
      additionalNetworks: links.map(({ name: networkName, ...link }) => ({ networkName, ...link })),
    }),
  ),
  additionalNetworks: declared.additionalNetworks.map(({ name, age, spec: { name: own, isPrefix, link } }) =>
    additional(name, age, {
      ...(isPrefix ? { namePrefix: own } : { name: own }),
      ...link.range,
      bridge: link.bridge,
      mtuBytes: link.mtu,
      ...link.more,
    }),
  ),
  primaryNetworks: declared.primaryNetworks.map(({ name, age, spec }) => primary(name, age, spec)),
  bridges: declared.bridges.map(({ name, age, spec: { name: device, range, mtu } }) =>
    bridge(name, age, { name: device, ...rangeSpec(range), mtu }),
  ),
});

const shuffledLists = (declared: Declared): fc.Arbitrary<Declared> =>
  fc.record(
    Object.fromEntries(
      Object.entries(declared).map(([kind, list]) => [
        kind,
        fc.shuffledSubarray(list as unknown[], { minLength: list.length }),
      ]),
    ),
  ) as unknown as fc.Arbitrary<Declared>;

const asTexts = (entries: Iterable<unknown>): string[] => Array.from(entries, (one) => JSON.stringify(one)).toSorted();

const sides = ([one, other]: readonly [Declared, Declared]) => [made(one), made(other)] as const;

/** What the bridges of the namespace are like, without what no one sees. */
const shown = (sources: Sources): string[][] => [
  asTexts(bridgeConflicts(sources)),
  asTexts([...settled(sources).bridges].map(([name, { owner, ...rest }]) => [name, owner.ref, rest])),
  asTexts(bridgeDevices(bridgeNamings(settled(sources)))),
  asTexts(declaredNetworks(settled(sources))),
];

describe('the same objects in another order, with other uids', () => {
  const twice = anyDeclared.chain((declared) => fc.tuple(fc.constant(declared), shuffledLists(declared)));

  it('give a pod the same, and tell the same ones why not', () => {
    const told = new Set<string>();
    fc.assert(
      fc.property(twice, (declared) => {
        const [one, other] = sides(declared);
        const composed = compose(pod, one);
        expect(compose(pod, other)).toEqual(composed);
        for (const { reason } of composed.conflicts) told.add(reason);
      }),
      { numRuns: 1000 },
    );
    expect([...told].toSorted()).toEqual([
      'AddressConflict',
      'BridgeConflict',
      'InterfaceConflict',
      'PrimaryConflict',
      'RouteConflict',
    ]);
  });

  it('give bridges the same owners, settings, device names and losers, and the namespace the same networks', () => {
    let lost = 0;
    fc.assert(
      fc.property(twice, (declared) => {
        const [one, other] = sides(declared);
        expect(shown(other)).toEqual(shown(one));
        lost += bridgeConflicts(one).length;
      }),
      { numRuns: 500 },
    );
    expect(lost).toBeGreaterThan(100);
  });
});

const naming = (namespace: string, since: number, more: Partial<BridgeNaming> = {}): BridgeNaming => ({
  namespace,
  bridge: 'pcbr0',
  since: `2030-01-0${since}T00:00:00Z`,
  ...more,
});

describe('bridgeDevices', () => {
  it('gives the plain name to the oldest namespace and hashed ones to the others', () => {
    const devices = bridgeDevices([naming('young', 2), naming('old', 1)]);
    expect(devices.get('old/pcbr0')).toBe('pcbr0');
    expect(devices.get('young/pcbr0')).toMatch(/^br[0-9a-f]{12}$/);
  });

  it('leaves a bridge that is in use its name, also when an older one goes or comes', () => {
    const devices = bridgeDevices([naming('young', 2, { device: 'pcbr0' }), naming('old', 1)]);
    expect(devices.get('young/pcbr0')).toBe('pcbr0');
    expect(devices.get('old/pcbr0')).not.toBe('pcbr0');
  });

  it('never gives one device to two, whatever the order', () => {
    const anyNaming = fc.record({
      namespace: fc.constantFrom('a', 'b', 'c'),
      bridge: fc.constantFrom('x', 'y', bridgeDevices([naming('a', 1), naming('b', 2)]).get('b/pcbr0')!),
      since: fc.constantFrom('2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'),
      device: fc.option(fc.constantFrom('x', 'z'), { nil: undefined }),
    });
    const any = fc
      .array(anyNaming)
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(any, ([one, other]) => {
        const devices = bridgeDevices(one);
        expect(new Set(devices.values()).size).toBe(devices.size);
        expect(Object.fromEntries(bridgeDevices(other))).toEqual(Object.fromEntries(devices));
        // Nor whether each namespace was looked at for itself before.
        const kept = Map.groupBy(one, ({ namespace }) => namespace)
          .values()
          .flatMap(uniqueNamings)
          .toArray();
        expect(Object.fromEntries(bridgeDevices(kept))).toEqual(Object.fromEntries(devices));
      }),
    );
  });
});

const granted = (namespaces: object) => ({ ...grant, spec: { namespaces, devices: ['eth1'] } });

describe('grantsFor', () => {
  const all = [
    granted({ names: ['here'] }),
    granted({ selector: { matchLabels: { tier: 'a' } } }),
    granted({ selector: { matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] } }),
  ];

  it.each([
    ['whose labels are unknown, what names it', undefined, [true, false, false]],
    ['without labels, what says so, too', {}, [true, false, true]],
    ['with the labels asked for, all', { tier: 'a' }, [true, true, true]],
  ])('finds for a namespace %s', (_, labels, found) => {
    const grants = grantsFor('here', labels, all);
    expect(all.map((one) => grants.includes(one))).toEqual(found);
  });
});

describe('selects', () => {
  it.each([
    [{}, true],
    [{ matchLabels: { app: 'cnf' } }, true],
    [{ matchLabels: { app: 'other' } }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'In' as const, values: ['cnf'] }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'In' as const, values: ['other'] }] }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn' as const, values: ['cnf'] }] }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn' as const, values: ['other'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn' as const, values: ['x'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'Exists' as const }] }, false],
    [{ matchExpressions: [{ key: 'toString', operator: 'DoesNotExist' as const }] }, true],
  ])('%j: %s', (selector, chosen) => {
    expect(selects(selector, pod.labels)).toBe(chosen);
  });
});
