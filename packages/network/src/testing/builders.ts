/** For tests: small worlds and wishes with good defaults, and arbitrary ones for properties. */
import type { LinkType, PodInterface, PodNetworkSpec } from '@podloom/api';
import * as fc from 'fast-check';
import { linkTypes } from '../link/types.ts';
import type { DesiredPod } from '../plan/desired.ts';
import { isOurs, podMark } from '../plan/mark.ts';
import { chooseNames } from '../plan/names.ts';
import { emptyNamespace, type Observed, type ObservedLink, type ObservedNamespace } from '../plan/observed.ts';

export const link = (name: string, index: number, more: Partial<ObservedLink> = {}): ObservedLink => ({
  index,
  name,
  group: 0,
  mtuBytes: 1500,
  up: true,
  addrGenMode: 'eui64',
  ...more,
});

export const seen = (node: Partial<ObservedNamespace> = {}, pod: Partial<ObservedNamespace> = {}): Observed => ({
  node: { ...emptyNamespace, ...node },
  pod: { ...emptyNamespace, links: [link('lo', 1), link('eth0', 2, { kind: 'veth', peerIndex: 9 })], ...pod },
});

export const wish = (more: Partial<PodInterface> = {}): PodInterface => ({
  key: 'podconfig/a/pc0',
  namePrefix: 'pc0',
  source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'a' },
  link: { type: 'veth' },
  bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24'], home: 'node' },
  addresses: ['192.168.100.2/24'],
  routes: [],
  ...more,
});

export const podUid = '6f2c7a90-0000-4000-8000-000000000001';

export function desire(
  interfaces: readonly PodInterface[],
  observed: Observed,
  more: Partial<PodNetworkSpec> & Pick<DesiredPod, 'primaryRecord'> = {},
): DesiredPod {
  const { primaryRecord, ...rest } = more;
  const spec = { podUid, interfaces: [...interfaces], ...rest };
  return { namespace: 'cnf-test', spec, names: chooseNames({ spec, pid: 2841804, observed }), primaryRecord };
}

/** Every type that is made, the first one as often as all others together. */
const madeTypes = Object.keys(linkTypes) as LinkType[];
const anyTypes = [...madeTypes, ...madeTypes.slice(1).map(() => madeTypes[0]!)];

/** Few of each, so that wishes often agree, and one interface often asks for what another has had. */
const anyHost = fc.constantFrom(5, 15, 245);
const anyBridge = fc.constantFrom('pcbr0', 'pcbr1');
const anyMtu = fc.constantFrom(undefined, 1400, 1500, 9000);

/** Addresses, MAC and routes have a number of their own in them: two interfaces of a pod never ask for the same. */
const anyWish = (n: number, own: number): fc.Arbitrary<PodInterface> =>
  fc
    .record({
      type: fc.constantFrom(...anyTypes),
      bridge: anyBridge,
      gateway: fc.boolean(),
      hosts: fc.uniqueArray(anyHost, { maxLength: 3 }),
      six: fc.boolean(),
      mtuBytes: anyMtu,
      bridgeMtuBytes: anyMtu,
      mac: fc.option(fc.constant(`02:aa:00:00:00:0${own}`), { nil: undefined }),
      alias: fc.option(fc.constantFrom('uplink', 'blue'), { nil: undefined }),
      route: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      direct: fc.boolean(),
    })
    .map(({ type, bridge, gateway, hosts, six, mtuBytes, bridgeMtuBytes, mac, alias, route, direct }) => {
      const net = bridge === 'pcbr0' ? 100 : 99;
      return wish({
        key: `podconfig/a/pc${n}`,
        namePrefix: `pc${n}`,
        link: { type },
        bridge: {
          name: bridge,
          device: bridge,
          gateways: gateway ? [`192.168.${net}.1/24`, `fd00:${net}::1/64`] : [],
          home: 'node',
          mtuBytes: bridgeMtuBytes,
        },
        addresses: hosts
          .map((host) => `192.168.${net}.${host + own}/24`)
          .concat(six ? [`fd00:${net}::a${own}${hosts.length}/64`] : []),
        mtuBytes,
        macAddress: mac,
        alias,
        routes: [
          // A gateway is within reach only of who has an address in its range.
          ...(route === undefined || hosts.length === 0
            ? []
            : [{ to: `10.${own}.${route}.0/24`, via: `192.168.${net}.1` }]),
          ...(direct ? [{ to: `10.1${own}.0.0/16` }] : []),
          ...(direct && six ? [{ to: `fd00:20${own}::/64`, via: `fd00:${net}::1` }] : []),
        ],
      });
    });

/** Up to three interfaces with distinct keys. */
export const anyWishes: fc.Arbitrary<PodInterface[]> = fc
  .tuple(fc.subarray([0, 1, 2]), fc.shuffledSubarray([0, 1, 2], { minLength: 3 }))
  .chain(([numbers, own]) => fc.tuple(...numbers.map((n, i) => anyWish(n, own[i]!))))
  .map((wishes) => {
    // One bridge has one setting in one PodNetwork: composing sees to that.
    const bridges = new Map(wishes.map(({ bridge }) => [bridge?.name, bridge]));
    return wishes.map((entry) => Object.assign(entry, { bridge: bridges.get(entry.bridge?.name) }));
  });

/** What a pod has, and what it is to have then: something else, some of it moved to another interface, or the same handed round. */
export const anyChange: fc.Arbitrary<[PodInterface[], PodInterface[]]> = fc
  .tuple(anyWishes, anyWishes, fc.option(fc.shuffledSubarray([0, 1, 2], { minLength: 3 })))
  .map(([first, other, order]) => {
    const givers = order?.flatMap((i) => first[i] ?? []);
    const round = givers?.map((giver, i) => {
      const { key, namePrefix } = first[i]!;
      return Object.assign({ ...giver }, { key, namePrefix });
    });
    return [first, round ?? other];
  });

export const rpFilter = 'net.ipv4.conf.rp_filter';

/** Changes of a link that is not ours: of one that is there, of another, or of one that is not. */
const anyPrimary: fc.Arbitrary<PodNetworkSpec['primary']> = fc.option(
  fc
    .record({
      interfaceName: fc.constantFrom('eth0', 'eth0', 'net1', 'none'),
      mtuBytes: fc.constantFrom(undefined, 1300, 1400),
      txQueueLength: fc.constantFrom(undefined, 500),
      sysctls: fc.constantFrom(undefined, { [rpFilter]: '2' }),
      // The first is one that an interface may have, and lose to it.
      routes: fc.subarray([
        { to: '10.10.0.0/16' },
        { to: '10.201.0.0/16', via: '10.128.2.1' },
        { to: 'fd00:300::/64' },
      ]),
    })
    .map((primary) => Object.assign(primary, { sources: [] })),
  { nil: undefined },
);

/** Both. Composing sees to it that a pod has a route once. */
export const anyPod: fc.Arbitrary<[PodInterface[], PodNetworkSpec['primary']]> = fc
  .tuple(anyWishes, anyPrimary)
  .map(([wishes, primary]) => {
    const places = new Set(wishes.flatMap(({ routes }) => routes.map(({ to }) => to)));
    const routes = primary?.routes?.filter(({ to }) => !places.has(to)) ?? [];
    return [wishes, primary && { ...primary, routes }];
  });

/** What others have on the node and in the pod: links, bridges and ports of any name, also of ours, their addresses, routes, filters and entries. */
export const anyForeign: fc.Arbitrary<Observed> = fc
  .record({
    nodeNames: fc.uniqueArray(fc.constantFrom('eth0', 'cni0', 'docker0', 'pcbr1', 'hpc12841804', 'veth1', 'vxlan9'), {
      maxLength: 5,
    }),
    podNames: fc.uniqueArray(fc.constantFrom('net1', 'pc22841804', 'tun0', 'macv0'), { maxLength: 3 }),
    group: fc.constantFrom(0, 7),
    kinds: fc.array(fc.constantFrom('dummy', 'bridge', 'veth'), { minLength: 5, maxLength: 5 }),
    // Whoever copies an alias of ours does not make the link ours.
    alias: fc.constantFrom(undefined, 'uplink', podMark('stranger', 'key'), podMark(podUid, 'podconfig/a/pc1')),
    addresses: fc.boolean(),
    routeTo: fc.constantFrom('0.0.0.0/0', '10.1.1.0/24', '10.0.2.0/24'),
  })
  .map(({ nodeNames, podNames, group, kinds, alias, addresses, routeTo }) => {
    const bridge = kinds.indexOf('bridge');
    const isPort = (i: number): boolean =>
      bridge >= 0 && bridge < nodeNames.length && kinds[i] !== 'bridge' && i % 2 === 0;
    const nodeLinks = nodeNames.map((name, i) =>
      link(name, 10 + i, {
        kind: kinds[i],
        group,
        alias,
        mac: '0e:00:00:00:00:01',
        ...(kinds[i] === 'veth' ? { peerIndex: 20 + i } : {}),
        ...(isPort(i) ? { master: 10 + bridge, portFlags: { learning: true, flood: true } } : {}),
      }),
    );
    const ports = nodeLinks.filter(({ master }) => master !== undefined);
    const podLinks = [
      link('lo', 1),
      link('eth0', 2, { kind: 'veth', peerIndex: 99, txQueueLength: 1000 }),
      ...podNames.map((name, i) =>
        link(name, 20 + i, {
          kind: i % 2 === 0 ? 'veth' : 'dummy',
          group,
          alias,
          txQueueLength: 1000,
          peerIndex: 10 + i,
        }),
      ),
    ];
    return seen(
      {
        links: nodeLinks,
        addresses: addresses ? nodeLinks.map(({ index }) => ({ link: index, address: `192.168.100.${index}/24` })) : [],
        rules: [{ family: 4, priority: 32766, table: 254, protocol: 2 }],
        routes: nodeLinks.slice(0, 1).map(({ index }) => ({
          to: '0.0.0.0/0',
          type: 'unicast',
          table: 254,
          metric: 0,
          protocol: 4,
          via: '10.0.0.1',
          link: index,
        })),
        filters: nodeLinks
          .slice(0, 1)
          .map(({ index }) => ({ link: index, priority: 49001, handle: 1, kind: 'bpf', digest: 'theirs' })),
        fdb: ports.map(({ index }) => ({ link: index, mac: '02:aa:00:00:00:01', pinned: true })),
        sysctls: nodeLinks.map(({ name }) => ({ link: name, name: rpFilter, value: '1' })),
      },
      {
        links: podLinks,
        addresses: [{ link: 2, address: '10.128.2.180/23' }],
        routes: [{ to: routeTo, type: 'unicast', table: 254, metric: 0, protocol: 3, via: '10.128.2.1', link: 2 }],
        sysctls: podLinks.map(({ name }) => ({ link: name, name: rpFilter, value: '1' })),
      },
    );
  });

export interface Meddling {
  readonly ports: readonly string[];
  readonly mtuBytes: number;
  readonly addresses: readonly string[];
  readonly entries: readonly string[];
  readonly pinned: boolean;
  readonly routes: boolean;
  /** All of our links, every second or every third. */
  readonly every: number;
}

export const anyMeddling: fc.Arbitrary<Meddling> = fc.record({
  ports: fc.subarray(['tap0', 'tap1']),
  mtuBytes: fc.constantFrom(1200, 1500, 9000),
  addresses: fc.subarray(['192.168.100.77/24', '10.77.0.1/16', 'fd00:77::1/64']),
  entries: fc.subarray(['0e:77:00:00:00:01', '02:aa:00:00:00:02']),
  pinned: fc.boolean(),
  routes: fc.boolean(),
  every: fc.integer({ min: 1, max: 3 }),
});

/** What others do to a world in which we are at work: ports on our bridges, addresses and entries on our links, routes in our tables. */
export function meddle({ node, pod }: Observed, meddling: Meddling): Observed {
  const { ports, mtuBytes, addresses, entries, pinned, routes, every } = meddling;
  const chosen = (namespace: ObservedNamespace): ObservedLink[] =>
    namespace.links.filter(isOurs).filter((_, i) => i % every === 0);
  const bridges = chosen(node).filter(({ kind }) => kind === 'bridge');
  const taps = ports.flatMap((name, i) => {
    const master = bridges[i % bridges.length]?.index;
    if (master === undefined || node.links.some((other) => other.name === name)) return [];
    return [link(name, 700 + i, { kind: 'tun', mtuBytes, master, portFlags: { learning: true, flood: true } })];
  });
  const addressed = (namespace: ObservedNamespace): ObservedNamespace['addresses'] => [
    ...namespace.addresses,
    ...chosen(namespace).flatMap(({ index }) =>
      addresses
        .filter((address) => !namespace.addresses.some((one) => one.link === index && one.address === address))
        .map((address) => ({ link: index, address })),
    ),
  ];
  const ours = chosen(node).filter(({ master }) => master !== undefined);
  const tables = new Set(routes ? node.rules.flatMap(({ iif, table }) => (iif ? [table] : [])) : []);
  const isNew = ({ link: index, mac }: { link: number; mac: string }): boolean =>
    !node.fdb.some((one) => one.link === index && one.mac === mac);
  return {
    node: {
      ...node,
      links: [...node.links, ...taps],
      addresses: addressed(node),
      routes: [
        ...node.routes,
        ...[...tables].map((table) => ({
          to: '10.77.0.0/16',
          type: 'unreachable' as const,
          table,
          metric: 50,
          protocol: 4,
        })),
      ],
      fdb: [
        ...node.fdb,
        ...[...ours, ...taps]
          .flatMap(({ index }) => entries.map((mac) => ({ link: index, mac, pinned })))
          .filter(isNew),
      ],
    },
    ...(pod ? { pod: { ...pod, addresses: addressed(pod) } } : {}),
  };
}
