/** What the API server must accept: every manifest of the projects that we replace, and the edges of what is allowed. */
import { linkTypes } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  additionalNetwork,
  bridge,
  definition,
  ipPool,
  network,
  networkGrant,
  podConfig,
  podConfigWith,
  podInterface,
  podNetwork,
  podNetworkConfig,
  primaryNetwork,
  withConfig,
} from './manifests.ts';
import { connectWithKinds, isAcceptedByUs, refusalsOf, type Manifest } from './server.ts';

type Case = readonly [sentence: string, manifest: Manifest];

const sampleA = podConfigWith({
  sampleDeployment: { create: true, name: 'cnf-example-a' },
  networkAttachments: [
    { name: 'pc0', linkType: 'veth', master: 'pcbr0', parent: 'pc0', cidr: '192.168.100.0/24' },
    { name: 'pc1', linkType: 'veth', master: 'pcbr1', parent: 'pc1', cidr: '192.168.99.0/24' },
  ],
});

const bridgeConfiguration = `
  {
    "cniVersion": "0.3.1", "name": "data", "type": "bridge", "bridge": "data-br",
    "ipam": { "type": "host-local", "ranges": [[{ "subnet": "172.20.1.0/24" }]], "routes": [ { "dst": "0.0.0.0/0" } ] }
  }
`;

const upstream: readonly Case[] = [
  ['the PodConfig with two networks and a sample Deployment', sampleA],
  ['a range of which the end is written as IPv4', podConfig({ cidr: 'fd00::10.0.0.0/120' })],
  ['a PodConfig without ranges', podConfig({ name: 'pco0', master: 'pcobr1', parent: 'pco0', cidr: undefined })],
  ['the PodNetworkConfig of the MTU use case', podNetworkConfig({ Name: 'podnetwork-sample-a', eth0: { mtu: 1500 } })],
  [
    'a PodNetworkConfig with every upstream field',
    podNetworkConfig({
      name: 'sample',
      Name: 'sample',
      additionalNetworks: [
        {
          networkName: 'an',
          networkDescription: 'Signalling',
          linkType: 'veth',
          master: 'anbr',
          mtu: 1450,
          hardwareAddr: '02:42:ac:11:00:02',
          alias: 'signalling of cnf a',
          cidr: '192.168.50.0/24',
        },
      ],
    }),
  ],
  ['a Bridge', bridge({ cidr: '192.168.100.0/24' })],
  [
    'VLANs of a PodConfig',
    podConfigWith({ vlans: [{ parentInterfaceName: 'eth1', vlanID: 100, bridgeName: 'br100' }] }),
  ],
  ['the Network "data" of the podagent', network({ plugin: 'bridge', config: bridgeConfiguration })],
  ['a Network with a plugin alone', network({ plugin: 'kactus' })],
  ['a NetworkAttachmentDefinition of one plugin', withConfig('{"type":"macvlan","master":"eth1"}')],
  ['a NetworkAttachmentDefinition of a list', withConfig(`{"plugins":[${bridgeConfiguration},{"type":"tuning"}]}`)],
  ['a NetworkAttachmentDefinition with an empty spec', definition({ spec: {} })],
  ['a NetworkAttachmentDefinition without spec', definition({})],
];

const attachments: readonly Case[] = [
  ['an empty PodConfig', podConfigWith({})],
  ['a sample Deployment that is not made', podConfigWith({ sampleDeployment: { create: false } })],
  ['a prefix of 15 bytes', podConfig({ name: 'abcdefghijklmno' })],
  ['a prefix of signs', podConfig({ name: `!#$&'()*+,-.` })],
  ['a range of one address', podConfig({ cidr: '10.0.0.7/32', gateway: 'None', addresses: ['10.0.0.7'] })],
  ['a pair of addresses (RFC 3021)', podConfig({ cidr: '10.0.0.6/31', gateway: 'None', addresses: ['10.0.0.6'] })],
  ['a range as wide as a /8', podConfig({ cidr: '10.0.0.0/8' })],
  ['IPv6', podConfig({ cidr: 'fd00:1::/64', mtu: 1280 })],
  ['IPv6 of an odd prefix', podConfig({ cidr: 'fd00:1::40/122', addresses: ['fd00:1::42'] })],
  [
    'both families',
    podConfig({ cidr: undefined, cidrs: ['10.0.0.0/24', 'fd00::/64'], addresses: ['10.0.0.9', 'fd00::9'] }),
  ],
  ['the first address of a pair as gateway', podConfig({ cidr: '10.0.0.6/31', gateway: '10.0.0.6' })],
  ['the last address of a pair as gateway', podConfig({ cidr: '10.0.0.6/31', gateway: '10.0.0.7' })],
  ["the routers' own address of an IPv6 range as gateway", podConfig({ cidr: 'fd00::/64', gateway: 'fd00::' })],
  [
    'the first address where the gateway is another',
    podConfig({ gateway: '192.168.100.254', addresses: ['192.168.100.1'] }),
  ],
  ['the first address where there is no gateway', podConfig({ gateway: 'None', addresses: ['192.168.100.1'] })],
  ['a static address in an exclusion', podConfig({ exclude: ['192.168.100.0/28'], addresses: ['192.168.100.5'] })],
  ['the last address of a pair', podConfig({ cidr: '10.0.0.6/31', gateway: 'None', addresses: ['10.0.0.7'] })],
  ['an address that ends in 255 amid its range', podConfig({ cidr: '10.0.0.0/16', addresses: ['10.0.7.255'] })],
  ['the last IPv6 address', podConfig({ cidr: 'fd00::/120', addresses: ['fd00::ff'] })],
  ['a prefix that no device could be called', podConfig({ name: 'all' })],
  ['a route by the gateway of a Bridge', podConfig({ cidr: undefined, routes: [{ to: '::/0', via: 'fd00::1' }] })],
  ['a route by a link-local router', podConfig({ cidr: 'fd00::/64', routes: [{ to: '::/0', via: 'fe80::1' }] })],
  [
    'routes to one destination with different metrics',
    podConfig({ routes: [{ to: '10.9.0.0/16' }, { to: '10.9.0.0/16', metric: 1024 }, { to: 'fd00::/8' }] }),
  ],
  ['routes', podConfig({ routes: [{ to: '0.0.0.0/0', via: '192.168.100.1', metric: 500 }, { to: '10.9.0.0/16' }] })],
  ['the smallest MTU', podConfig({ mtu: 1280 })],
  ['the largest MTU', podConfig({ mtu: 65535 })],
  ['a MAC address in capitals', podConfig({ hardwareAddr: '02:AB:CD:EF:00:01' })],
  ['a VLAN', podConfig({ linkType: 'vlan', parent: 'eth1', vlanID: 4094 })],
  ['a macvlan', podConfig({ linkType: 'macvlan', parent: 'eth1' })],
  ...linkTypes.map((linkType): Case => {
    const parent = /vlan|vtap/.test(linkType) ? 'eth1' : undefined;
    return [`linkType ${linkType}`, podConfig({ linkType, parent, vlanID: linkType === 'vlan' ? 1 : undefined })];
  }),
];

const ours: readonly Case[] = [
  [
    'a PrimaryNetwork with everything',
    primaryNetwork({
      interfaceName: 'ens3',
      txQueueLength: 0,
      sysctls: { 'net.ipv4.conf.rp_filter': '2', 'net.ipv6.neigh.base_reachable_time_ms': '1000' },
      routes: [{ to: 'fd00::/8', via: 'fd01::1' }],
    }),
  ],
  [
    'sysctls with negative and other numbers, and an address',
    primaryNetwork({
      sysctls: {
        'net.ipv6.conf.router_solicitations': '-1',
        'net.ipv4.conf.arp_filter': '0x1',
        'net.ipv6.conf.stable_secret': 'fd00:0000:0000:0000:0000:0000:0000:0001',
      },
    }),
  ],
  [
    'a selector with every form of a label',
    primaryNetwork({ podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'A_b.c-1', a: '', B_1: 'x' } } }),
  ],
  [
    'a selector by expressions',
    primaryNetwork({ podSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } }),
  ],
  [
    'an AdditionalNetwork with an exact name',
    additionalNetwork({ namePrefix: undefined, name: 'net1', cidr: '10.5.0.0/20' }),
  ],
  ['an AdditionalNetwork without addresses', additionalNetwork({})],
  ['a grant of devices and VLANs', networkGrant({ devices: ['eth1'], vlanIds: ['100', '200-299', '4094'] })],
  ['a grant of settings', networkGrant({ primarySysctls: ['net.ipv4.conf.proxy_arp', 'net.ipv6.conf.accept_ra'] })],
  ['a grant to all namespaces', networkGrant({ namespaces: { selector: {} }, cidrs: ['10.0.0.0/8', 'fd00::/8'] })],
  ['a pool', ipPool({ gateway: '10.1.0.1', exclude: ['10.1.1.0/30'] })],
  ['a pool of IPv6', ipPool({ cidr: 'fd00::/64', range: { first: 'fd00::', last: 'fd00::ff' } })],
  ['a pool of one address', ipPool({ range: { first: '10.1.0.7', last: '10.1.0.7' } })],
  ['a pool over a high bit', ipPool({ range: { first: '10.1.127.255', last: '10.1.128.0' } })],
  ['a pool of two spellings', ipPool({ cidr: 'fd00::/64', range: { first: 'fd00:0::7', last: 'fd00::7' } })],
  ['a PodNetwork', podNetwork({})],
  [
    'a PodNetwork with an interface that a CNI plugin makes',
    podNetwork({
      interfaces: [
        {
          key: 'NetworkAttachmentDefinition/a/net1',
          name: 'net1',
          source: { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'a' },
          cni: {
            config: '{"cniVersion":"1.0.0","name":"a","plugins":[{"type":"bridge"}]}',
            args: [{ name: 'K8S_POD_NETWORK', value: 'a' }],
            capabilities: { ips: ['10.1.0.7/24', '10.1.0.8'], mac: '02:00:00:00:00:07' },
          },
        },
      ],
    }),
  ],
  [
    'a PodNetwork with everything',
    podNetwork({
      interfaces: [
        podInterface({
          link: { type: 'macvlan', parent: 'eth1', mode: 'bridge' },
          bridge: {
            name: 'pcbr0',
            device: 'plbr1a2b3c',
            gateways: ['192.168.100.1/24', 'fd00::1/64'],
            home: 'own',
            mtuBytes: 9000,
          },
          mtuBytes: 9000,
          macAddress: '02:00:00:00:00:01',
          alias: 'pc0',
          addresses: ['192.168.100.2/24', 'fd00::2/64'],
          routes: [{ to: '10.0.0.0/8', via: '192.168.100.1' }],
        }),
        podInterface({ key: 'net1', namePrefix: undefined, name: 'net1' }),
      ],
      primary: {
        mtuBytes: 1400,
        sources: [{ apiVersion: 'podnetwork.opdev.io/v1alpha1', kind: 'PrimaryNetwork', name: 'p' }],
      },
    }),
  ],
];

const json: readonly Case[] = [
  ['brackets in strings', '{"type":"a","note":"}{][,:"}'],
  ['quotes in strings', String.raw`{"type":"a","note":"say \"}\" \\"}`],
  ['every kind of value', '{"type":"a","v":[null,true,false,-0.5e+10,0,"",{},[],[[{"a":{}}]]]}'],
  ['white space everywhere', ' \t\r\n{ "type" : "a" , "b" : [ 1 , 2 ] } \n'],
  ['words of other scripts', String.raw`{"type":"a","note":"ålesund \u00e5 网络"}`],
].map(([sentence = '', config = '']) => [`JSON with ${sentence}`, withConfig(config)] as const);

const groups = { 'what upstream has': upstream, attachments, 'our own kinds': ours, JSON: json };

let client: Client;
beforeAll(async () => {
  client = await connectWithKinds();
});
afterAll(() => client.close());

describe.each(Object.entries(groups))('the API server accepts, of %s,', (_, cases) => {
  it.each(cases)('%s', async (_, manifest) => {
    expect(await refusalsOf(client, manifest)).toEqual([]);
    expect(isAcceptedByUs(manifest)).toBe(true);
  });
});

it('more than thirty good manifests are tried', () => {
  expect(Object.values(groups).flat().length).toBeGreaterThan(30);
});
