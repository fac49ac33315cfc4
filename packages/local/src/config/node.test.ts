import { describe, expect, it } from 'vitest';
import { planCluster } from '../cluster/plan.ts';
import { kubeletArgs, renderCni, renderContainerd, renderCorefile, renderKubelet } from './node.ts';

const plan = planCluster('/var/lib/podloom', { name: 'demo', network: 90, nodes: 2 });
const [first, second] = plan.members;
if (!first || !second) throw new Error('A plan of two nodes has two');

describe('configuration of a node', () => {
  it('puts sockets and CNI where software looks for them on any node', () => {
    const text = renderContainerd(plan);
    for (const line of [
      "address = '/run/containerd/containerd.sock'",
      "bin_dirs = ['/opt/cni/bin']",
      "conf_dir = '/etc/cni/net.d'",
      "socket_path = '/var/run/nri/nri.sock'",
      "config_path = '/var/lib/podloom/demo/registries'",
    ]) {
      expect(text).toContain(line);
    }
  });

  it('gives each node pods from a range of its own', () => {
    const subnets = [first, second].map((node) => /"subnet": "([^"]+)"/.exec(renderCni(node))?.[1]);
    expect(subnets).toEqual(['10.90.65.0/24', '10.90.66.0/24']);
  });

  it('points kubelets at the cluster DNS and at their own control group', () => {
    const config = JSON.parse(renderKubelet(plan, second)) as Record<string, unknown>;
    expect(config).toMatchObject({ clusterDNS: ['10.90.128.10'], cgroupRoot: '/podloom-demo/n2' });
    expect(kubeletArgs(plan, second)).toContain('--node-ip=10.90.0.12');
  });

  it('lets CoreDNS listen where the service for DNS leads', () => {
    expect(renderCorefile(plan)).toContain('bind 10.90.0.1');
  });
});
