/** For tests: small worlds and wishes with good defaults, and arbitrary ones for properties. */
import type { PodInterface, PodNetworkSpec } from '@podloom/api';
import * as fc from 'fast-check';
import type { DesiredPod } from './desired.ts';
import { chooseNames } from './names.ts';
import { emptyNamespace, type Observed, type ObservedLink, type ObservedNamespace } from './observed.ts';

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
  linkType: 'veth',
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

const anyHost = fc.integer({ min: 2, max: 250 });
const anyBridge = fc.constantFrom('pcbr0', 'pcbr1');
/** Few, so that wishes often agree. */
const anyMtu = fc.constantFrom(undefined, 1400, 1500, 9000);

const anyWish = (n: number): fc.Arbitrary<PodInterface> =>
  fc
    .record({
      bridge: anyBridge,
      gateway: fc.boolean(),
      hosts: fc.uniqueArray(anyHost, { maxLength: 3 }),
      six: fc.boolean(),
      mtuBytes: anyMtu,
      bridgeMtuBytes: anyMtu,
      mac: fc.option(fc.constant(`02:aa:00:00:00:0${n}`), { nil: undefined }),
      alias: fc.option(fc.constantFrom('uplink', 'blue'), { nil: undefined }),
      route: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      direct: fc.boolean(),
    })
    .map(({ bridge, gateway, hosts, six, mtuBytes, bridgeMtuBytes, mac, alias, route, direct }) => {
      const net = bridge === 'pcbr0' ? 100 : 99;
      return wish({
        key: `podconfig/a/pc${n}`,
        namePrefix: `pc${n}`,
        bridge: {
          name: bridge,
          device: bridge,
          gateways: gateway ? [`192.168.${net}.1/24`, `fd00:${net}::1/64`] : [],
          home: 'node',
          mtuBytes: bridgeMtuBytes,
        },
        // The interface's number in the address: two interfaces of a pod never have the same one.
        addresses: hosts
          .map((host) => `192.168.${net}.${host - (host % 5) + n}/24`)
          .filter((a, i, all) => all.indexOf(a) === i)
          .concat(six ? [`fd00:${net}::a${n}${hosts.length}/64`] : []),
        mtuBytes,
        macAddress: mac,
        alias,
        routes: [
          // A gateway is within reach only of who has an address in its range.
          ...(route === undefined || hosts.length === 0
            ? []
            : [{ to: `10.${n}.${route}.0/24`, via: `192.168.${net}.1` }]),
          ...(direct ? [{ to: `10.1${n}.0.0/16` }] : []),
          ...(direct && six ? [{ to: `fd00:20${n}::/64`, via: `fd00:${net}::1` }] : []),
        ],
      });
    });

/** Up to three interfaces with distinct keys. */
export const anyWishes: fc.Arbitrary<PodInterface[]> = fc
  .subarray([0, 1, 2])
  .chain((numbers) => fc.tuple(...numbers.map(anyWish)))
  .map((wishes) => {
    // One bridge has one setting in one PodNetwork: composing sees to that.
    const bridges = new Map(wishes.map(({ bridge }) => [bridge?.name, bridge]));
    return wishes.map((entry) => Object.assign(entry, { bridge: bridges.get(entry.bridge?.name) }));
  });

/** What others have on the node and in the pod: links of any name but ours, their addresses and routes. */
export const anyForeign: fc.Arbitrary<Observed> = fc
  .record({
    nodeNames: fc.uniqueArray(fc.constantFrom('eth0', 'cni0', 'docker0', 'pcbr1', 'hpc12841804', 'veth1', 'vxlan9'), {
      maxLength: 5,
    }),
    podNames: fc.uniqueArray(fc.constantFrom('net1', 'pc22841804', 'tun0', 'macv0'), { maxLength: 3 }),
    group: fc.constantFrom(0, 7),
    alias: fc.constantFrom(undefined, 'uplink', 'podloom pod stranger key'),
    addresses: fc.boolean(),
    routeTo: fc.constantFrom('0.0.0.0/0', '10.1.1.0/24', '10.0.2.0/24'),
  })
  .map(({ nodeNames, podNames, group, alias, addresses, routeTo }) => {
    const nodeLinks = nodeNames.map((name, i) =>
      link(name, 10 + i, { kind: 'dummy', group, alias, mac: '0e:00:00:00:00:01' }),
    );
    const podLinks = [link('lo', 1), link('eth0', 2, { kind: 'veth', peerIndex: 99 })].concat(
      podNames.map((name, i) => link(name, 20 + i, { kind: 'dummy', group, alias })),
    );
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
        fdb: [],
      },
      {
        links: podLinks,
        addresses: [{ link: 2, address: '10.128.2.180/23' }],
        routes: [{ to: routeTo, type: 'unicast', table: 254, metric: 0, protocol: 3, via: '10.128.2.1', link: 2 }],
      },
    );
  });
