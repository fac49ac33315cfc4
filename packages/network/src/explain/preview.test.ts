import { podConfigKind, podNetworkConfigKind, type PodNetwork, primaryNetworkKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { previewPod } from './preview.ts';
import { describePlan } from './plan.ts';

const meta = (name: string) => ({ name, namespace: 'cnf-test', uid: name, creationTimestamp: '2026-11-15T10:00:00Z' });
const podConfig = (mtu?: number) =>
  podConfigKind.parse({
    apiVersion: 'podconfig.opdev.io/v1alpha1',
    kind: 'PodConfig',
    metadata: meta('sample'),
    spec: { networkAttachments: [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/24', ...(mtu && { mtu }) }] },
  });
const pod = {
  namespace: 'cnf-test',
  name: 'web',
  uid: 'uid-web',
  nodeName: 'n1',
  labels: { podconfig: 'sample', podNetworkConfig: 'mtu' },
};
const limits = { reserved: [] };
const base = { pod, pools: [], devices: new Map<string, string>(), limits, now: '2026-11-15T10:00:00Z' };
const text = (input: Parameters<typeof previewPod>[0]) =>
  describePlan(previewPod(input).preview.steps, { node: 'n1', pod: 'web' });

/** The PodNetwork once the agent has attached what `podConfig(mtu)` asks for. */
function attached(mtu?: number): PodNetwork {
  const key = 'podconfig.sample.pc0';
  return {
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'PodNetwork',
    metadata: { ...meta('web'), namespace: 'cnf-test' },
    spec: {
      podUid: 'uid-web',
      nodeName: 'n1',
      interfaces: [
        {
          key,
          namePrefix: 'pc0',
          source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'sample' },
          linkType: 'veth',
          bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24'], home: 'node' },
          ...(mtu && { mtuBytes: mtu }),
          addresses: ['192.168.100.2/24'],
          routes: [],
        },
      ],
    },
    status: { podPid: 77, interfaces: [{ key, name: 'pc077', hostName: 'hpc077', state: 'Attached' }] },
  };
}

describe('previewPod', () => {
  it('shows every change that a first attachment makes, on node and pod', () => {
    const plan = text({ ...base, sources: { podConfigs: [podConfig()] } });
    expect(plan).toContain('pcbr0');
    expect(plan).toContain('pc0<pid>');
    expect(plan).toContain('192.168.100.2/24');
  });

  it('plans nothing that the namespace may not have, and says why', () => {
    const taken = { reserved: ['192.168.0.0/16'] };
    const { steps, problems } = previewPod({ ...base, limits: taken, sources: { podConfigs: [podConfig()] } }).preview;
    expect(steps).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('192.168.100.0/24 overlaps 192.168.0.0/16')]);
  });

  it('gives the next pod the next address', () => {
    const sources = { podConfigs: [podConfig()] };
    const { pools } = previewPod({ ...base, sources });
    const next = text({ ...base, sources, pools, pod: { ...pod, name: 'other', uid: 'uid-other' } });
    expect(next).toContain('192.168.100.3/24');
    expect(next).not.toContain('192.168.100.2/24');
  });

  it('shows only what differs from what the agent reported', () => {
    const key = previewPod({ ...base, sources: { podConfigs: [podConfig()] } }).preview.steps.find(
      (step) => step.key,
    )?.key;
    const current = attached();
    current.spec.interfaces[0]!.key = key!;
    current.status!.interfaces![0]!.key = key!;
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
          allocations: [{ address: '192.168.100.2', podName: 'web', podUid: 'uid-web', interfaceKey: key! }],
        },
      },
    ];
    expect(text({ ...base, pools, current, sources: { podConfigs: [podConfig()] } })).toBe(
      'Nothing to do: all is as declared.\n',
    );
    const changed = text({ ...base, pools, current, sources: { podConfigs: [podConfig(1400)] } });
    expect(changed).toContain('mtu 1400');
    expect(changed).not.toContain('+ ');
    expect(text({ ...base, pools, current, sources: {} })).toContain('- ');
  });

  it('changes the primary link without pretending to know what it was', () => {
    const mtu = podNetworkConfigKind.parse({
      apiVersion: 'podnetwork.opdev.io/v1alpha1',
      kind: 'PodNetworkConfig',
      metadata: meta('mtu'),
      spec: { eth0: { mtu: 1400 } },
    });
    const plan = text({ ...base, sources: { podNetworkConfigs: [mtu] } });
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
    expect(text({ ...base, current, sources: { primaryNetworks: [change] } })).toBe(`@@ pod web @@
~ ip link set eth0 mtu 1500  (was mtu 1300)
~ ip link set net1 mtu 1400
~ sysctl -w net.ipv4.conf.net1.rp_filter=2
`);
    expect(text({ ...base, current, sources: {} })).toContain('~ ip link set eth0 mtu 1500  (was mtu 1300)');
  });

  it('tells why an interface would not come', () => {
    const tiny = podConfigKind.parse({
      ...podConfig(),
      spec: {
        networkAttachments: [{ name: 'pc0', master: 'pcbr0', cidr: '192.168.100.0/30', exclude: ['192.168.100.2/32'] }],
      },
    });
    expect(previewPod({ ...base, sources: { podConfigs: [tiny] } }).preview.problems.join()).toMatch(/No address/);
  });
});
