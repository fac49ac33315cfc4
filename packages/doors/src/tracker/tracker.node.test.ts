/** Real connections between two namespaces, of which one counts. */
import { createMetrics } from '@podloom/kube';
import { type Netns, open } from '@podloom/netlink';
import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { trackerSettings } from './settings.ts';
import { startTracking } from './tracker.ts';

let bastion: Netns;
let instances: Netns;
beforeEach(() => {
  bastion = open({ create: true });
  instances = open({ create: true });
  bastion.link.set('lo', { up: true });
  bastion.link.add({ kind: 'veth', name: 'eth0', up: true, peer: { name: 'eth0', netns: instances } });
  instances.link.set('eth0', { up: true });
  bastion.address.add({ link: 'eth0', address: '10.0.0.1/24' });
  bastion.address.add({ link: 'eth0', address: 'fd00::1/64', flags: 2 });
  for (const address of ['10.0.0.2/24', '10.0.0.3/24']) instances.address.add({ link: 'eth0', address });
});
afterEach(() => {
  bastion.close();
  instances.close();
});

const settings = (...args: string[]) => trackerSettings.read({ args, env: {} });

/** Whether anybody listens there does not matter: the first packet goes out. */
function connect(from: Netns, address: string, port: number): void {
  const script = [
    'import socket, sys',
    's = socket.socket(socket.AF_INET)',
    's.settimeout(5)',
    's.connect_ex((sys.argv[1], int(sys.argv[2])))',
  ].join('\n');
  const netns = `--net=/proc/${process.pid}/fd/${from.fd}`;
  execFileSync('nsenter', [netns, 'python3', '-c', script, address, String(port)]);
}

describe('the tracker', () => {
  it('counts connections that go out to the port, by destination', async () => {
    const metrics = createMetrics();
    using _ = startTracking(bastion, settings(), metrics);
    connect(bastion, '10.0.0.2', 22);
    connect(bastion, '10.0.0.2', 22);
    connect(bastion, '10.0.0.3', 22);
    connect(bastion, '10.0.0.3', 80);
    connect(instances, '10.0.0.1', 22);
    connect(bastion, '10.0.0.3', 22);
    await vi.waitFor(
      async () => {
        const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('bastion_ssh_connections{'));
        expect(lines).toEqual([
          'bastion_ssh_connections{destination_ip="10.0.0.2",destination_port="22"} 2',
          'bastion_ssh_connections{destination_ip="10.0.0.3",destination_port="22"} 2',
        ]);
      },
      { timeout: 30_000 },
    );
    expect(await metrics.text()).toContain('podloom_ssh_tracker_lost 0');
  });

  it('listens to one link where that is asked for, and says which one is not there', () => {
    const metrics = createMetrics();
    startTracking(bastion, settings('--ssh-tracker-interface', 'eth0'), metrics)[Symbol.dispose]();
    expect(() => startTracking(bastion, settings('--ssh-tracker-interface', 'eth7'), metrics)).toThrow(
      'There is no link "eth7" here; --ssh-tracker-interface=any takes all',
    );
  });
});
