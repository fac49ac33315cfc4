import { type PodNetwork, podNetworkKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { deriveMac, gatewayMac } from '../mac.ts';
import { desire, seen, wish } from '../testing/builders.ts';
import { planPod } from '../plan/pod.ts';
import { simulate } from './simulate.ts';
import { drawPod } from './draw.ts';
import { describePlan } from './plan.ts';
import { describeStep } from './step.ts';

const names = { node: 'node1', pod: 'cnf-test/cnf-a' };

describe('describePlan', () => {
  it('shows a first attachment as the commands that it equals', () => {
    const world = seen();
    const { steps } = planPod(desire([wish({ routes: [{ to: '10.9.0.0/16', via: '192.168.100.1' }] })], world), world);
    const text = describePlan(steps, names)
      .replaceAll(gatewayMac('cnf-test/pcbr0'), 'GATEWAY')
      .replaceAll(deriveMac('cnf-test/pcbr0', '192.168.100.2'), 'PODMAC')
      .replaceAll(/table \d+|lookup \d+/g, (match) => match.replace(/\d+/, 'TABLE'))
      .replace(/'\d+ instructions'/, 'PROGRAM');
    expect(text).toBe(
      [
        '@@ node node1 @@',
        '+ ip link add pcbr0 group 1886348396 address GATEWAY type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
        "~ ip link set pcbr0 addrgenmode none alias 'podloom bridge cnf-test/pcbr0'",
        '+ ip route add unreachable default proto 149 metric 65535 table TABLE',
        '+ ip -6 route add unreachable default proto 149 metric 65535 table TABLE',
        '+ ip rule add pref 4901 iif pcbr0 lookup TABLE protocol 149',
        '+ ip -6 rule add pref 4901 iif pcbr0 lookup TABLE protocol 149',
        '+ ip rule add pref 4900 from 192.168.100.1/32 lookup TABLE protocol 149',
        '+ ip addr add 192.168.100.1/24 brd 192.168.100.255 dev pcbr0 noprefixroute',
        '~ ip link set pcbr0 up',
        '+ ip route add 192.168.100.0/24 dev pcbr0 proto 149 table TABLE',
        '+ ip link add hpc02841804 numtxqueues 1 numrxqueues 1 group 1886348396 address GATEWAY mtu 1500 master pcbr0 type veth peer name pc02841804 numtxqueues 1 numrxqueues 1 address PODMAC mtu 1500 netns POD',
        "~ ip link set hpc02841804 addrgenmode none alias 'podloom pod 6f2c7a90-0000-4000-8000-000000000001 podconfig/a/pc0'",
        '~ bridge link set dev hpc02841804 learning off flood off',
        '+ bridge fdb replace PODMAC dev hpc02841804 master static sticky',
        '~ tc filter replace dev hpc02841804 ingress pref 49001 handle 1 bpf da bytecode PROGRAM',
        '@@ pod cnf-test/cnf-a @@',
        "~ ip link set pc02841804 addrgenmode eui64 alias 'podloom pod 6f2c7a90-0000-4000-8000-000000000001 podconfig/a/pc0'",
        '+ ip addr add 192.168.100.2/24 brd 192.168.100.255 dev pc02841804',
        '~ ip link set pc02841804 up',
        '@@ node node1 @@',
        '~ ip link set hpc02841804 up',
        '@@ pod cnf-test/cnf-a @@',
        '+ ip route add 10.9.0.0/16 via 192.168.100.1 dev pc02841804 proto 149',
        '',
      ].join('\n'),
    );
  });

  it('shows what was there before a change', () => {
    const before = seen();
    const running = simulate(planPod(desire([wish()], before), before).steps, before);
    const { steps } = planPod(desire([wish({ mtuBytes: 9000, addresses: [] })], running), running);
    const text = describePlan(steps, names);
    expect(text).toContain('~ ip link set hpc02841804 mtu 9000  (was mtu 1500)');
    expect(text).toContain('- ip addr del 192.168.100.2/24 dev pc02841804');
  });

  it('says when there is nothing to do', () => {
    expect(describePlan([], names)).toBe('Nothing to do: all is as declared.\n');
  });
});

describe('describeStep', () => {
  it('quotes what a tenant wrote', () => {
    const step = { do: 'setLink', in: 'pod', owner: 'nobody', link: 'net1', set: { alias: `it's; rm -rf /` } } as const;
    expect(describeStep(step)).toBe(`ip link set net1 alias 'it'\\''s; rm -rf /'`);
  });

  it('names a sysctl with its interface', () => {
    const step = {
      do: 'setSysctl',
      in: 'pod',
      owner: 'primary',
      link: 'eth0',
      name: 'net.ipv4.conf.rp_filter',
      value: '2',
    } as const;
    expect(describeStep(step)).toBe('sysctl -w net.ipv4.conf.eth0.rp_filter=2');
  });
});

const podNetwork = (interfaces: unknown[], status: object = {}, more: object = {}): PodNetwork =>
  podNetworkKind.parse({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name: 'cnf-a', namespace: 'cnf-test' },
    spec: { podUid: 'u', nodeName: 'node1', interfaces, ...more },
    status,
  });

describe('drawPod', () => {
  it('draws links, addresses, peers, bridge and node', () => {
    const attached = {
      key: wish().key,
      name: 'pc02841804',
      hostName: 'hpc02841804',
      macAddress: '02:ed:c0:a8:64:02',
      mtuBytes: 1500,
      addresses: ['192.168.100.2/24'],
      bridgeDevice: 'pcbr0',
      state: 'Attached',
    };
    const other = {
      ...wish(),
      key: 'PodConfig/a/pc1',
      namePrefix: 'pc1',
      bridge: undefined,
      link: { type: 'macvlan', parent: 'eth1' },
    };
    const failed = { key: other.key, state: 'Failed', reason: 'UnsupportedLinkType', message: 'Not yet' };
    const primary = {
      interfaceName: 'eth0',
      mtuBytes: 1400,
      sources: [{ apiVersion: 'v', kind: 'PrimaryNetwork', name: 'p' }],
    };
    const drawn = drawPod(
      podNetwork(
        [wish(), other],
        { interfaces: [attached, failed], primary: { before: { mtuBytes: 1500 }, applied: { mtuBytes: 1400 } } },
        { primary },
      ),
    );
    expect(drawn).toBe(
      [
        'pod cnf-test/cnf-a on node node1',
        '├─ pc02841804  192.168.100.2/24  02:ed:c0:a8:64:02  mtu 1500  [Attached]',
        '│  ╰─veth── hpc02841804 ──▶ bridge pcbr0  192.168.100.1/24',
        '│     from PodConfig a',
        '├─ pc1…  192.168.100.2/24  [Failed] UnsupportedLinkType: Not yet',
        '│  ╰─macvlan── parent eth1',
        '│     from PodConfig a',
        "└─ eth0  the cluster's own link, changed: mtu 1400 (was 1500)",
        '      from PrimaryNetwork p',
        '',
      ].join('\n'),
    );
  });

  it('does not take what another link had for what the primary link had', () => {
    const primary = { interfaceName: 'net1', mtuBytes: 1400, sources: [] };
    const drawn = drawPod(podNetwork([], { primary: { before: { mtuBytes: 1500 } } }, { primary }));
    expect(drawn).toContain("net1  the cluster's own link, wanted, not there yet: mtu 1400\n");
  });

  it('tells what of the primary link was changed from what is only asked for', () => {
    const sysctls = { 'net.ipv4.conf.rp_filter': '2' };
    const primary = { interfaceName: 'eth0', mtuBytes: 1400, sysctls, routes: [{ to: '10.9.0.0/16' }], sources: [] };
    const nothing = drawPod(podNetwork([], { primary: { before: { mtuBytes: 1500 } } }, { primary }));
    expect(nothing).toContain(
      'own link, wanted, not there yet: mtu 1400, net.ipv4.conf.rp_filter=2, route 10.9.0.0/16\n',
    );
    const some = drawPod(
      podNetwork([], { primary: { before: { mtuBytes: 65536 }, applied: { mtuBytes: 1400 } } }, { primary }),
    );
    expect(some).toContain('own link, changed: mtu 1400 (was 65536); wanted, not there yet: net.ipv4.conf.rp_filter=2');
  });

  it('draws what the pod waits for', () => {
    const source = { apiVersion: 'v1', kind: 'PodConfig', name: 'c' };
    const waiting = [{ source, reason: 'Exhausted', message: 'No address of br is free' }];
    expect(drawPod(podNetwork([], {}, { waiting }))).toContain(
      '└─ [Waiting] Exhausted: No address of br is free\n      from PodConfig c\n',
    );
  });

  it('says when there is nothing to draw', () => {
    expect(drawPod(podNetwork([]))).toContain("no networks besides the cluster's own");
  });
});
