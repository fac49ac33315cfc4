/** What the API server must refuse, where it says so, and in which words; and that the command line would say no as well. */
import type { Client } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  additionalNetwork,
  bridge,
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

type Case = readonly [sentence: string, manifest: Manifest, field: string, message: string];

const attachment = 'spec.networkAttachments[0]';
const linkNameText = 'must be a link name: 1 to 15 bytes';
const deviceText = 'must not be lo, all or default';
const rangeText = 'must be an address range such as';
const usableText = 'must be a range that pods can have addresses of';
const jsonText = 'must be the text of a JSON object';
const vlanText = 'must be a VLAN id from 1 to 4094';
const macText = 'must be a unicast MAC address';

const ranges: readonly Case[] = [
  ['text that is no range', podConfig({ cidr: 'a network' }), `${attachment}.cidr`, rangeText],
  ['an address without prefix length', podConfig({ cidr: '192.168.100.0' }), `${attachment}.cidr`, rangeText],
  ['an octet over 255', podConfig({ cidr: '192.168.256.0/24' }), `${attachment}.cidr`, rangeText],
  ['an octet with a leading zero', podConfig({ cidr: '192.168.010.0/24' }), `${attachment}.cidr`, rangeText],
  ['33 bits of an IPv4 prefix', podConfig({ cidr: '192.168.100.0/33' }), `${attachment}.cidr`, rangeText],
  ['129 bits of an IPv6 prefix', podConfig({ cidr: 'fd00::/129' }), `${attachment}.cidr`, rangeText],
  ['a negative prefix', podConfig({ cidr: '192.168.100.0/-1' }), `${attachment}.cidr`, rangeText],
  ['an IPv6 zone', podConfig({ cidr: 'fe80::%eth0/64' }), `${attachment}.cidr`, rangeText],
  ['IPv4 inside IPv6', podConfig({ cidr: '::ffff:10.0.0.0/104' }), `${attachment}.cidr`, rangeText],
  [
    'host bits of IPv4',
    podConfig({ cidr: '192.168.100.1/24' }),
    `${attachment}.cidr`,
    'the bits after the prefix must be zero',
  ],
  [
    'host bits of IPv6',
    podConfig({ cidr: 'fd00::1/64' }),
    `${attachment}.cidr`,
    'the bits after the prefix must be zero',
  ],
  ['all addresses there are', podConfig({ cidr: '0.0.0.0/0' }), `${attachment}.cidr`, usableText],
  ['loopback', podConfig({ cidr: '127.1.0.0/16' }), `${attachment}.cidr`, usableText],
  ['multicast', podConfig({ cidr: '239.0.0.0/8' }), `${attachment}.cidr`, usableText],
  ['link-local', podConfig({ cidr: '169.254.7.0/24' }), `${attachment}.cidr`, usableText],
  ['a range around link-local', podConfig({ cidr: '168.0.0.0/6' }), `${attachment}.cidr`, usableText],
  ['IPv6 link-local', podConfig({ cidr: 'fe80::/64' }), `${attachment}.cidr`, usableText],
  ['IPv6 multicast', podConfig({ cidr: 'ff02::/16' }), `${attachment}.cidr`, usableText],
  ['a range too long for any address', podConfig({ cidr: `${'0'.repeat(50)}/24` }), `${attachment}.cidr`, 'Too long'],
  [
    'both cidr and cidrs',
    podConfig({ cidrs: ['fd00::/64'] }),
    `${attachment}.cidrs`,
    'cidr and cidrs cannot both be set',
  ],
  [
    'two ranges of one family',
    podConfig({ cidr: undefined, cidrs: ['10.0.0.0/24', '10.0.1.0/24'] }),
    `${attachment}.cidrs`,
    'must be one IPv4 and one IPv6 range',
  ],
  [
    'three ranges',
    podConfig({ cidr: undefined, cidrs: ['10.0.0.0/24', 'fd00::/64', 'fd01::/64'] }),
    `${attachment}.cidrs`,
    'Too many',
  ],
  [
    'a bad range in a list',
    podConfig({ cidr: undefined, cidrs: ['10.0.0.0/24', 'fd00::/200'] }),
    `${attachment}.cidrs[1]`,
    rangeText,
  ],
];

const addresses: readonly Case[] = [
  [
    'a static address outside the range',
    podConfig({ addresses: ['192.168.101.5'] }),
    `${attachment}.addresses`,
    'must lie in the range',
  ],
  [
    'a static address of the other family',
    podConfig({ addresses: ['fd00::5'] }),
    `${attachment}.addresses`,
    'must lie in the range',
  ],
  [
    'a static address where there is no range',
    podConfig({ cidr: undefined, addresses: ['192.168.100.5'] }),
    `${attachment}.addresses`,
    'must lie in the range',
  ],
  [
    'a static address that is none',
    podConfig({ addresses: ['192.168.100'] }),
    `${attachment}.addresses[0]`,
    'must be an IPv4 or IPv6 address',
  ],
  [
    'a gateway outside the range',
    podConfig({ gateway: '192.168.99.1' }),
    `${attachment}.gateway`,
    'the gateway must lie in the range',
  ],
  [
    'a gateway that is no address',
    podConfig({ gateway: 'Last' }),
    `${attachment}.gateway`,
    'must be First, None, or an address',
  ],
  [
    'an exclusion outside the range',
    podConfig({ exclude: ['192.168.101.0/28'] }),
    `${attachment}.exclude`,
    'must lie in the range',
  ],
  [
    'an exclusion wider than the range',
    podConfig({ exclude: ['192.168.0.0/16'] }),
    `${attachment}.exclude`,
    'must lie in the range',
  ],
  ['an exclusion that is no range', podConfig({ exclude: ['192.168.100.1'] }), `${attachment}.exclude[0]`, rangeText],
  ['a route to nowhere', podConfig({ routes: [{ to: 'everywhere' }] }), `${attachment}.routes[0].to`, rangeText],
  [
    'a route by a next hop of the other family',
    podConfig({ routes: [{ to: '10.0.0.0/8', via: 'fd00::1' }] }),
    `${attachment}.routes[0].via`,
    'of the same address family',
  ],
  [
    'a route by a next hop that the pod cannot reach',
    podConfig({ routes: [{ to: '10.0.0.0/8', via: '192.168.101.1' }] }),
    `${attachment}.routes`,
    'the next hop of a route must lie in the range',
  ],
  [
    'two routes to one destination',
    podConfig({ routes: [{ to: '10.9.0.0/16' }, { to: '10.9.0.0/16', via: '192.168.100.1', metric: 0 }] }),
    `${attachment}.routes`,
    'two routes to one destination need different metrics',
  ],
  [
    'two IPv6 routes to one destination, in two spellings and with the metric that both have',
    primaryNetwork({ routes: [{ to: 'FD00:9:0::/48' }, { to: 'fd00:9::/48', metric: 1024 }] }),
    'spec.routes',
    'two routes to one destination need different metrics',
  ],
  [
    'a route without destination',
    podConfig({ routes: [{ via: '192.168.100.1' }] }),
    `${attachment}.routes[0].to`,
    'Required value',
  ],
];

const links: readonly Case[] = [
  ['a prefix of 16 bytes', podConfig({ name: 'abcdefghijklmnop' }), `${attachment}.name`, 'Too long'],
  [
    'a prefix with a letter in which the kernel sees white space',
    podConfig({ name: 'voilà' }),
    `${attachment}.name`,
    linkNameText,
  ],
  ['an empty prefix', podConfig({ name: '' }), `${attachment}.name`, 'should be at least 1 chars long'],
  ['no prefix', podConfig({ name: undefined }), `${attachment}.name`, 'Required value'],
  ['a prefix with a slash', podConfig({ name: 'pc/0' }), `${attachment}.name`, linkNameText],
  ['a bridge with a slash', podConfig({ master: '../br0' }), `${attachment}.master`, linkNameText],
  ['a bridge with a colon', podConfig({ master: 'br0:1' }), `${attachment}.master`, linkNameText],
  ['a bridge with the place of a number', podConfig({ master: 'br%d' }), `${attachment}.master`, linkNameText],
  ['a bridge with a space', podConfig({ master: 'br 0' }), `${attachment}.master`, linkNameText],
  ['a bridge with a line feed', podConfig({ master: 'br0\n' }), `${attachment}.master`, linkNameText],
  ['a bridge with a NUL', podConfig({ master: 'br\0' }), `${attachment}.master`, linkNameText],
  ['a bridge called ..', podConfig({ master: '..' }), `${attachment}.master`, linkNameText],
  ['a bridge called lo', podConfig({ master: 'lo' }), `${attachment}.master`, deviceText],
  ['a bridge called default', podConfig({ master: 'default' }), `${attachment}.master`, deviceText],
  ['a parent called all', podConfig({ parent: 'all' }), `${attachment}.parent`, deviceText],
  ['a parent called .', podConfig({ parent: '.' }), `${attachment}.parent`, linkNameText],
  [
    'an MTU below that of IPv6',
    podConfig({ mtu: 1279 }),
    `${attachment}.mtu`,
    'should be greater than or equal to 1280',
  ],
  ['an MTU beyond all links', podConfig({ mtu: 65536 }), `${attachment}.mtu`, 'should be less than or equal to 65535'],
  ['an MTU that is text', podConfig({ mtu: '1500' }), `${attachment}.mtu`, 'must be of type integer'],
  [
    'an unknown link type',
    podConfig({ linkType: 'carrier-pigeon' }),
    `${attachment}.linkType`,
    'Unsupported value: "carrier-pigeon"',
  ],
  [
    'a MAC address that is too short',
    podConfig({ hardwareAddr: '02:00:00:00:01' }),
    `${attachment}.hardwareAddr`,
    macText,
  ],
  ['a multicast MAC address', podConfig({ hardwareAddr: '01:00:5e:00:00:01' }), `${attachment}.hardwareAddr`, macText],
  ['a MAC address of zeros', podConfig({ hardwareAddr: '00:00:00:00:00:00' }), `${attachment}.hardwareAddr`, macText],
  [
    'a MAC address with dashes',
    podConfig({ hardwareAddr: '02-00-00-00-00-01' }),
    `${attachment}.hardwareAddr`,
    macText,
  ],
  ['an alias with a control character', podConfig({ alias: 'one\ntwo' }), `${attachment}.alias`, 'should match'],
  ['a macvlan without parent', podConfig({ linkType: 'macvlan' }), `${attachment}.parent`, 'needs a parent'],
  [
    'a VLAN without id',
    podConfig({ linkType: 'vlan', parent: 'eth1' }),
    `${attachment}.vlanID`,
    'vlanID must be set for linkType vlan',
  ],
  ['a VLAN id of a veth', podConfig({ vlanID: 7 }), `${attachment}.vlanID`, 'vlanID must be set for linkType vlan'],
  [
    'two attachments of one name',
    podConfig({}, { master: 'pcbr1', cidr: '192.168.99.0/24' }),
    'spec.networkAttachments[1]',
    'Duplicate value',
  ],
  [
    'VLAN 4095',
    podConfigWith({ vlans: [{ parentInterfaceName: 'eth1', vlanID: 4095 }] }),
    'spec.vlans[0].vlanID',
    'should be less than or equal to 4094',
  ],
  [
    'one VLAN twice',
    podConfigWith({ vlans: [1, 2].map(() => ({ parentInterfaceName: 'eth1', vlanID: 7 })) }),
    'spec.vlans[1]',
    'Duplicate value',
  ],
  [
    'a sample Deployment without name',
    podConfigWith({ sampleDeployment: { create: true } }),
    'spec.sampleDeployment.name',
    'needs a name',
  ],
  [
    'a sample Deployment with a name that no Deployment can have',
    podConfigWith({ sampleDeployment: { create: true, name: 'Not_A_Name' } }),
    'spec.sampleDeployment.name',
    'should match',
  ],
  [
    'a PodConfig whose name is too long for a label',
    { ...podConfig({}), metadata: { name: 'a'.repeat(64) } },
    'metadata.name',
    'Too long',
  ],
  [
    'a PodConfig without spec',
    { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', metadata: { name: 'sample' } },
    'spec',
    'Required value',
  ],
];

const otherKinds: readonly Case[] = [
  [
    'two additional networks of one name',
    podNetworkConfig({ additionalNetworks: [{ networkName: 'an' }, { networkName: 'an' }] }),
    'spec.additionalNetworks[1]',
    'Duplicate value',
  ],
  ['two names that differ', podNetworkConfig({ name: 'a', Name: 'b' }), 'spec.Name', 'two spellings of one field'],
  [
    'an MTU of eth0 that is too large',
    podNetworkConfig({ eth0: { mtu: 70000 } }),
    'spec.eth0.mtu',
    'should be less than or equal to 65535',
  ],
  ['a Bridge with a name over 15 bytes', bridge({ name: 'a-bridge-too-far' }), 'spec.name', 'Too long'],
  ['a Bridge below the MTU of IPv6', bridge({ mtu: 1279 }), 'spec.mtu', 'should be greater than or equal to 1280'],
  ['a Bridge with a bad range', bridge({ cidr: '10.0.0.0/8/8' }), 'spec.cidr', rangeText],
  [
    'a Bridge with a gateway elsewhere',
    bridge({ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }),
    'spec.gateway',
    'must lie in the range',
  ],
  [
    'a PrimaryNetwork that asks for nothing',
    primaryNetwork({ mtuBytes: undefined }),
    'spec',
    'at least one of mtuBytes',
  ],
  [
    'a PrimaryNetwork that selects nothing',
    primaryNetwork({ podSelector: undefined }),
    'spec.podSelector',
    'Required value',
  ],
  ['a Bridge called all', bridge({ name: 'all' }), 'spec.name', deviceText],
  ['a primary link called lo', primaryNetwork({ interfaceName: 'lo' }), 'spec.interfaceName', deviceText],
  ['a link called lo', additionalNetwork({ namePrefix: undefined, name: 'lo' }), 'spec.name', deviceText],
  ['a link on a bridge called default', additionalNetwork({ bridge: 'default' }), 'spec.bridge', deviceText],
  [
    'a sysctl that is no number',
    primaryNetwork({ sysctls: { 'net.ipv4.conf.rp_filter': 'loose' } }),
    'spec.sysctls.net.ipv4.conf.rp_filter',
    'should match',
  ],
  [
    'a label that cannot be',
    primaryNetwork({ podSelector: { matchLabels: { 'my app': 'cnf' } } }),
    'spec.podSelector.matchLabels',
    'must be names of labels',
  ],
  [
    'a value that no label can have',
    primaryNetwork({ podSelector: { matchLabels: { app: 'c n f' } } }),
    'spec.podSelector.matchLabels.app',
    'should match',
  ],
  [
    'a comparison of a label that cannot be',
    primaryNetwork({ podSelector: { matchExpressions: [{ key: 'a/b/c', operator: 'Exists' }] } }),
    'spec.podSelector.matchExpressions[0].key',
    'should match',
  ],
  [
    'a sysctl of the node',
    primaryNetwork({ sysctls: { 'net.ipv4.ip_forward': '1' } }),
    'spec.sysctls',
    'must be settings of the interface itself',
  ],
  [
    'a sysctl of another interface',
    primaryNetwork({ sysctls: { 'net.ipv4.conf.all.rp_filter': '0' } }),
    'spec.sysctls',
    'must be settings of the interface itself',
  ],
  [
    'a sysctl that climbs out of its folder',
    primaryNetwork({ sysctls: { 'net/ipv4/conf/../../core/somaxconn': '1' } }),
    'spec.sysctls',
    'must be settings of the interface itself',
  ],
  [
    'a selector that compares with nothing',
    primaryNetwork({ podSelector: { matchExpressions: [{ key: 'app', operator: 'In' }] } }),
    'spec.podSelector.matchExpressions[0].values',
    'In and NotIn need values',
  ],
  [
    'a transmit queue below zero',
    primaryNetwork({ txQueueLength: -1 }),
    'spec.txQueueLength',
    'greater than or equal to 0',
  ],
  [
    'an AdditionalNetwork without a name for its link',
    additionalNetwork({ namePrefix: undefined }),
    'spec',
    'exactly one of namePrefix and name',
  ],
  [
    'an AdditionalNetwork with two names for its link',
    additionalNetwork({ name: 'net1' }),
    'spec',
    'exactly one of namePrefix and name',
  ],
  [
    'a grant of nothing',
    networkGrant({}),
    'spec',
    'at least one of devices, vlanIds, cidrs, primarySysctls, cniPlugins and sharedNetworks',
  ],
  [
    'a grant of a setting of the node',
    networkGrant({ primarySysctls: ['net.ipv4.ip_forward'] }),
    'spec.primarySysctls[0]',
    'must be settings of the interface itself',
  ],
  [
    'a grant of a setting of all interfaces',
    networkGrant({ primarySysctls: ['net.ipv4.conf.all.forwarding'] }),
    'spec.primarySysctls[0]',
    'must be settings of the interface itself',
  ],
  [
    'a grant to nobody',
    networkGrant({ namespaces: {}, devices: ['eth1'] }),
    'spec.namespaces',
    'names or selector must be set',
  ],
  ['a grant of VLAN 0', networkGrant({ vlanIds: ['0'] }), 'spec.vlanIds[0]', vlanText],
  ['a grant of VLANs backwards', networkGrant({ vlanIds: ['200-100'] }), 'spec.vlanIds[0]', vlanText],
  ['a grant of VLANs beyond the last', networkGrant({ vlanIds: ['4000-4095'] }), 'spec.vlanIds[0]', vlanText],
  ['a grant of a device with a slash', networkGrant({ devices: ['eth1/0'] }), 'spec.devices[0]', linkNameText],
  [
    'a grant to a namespace that cannot be',
    networkGrant({ namespaces: { names: ['A B'] }, devices: ['eth1'] }),
    'spec.namespaces.names[0]',
    'should match',
  ],
];

const internal: readonly Case[] = [
  ['a PodNetwork without pod', podNetwork({ podUid: '' }), 'spec.podUid', 'at least 1 chars'],
  [
    'an interface without name',
    podNetwork({ interfaces: [podInterface({ namePrefix: undefined })] }),
    'spec.interfaces[0]',
    'exactly one of namePrefix and name',
  ],
  [
    'an interface of a CNI plugin that has no exact name',
    podNetwork({ interfaces: [podInterface({ cni: { config: '{}' } })] }),
    'spec.interfaces[0]',
    'cni needs name, and has no bridge',
  ],
  [
    'an argument of a CNI plugin that brings another',
    podNetwork({
      interfaces: [
        podInterface({
          namePrefix: undefined,
          name: 'net1',
          cni: { config: '{}', args: [{ name: 'A', value: 'b;C=d' }] },
        }),
      ],
    }),
    'spec.interfaces[0].cni.args[0].value',
    'should match',
  ],
  [
    'two interfaces of one key',
    podNetwork({ interfaces: [podInterface({}), podInterface({ namePrefix: 'pc1' })] }),
    'spec.interfaces[1]',
    'Duplicate value',
  ],
  [
    'an address without prefix length',
    podNetwork({ interfaces: [podInterface({ addresses: ['10.0.0.2'] })] }),
    'spec.interfaces[0].addresses[0]',
    'must be an address with its prefix length',
  ],
];

const json: readonly Case[] = [
  ['nothing', '', 'spec.config'],
  ['words', 'type: bridge', 'spec.config'],
  ['a list', '[{"type":"bridge"}]', 'spec.config'],
  ['an object that does not end', '{"type":"bridge"', 'spec.config'],
  ['an object that ends twice', '{"type":"bridge"}}', 'spec.config'],
  ['two objects', '{"type":"bridge"} {"type":"bridge"}', 'spec.config'],
  ['a comma too many', '{"type":"bridge",}', 'spec.config'],
  ['a comma too few', '{"type":"bridge" "name":"a"}', 'spec.config'],
  ['a key without value', '{"type":}', 'spec.config'],
  ['a value without key', '{"type":"bridge","name"}', 'spec.config'],
  ['a key in a list', '{"plugins":["type":"bridge"]}', 'spec.config'],
  ['a list that ends like an object', '{"plugins":[{"type":"bridge"]}}', 'spec.config'],
  ['single quotes', "{'type':'bridge'}", 'spec.config'],
  ['a comment', '{"type":"bridge" /* why */}', 'spec.config'],
  ['a number that JSON does not have', '{"type":"bridge","mtu":01500}', 'spec.config'],
  ['a word that JSON does not have', '{"type":"bridge","isGateway":True}', 'spec.config'],
  ['an escape that JSON does not have', String.raw`{"type":"bri\dge"}`, 'spec.config'],
  ['a line feed in a string', '{"type":"bri\ndge"}', 'spec.config'],
].map(
  ([sentence = '', config = '', field = '']) =>
    [`JSON text: ${sentence}`, withConfig(config), field, jsonText] as const,
);

const cni: readonly Case[] = [
  [
    'a configuration of no plugin',
    withConfig('{"name":"a"}'),
    'spec.config',
    'must have "type" (one plugin) or "plugins"',
  ],
  ['a Network with neither plugin nor configuration', network({}), 'spec', 'plugin or config must be set'],
  ['a Network whose plugin is a path', network({ plugin: '../../bin/sh' }), 'spec.plugin', 'should match'],
  [
    'a Network whose configuration is not JSON',
    network({ plugin: 'bridge', config: '{bridge}' }),
    'spec.config',
    jsonText,
  ],
];

const groups = {
  ranges,
  addresses,
  links,
  'other kinds': otherKinds,
  'kinds that Podloom writes': internal,
  json,
  cni,
};

let client: Client;
beforeAll(async () => {
  client = await connectWithKinds();
});
afterAll(() => client.close());

describe.each(Object.entries(groups))('the API server refuses, in %s,', (_, cases) => {
  it.each(cases)('%s', async (_, manifest, field, message) => {
    const refusals = await refusalsOf(client, manifest);
    expect(refusals).toContainEqual({ field, message: expect.stringContaining(message) });
    expect(isAcceptedByUs(manifest)).toBe(false);
  });
});

it('more than sixty bad manifests are tried', () => {
  expect(Object.values(groups).flat().length).toBeGreaterThan(60);
});
