import { podConfigKind, podNetworkConfigKind, type PodNetwork, primaryNetworkKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { type Preview, previewPods } from './preview.ts';
import { describePlan } from './plan.ts';
import { withAddresses } from '../compose/composed.ts';
import { composePod } from '../compose/pod.ts';
import { settleNamespace } from '../compose/settle.ts';
import type { SourceObject } from '../source/source.ts';
import { interfaceOf } from '../plan/step.ts';

const meta = (name: string) => ({ name, namespace: 'cnf-test', uid: name, creationTimestamp: '2026-11-15T10:00:00Z' });
const podConfig = (mtu?: number) =>
  podConfigKind.parse({
    apiVersion: 'podconfig.opdev.io/v1alpha1',
    kind: 'PodConfig',
    metadata: meta('sample'),
    spec: { networkAttachments: [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/24', ...(mtu && { mtu }) }] },
  });
const pod = {
  name: 'web',
  uid: 'uid-web',
  nodeName: 'n1',
  labels: { podconfig: 'sample', podNetworkConfig: 'mtu' },
};
const other = { ...pod, name: 'other', uid: 'uid-other' };
const base = {
  namespace: 'cnf-test',
  pods: [pod],
  networks: [],
  pools: [],
  devices: new Map<string, string>(),
  now: '2026-11-15T10:00:00Z',
};
const settled = (...objects: SourceObject[]) => settleNamespace('cnf-test', objects, { reserved: [] });
const preview = (input: Parameters<typeof previewPods>[0]): Preview => previewPods(input)[0]!;
/** One text a pod, and then one a node that has something to tidy. */
const texts = (input: Parameters<typeof previewPods>[0]): string[] =>
  previewPods(input).map(({ steps, node, pod: name = '' }) => describePlan(steps, { node, pod: name }));
const text = (input: Parameters<typeof previewPods>[0]): string => texts(input)[0] ?? '';

const key =
  preview({ ...base, settled: settled(podConfig()) }).steps.flatMap(({ owner }) => interfaceOf(owner) ?? [])[0] ?? '';

/** The PodNetwork once the agent has attached what `podConfig()` asks for. */
function attached(name = 'web', address = '192.168.100.2/24'): PodNetwork {
  return {
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'PodNetwork',
    metadata: meta(name),
    spec: {
      podUid: `uid-${name}`,
      nodeName: 'n1',
      interfaces: [
        {
          key,
          namePrefix: 'pc0',
          source: {
            apiVersion: 'podconfig.opdev.io/v1alpha1',
            kind: 'PodConfig',
            namespace: 'cnf-test',
            name: 'sample',
          },
          link: { type: 'veth' },
          bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24'], home: 'node' },
          addresses: [address],
          routes: [],
        },
      ],
    },
    status: {
      podPid: 77,
      interfaces: [{ key, name: 'pc077', hostName: name === 'web' ? 'hpc077' : 'hpc078', state: 'Attached' }],
    },
  };
}

const pools = [
  {
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'IPPool',
    metadata: { name: 'p', namespace: 'cnf-test' },
    spec: {
      network: 'pcbr0',
      cidr: '192.168.100.0/24',
      range: { first: '192.168.100.0', last: '192.168.100.255' },
      gateway: '192.168.100.1',
      exclude: [],
    },
    status: {
      allocations: [{ address: '192.168.100.2', podName: 'web', podUid: 'uid-web', interfaceKey: key }],
    },
  },
];

/** Two networks on one bridge, each with the MAC and the route of that number. */
const numbered = (...order: number[]) =>
  settled(
    podNetworkConfigKind.parse({
      apiVersion: podNetworkConfigKind.apiVersion,
      kind: 'PodNetworkConfig',
      metadata: meta('mtu'),
      spec: {
        additionalNetworks: order.map((own, i) => ({
          networkName: `net${i}`,
          master: 'pcbr0',
          cidr: '192.168.100.0/24',
          hardwareAddr: `02:00:00:00:00:0${own}`,
          routes: [{ to: `10.${own}.0.0/16` }],
        })),
      },
    }),
  );

describe('previewPods', () => {
  it('shows every change that a first attachment makes, on node and pod', () => {
    const plan = text({ ...base, settled: settled(podConfig()) });
    expect(plan).toContain('pcbr0');
    expect(plan).toContain('pc0<pid>');
    expect(plan).toContain('192.168.100.2/24');
  });

  it('plans nothing that the namespace may not have, and says why', () => {
    const taken = { reserved: ['192.168.0.0/16'] };
    const { steps, problems } = preview({
      ...base,
      settled: settleNamespace('cnf-test', [podConfig()], taken),
    });
    expect(steps).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('192.168.100.0/24 overlaps 192.168.0.0/16')]);
  });

  it('gives the next pod the next address, and the bridge that the first has made', () => {
    const [first, next, ...rest] = texts({ ...base, pods: [pod, other], settled: settled(podConfig()) });
    expect(first).toContain('+ ip link add pcbr0');
    expect(next).toContain('192.168.100.3/24');
    expect(next).not.toContain('192.168.100.2/24');
    expect(next).not.toMatch(/ip link add pcbr0|rule add|route add/);
    expect(rest).toEqual([]);
  });

  it('makes the bridge on each node that a pod is on', () => {
    const pods = [pod, { ...other, nodeName: 'n2' }];
    for (const one of texts({ ...base, pods, settled: settled(podConfig()) })) {
      expect(one).toContain('+ ip link add pcbr0');
    }
  });

  it('shows only what differs from what the agent reported', () => {
    const running = { ...base, networks: [attached()], pools };
    expect(texts({ ...running, settled: settled(podConfig()) })).toEqual(['Nothing to do: all is as declared.\n']);
    const changed = text({ ...running, settled: settled(podConfig(1400)) });
    expect(changed).toContain('mtu 1400');
    expect(changed).not.toContain('+ ');
  });

  it('shows interfaces that swap their MACs and routes as it will happen: what leaves first', () => {
    const interfaces = composePod({ ...pod, namespace: 'cnf-test' }, numbered(1, 2)).interfaces.map((one, i) =>
      withAddresses(one, [`192.168.100.${i + 2}/24`]),
    );
    const running = {
      ...attached(),
      spec: { podUid: pod.uid, nodeName: 'n1', interfaces },
      status: {
        podPid: 77,
        interfaces: interfaces.map(({ key: own }, i) => ({
          key: own,
          name: `net${i}77`,
          hostName: `hnet${i}77`,
          state: 'Attached' as const,
        })),
      },
    };
    const allocations = interfaces.map(({ key: interfaceKey }, i) => ({
      address: `192.168.100.${i + 2}`,
      podName: 'web',
      podUid: pod.uid,
      interfaceKey,
    }));
    const held = [{ ...pools[0]!, status: { allocations } }];
    const swapped = preview({ ...base, networks: [running], pools: held, settled: numbered(2, 1) });
    expect(swapped.problems).toEqual([]);
    const changes = swapped.steps.filter((step) => step.do.endsWith('Fdb') || step.do.endsWith('Route'));
    expect(changes.map((step) => step.do).join(' ')).toBe(
      'removeFdb removeRoute removeFdb removeRoute addFdb addRoute addFdb addRoute',
    );
  });

  it('removes a bridge that nobody uses any more, and only then', () => {
    const running = { ...base, networks: [attached()], pools, settled: settled() };
    const [fromPod, fromNode] = texts(running);
    expect(fromPod).toContain('- ip link del hpc077');
    expect(fromPod).not.toContain('pcbr0');
    expect(fromNode).toContain('@@ node n1 @@\n- ip link del pcbr0');
    expect(fromNode).toContain('- ip rule del');
    const neighbour = attached('other', '192.168.100.3/24');
    expect(texts({ ...running, networks: [attached(), neighbour] })).toHaveLength(1);
  });

  it('removes the gateway, rule and route of a range that changed', () => {
    const { spec, ...rest } = podConfig();
    const [attachment] = spec.networkAttachments ?? [];
    const moved = { ...rest, spec: { networkAttachments: [{ ...attachment!, cidr: '10.7.0.0/24' }] } };
    const [, fromNode] = texts({ ...base, networks: [attached()], pools, settled: settled(moved) });
    expect(fromNode).toContain('- ip addr del 192.168.100.1/24 dev pcbr0');
    expect(fromNode).toMatch(/- ip rule del .* from 192.168.100.1\/32/);
    expect(fromNode).toContain('- ip route del 192.168.100.0/24 dev pcbr0');
    expect(fromNode).not.toContain('+ ');
  });

  it('changes the primary link without pretending to know what it was', () => {
    const mtu = podNetworkConfigKind.parse({
      apiVersion: 'podnetwork.opdev.io/v1alpha1',
      kind: 'PodNetworkConfig',
      metadata: meta('mtu'),
      spec: { eth0: { mtu: 1400 } },
    });
    const plan = text({ ...base, settled: settled(mtu) });
    expect(plan).toContain('eth0');
    expect(plan).toContain('mtu 1400');
    expect(plan).not.toContain('was');
  });

  it('restores the link that was changed before it changes another', () => {
    const sysctls = { 'net.ipv4.conf.rp_filter': '2' };
    const change = primaryNetworkKind.parse({
      apiVersion: 'podnetwork.opdev.io/v1alpha1',
      kind: 'PrimaryNetwork',
      metadata: meta('primary'),
      spec: { podSelector: {}, interfaceName: 'net1', mtuBytes: 1400, sysctls },
    });
    const { spec, ...rest } = attached();
    const primary = { before: { mtuBytes: 1500 }, applied: { mtuBytes: 1300 } };
    const current = { ...rest, spec: { ...spec, interfaces: [] }, status: { primary } };
    expect(text({ ...base, networks: [current], settled: settled(change) })).toBe(`@@ pod web @@
~ ip link set eth0 mtu 1500  (was mtu 1300)
~ ip link set net1 mtu 1400
~ sysctl -w net.ipv4.conf.net1.rp_filter=2
`);
    expect(text({ ...base, networks: [current], settled: settled() })).toContain(
      '~ ip link set eth0 mtu 1500  (was mtu 1300)',
    );
  });

  it('tells why an interface would not come', () => {
    const tiny = podConfigKind.parse({
      ...podConfig(),
      spec: {
        networkAttachments: [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/30', exclude: ['192.168.100.2/32'] }],
      },
    });
    expect(preview({ ...base, settled: settled(tiny) }).problems.join()).toMatch(/No address/);
  });
});
