/** Changes of the primary link against the real kernel: all or nothing, and only on the link that is meant. */
import type { PodNetworkSpec } from '@podloom/api';
import { type DesiredPod, linkGroup } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { podSpec } from '../testing/specs.ts';
import { type World, makeWorld, plan, tool } from '../testing/world.ts';
import { type Outcome, applySteps } from './run.ts';

type Primary = NonNullable<PodNetworkSpec['primary']>;
type Wish = Partial<Omit<Primary, 'sources'>>;

/** All settings are granted where a test does not say which. */
const primaryOf = (wish: Wish): Primary => ({
  interfaceName: 'eth0',
  ...(wish.sysctls ? { grantedSysctls: Object.keys(wish.sysctls) } : {}),
  ...wish,
  sources: [],
});

const asked = (world: World, wish: Wish | undefined) => ({
  spec: podSpec('uid-a', [], wish ? { primary: primaryOf(wish) } : {}),
  pod: world.pods[0]!,
  pid: 11,
});

/** Records, then changes. */
function change(
  world: World,
  wish: Wish | undefined,
  record?: DesiredPod['primaryRecord'],
): Outcome & { readonly record: DesiredPod['primaryRecord'] } {
  const served = asked(world, wish);
  let next = plan(world, served, record);
  if (next.recordFirst) next = plan(world, served, next.primary?.record);
  return { ...applySteps(next.steps, { node: world.node, pod: served.pod }), record: next.primary?.record };
}

const mtuOf = (world: World, link = 'eth0'): number | undefined => world.pods[0]!.link.get(link).mtu;

/** The MAC that the node has for an address after it has asked everybody on the bridge of the cluster's CNI plugin. */
function askFor(world: World, address: string): string | undefined {
  expect(() => tool(world.node, 'ping', '-c', '1', '-W', '4', address)).toThrow('Command failed');
  const entries = JSON.parse(tool(world.node, 'ip', '-json', 'neigh', 'show', 'to', address, 'dev', 'cni0')) as {
    lladdr?: string;
  }[];
  return entries[0]?.lladdr;
}

describe('a pod on a bridge that asks for proxy ARP and forwarding', () => {
  it('does not answer for its neighbours, unless a NetworkGrant allows it', () => {
    using world = makeWorld();
    const pod = world.pods[0]!;
    const neighbour = '10.244.0.77';
    // Any tenant can have this: a link of the pod's own, and a route over it.
    pod.link.add({ kind: 'bridge', name: 'net1' });
    pod.link.set('net1', { up: true });
    pod.route.add({ dst: `${neighbour}/32`, link: 'net1' });
    pod.sysctl.set('ipv4/neigh/eth0/proxy_delay', '0');

    const sysctls = { 'net.ipv4.conf.forwarding': '1', 'net.ipv4.conf.proxy_arp': '1' };
    change(world, { sysctls, grantedSysctls: [] });
    expect(askFor(world, neighbour)).toBeUndefined();
    tool(world.node, 'ip', 'neigh', 'flush', 'all');

    const { record } = change(world, { sysctls });
    expect(askFor(world, neighbour)).toBe(pod.link.get('eth0').address);
    tool(world.node, 'ip', 'neigh', 'flush', 'all');

    change(world, { sysctls, grantedSysctls: [] }, record);
    expect(askFor(world, neighbour)).toBeUndefined();
  });
});

describe('the primary link', () => {
  it('is as it was when one of its changes fails', () => {
    using world = makeWorld();
    const { errors } = change(world, {
      mtuBytes: 1300,
      txQueueLength: 77,
      sysctls: { 'net.ipv4.conf.arp_ignore': '1', 'net.ipv4.conf.rp_filter': 'abc' },
    });
    expect(errors).toMatchObject([{ code: 'EINVAL' }]);
    expect(mtuOf(world)).toBe(1500);
    expect(world.pods[0]!.link.get('eth0').txqlen).toBe(1000);
    expect(world.pods[0]!.sysctl.get('ipv4/conf/eth0/arp_ignore')).toBe('0');
  });

  it('does not keep a stray link of ours from going when it fails', () => {
    using world = makeWorld();
    world.pods[0]!.link.add({ kind: 'veth', name: 'stray', group: linkGroup, peer: { name: 'peer' } });
    const { errors } = change(world, { mtuBytes: 1300, sysctls: { 'net.ipv4.conf.rp_filter': 'abc' } });
    expect(errors).toHaveLength(1);
    expect(world.pods[0]!.link.list().map(({ name }) => name)).not.toContain('stray');
  });

  it('is refused a value that the kernel keeps as another, and told which', () => {
    using world = makeWorld();
    const name = 'net.ipv4.neigh.retrans_time_ms';
    const { errors } = change(world, { mtuBytes: 1300, sysctls: { [name]: '1001' } });
    const [, kept] = /the kernel keeps (\d+) instead of 1001; ask for \1/.exec(String(errors[0])) ?? [];
    expect(mtuOf(world)).toBe(1500);
    const next = change(world, { mtuBytes: 1300, sysctls: { [name]: kept! } });
    expect(next.errors).toEqual([]);
    const after = plan(world, asked(world, { mtuBytes: 1300, sysctls: { [name]: kept! } }), next.record);
    expect(after).toMatchObject({ steps: [], primary: { state: 'Attached' } });
  });

  it('is done with a number that the kernel spells otherwise', () => {
    using world = makeWorld();
    const wish = { sysctls: { 'net.ipv4.conf.rp_filter': '02' } };
    const { errors, record } = change(world, wish);
    expect(errors).toEqual([]);
    expect(plan(world, asked(world, wish), record).steps).toEqual([]);
  });

  it('has no setting that cannot be read, and says so', () => {
    using world = makeWorld();
    const wish = { sysctls: { 'net.ipv6.conf.stable_secret': '2001:db8::1' } };
    expect(plan(world, asked(world, wish)).primary).toMatchObject({ state: 'Failed', reason: 'SettingMissing' });
  });

  it('keeps the IPv6 that the CNI plugin gave it', () => {
    using world = makeWorld();
    const pod = world.pods[0]!;
    expect(change(world, { mtuBytes: 1200 }).errors).toEqual([]);
    expect(mtuOf(world)).toBe(1200);
    pod.link.set('eth0', { mtu: 1500 });
    pod.address.add({ link: 'eth0', address: 'fd00:244::2/64' });
    for (const wish of [{ mtuBytes: 1200 }, { sysctls: { 'net.ipv6.conf.disable_ipv6': '1' } }]) {
      const { primary, steps } = plan(world, asked(world, wish));
      expect([primary?.reason, steps]).toEqual(['LosesIpv6', []]);
      expect(primary?.message).toContain('fd00:244::2/64');
    }
  });

  it('gets back its settings also where another hid them meanwhile', () => {
    using world = makeWorld();
    const pod = world.pods[0]!;
    pod.sysctl.set('ipv6/conf/eth0/accept_ra', '2');
    const sysctls = { 'net.ipv6.conf.accept_ra': '0' };
    let { record } = change(world, { sysctls });
    ({ record } = change(world, { mtuBytes: 1200, sysctls }, record));
    expect(() => pod.sysctl.get('ipv6/conf/eth0/accept_ra')).toThrow('ENOENT');
    for (let i = 0; i < 3; i += 1) ({ record } = change(world, undefined, record));
    expect([mtuOf(world), pod.sysctl.get('ipv6/conf/eth0/accept_ra'), record]).toEqual([1500, '2', undefined]);
  });

  it('is restored before another one is changed', () => {
    using world = makeWorld();
    world.pods[0]!.link.add({ kind: 'bridge', name: 'net1', mtu: 9000 });
    const first = change(world, { mtuBytes: 1400, routes: [{ to: '198.51.100.0/24' }] });
    const wish = { interfaceName: 'net1', mtuBytes: 2000 };
    const second = change(world, wish, first.record);
    expect([mtuOf(world), mtuOf(world, 'net1')]).toEqual([1500, 9000]);
    expect(world.pods[0]!.route.list({ protocol: 149 })).toEqual([]);
    const third = change(world, wish, second.record);
    expect([mtuOf(world), mtuOf(world, 'net1')]).toEqual([1500, 2000]);
    change(world, undefined, third.record);
    expect([mtuOf(world), mtuOf(world, 'net1')]).toEqual([1500, 9000]);
  });
});
