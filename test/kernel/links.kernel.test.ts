/**
 * The tier is worth something only if its kernel really has what others lack. Asked of iproute2, so that a gap of the kernel is not
 * taken for one of ours.
 */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const kinds: Record<string, string> = {
  bond: 'type bond',
  bridge: 'type bridge vlan_filtering 1',
  dummy: 'type dummy',
  erspan: 'type erspan local 192.0.2.1 remote 192.0.2.2 seq key 1 erspan_ver 1',
  geneve: 'type geneve id 7 remote 192.0.2.2',
  gre: 'type gre local 192.0.2.1 remote 192.0.2.2',
  gretap: 'type gretap local 192.0.2.1 remote 192.0.2.2',
  ifb: 'type ifb',
  ip6gre: 'type ip6gre local 2001:db8::1 remote 2001:db8::2',
  ip6gretap: 'type ip6gretap local 2001:db8::1 remote 2001:db8::2',
  ip6tnl: 'type ip6tnl local 2001:db8::1 remote 2001:db8::2',
  ipip: 'type ipip local 192.0.2.1 remote 192.0.2.2',
  ipvlan: 'link parent type ipvlan mode l2',
  ipvtap: 'link parent type ipvtap mode l2',
  macvlan: 'link parent type macvlan mode bridge',
  macvtap: 'link parent type macvtap mode bridge',
  netkit: 'type netkit',
  nlmon: 'type nlmon',
  sit: 'type sit local 192.0.2.1 remote 192.0.2.2',
  veth: 'type veth peer name probe-peer',
  vlan: 'link parent type vlan id 7',
  'vlan 802.1ad': 'link parent type vlan proto 802.1ad id 7',
  vrf: 'type vrf table 10',
  vxlan: 'type vxlan dstport 4789 external',
  wireguard: 'type wireguard',
  xfrm: 'link parent type xfrm if_id 7',
};

const disciplines = ['tbf rate 1mbit burst 4k latency 50ms', 'htb', 'fq_codel', 'netem delay 1ms', 'ingress', 'clsact'];

describe('the kernel of the test machine', () => {
  const namespace = `probe-${process.pid}`;
  /** One process for several commands: starting one takes a tenth of a second in emulation. */
  const run = (program: 'ip' | 'tc', ...commands: string[]) =>
    execFileSync(program, ['-n', namespace, '-d', '-batch', '-'], { encoding: 'utf8', input: commands.join('\n') });

  beforeAll(() => {
    execFileSync('ip', ['netns', 'add', namespace]);
    run('ip', 'link add parent type dummy');
  });
  afterAll(() => execFileSync('ip', ['netns', 'delete', namespace]));

  it.for(Object.entries(kinds))('offers %s links', ([kind, how]) => {
    const shown = run('ip', `link add probe ${how}`, 'link show probe', 'link delete probe');
    expect(shown).toContain('probe');
    expect(shown).toMatch(new RegExp(`\\b${kind.split(' ').at(-1)}\\b`, 'i'));
  });

  it('offers tap devices', () => {
    const shown = run('ip', 'tuntap add probe mode tap', 'link show probe', 'link delete probe');
    expect(shown).toContain('tun type tap');
  });

  it.for(disciplines)('offers the queueing discipline %s', (how) => {
    const [kind] = how.split(' ');
    const place = kind === 'ingress' || kind === 'clsact' ? '' : 'root';
    const shown = run(
      'tc',
      `qdisc add dev parent ${place} ${how}`,
      'qdisc show dev parent',
      `qdisc delete dev parent ${place || kind}`,
    );
    expect(shown).toContain(`qdisc ${kind} `);
  });
});
