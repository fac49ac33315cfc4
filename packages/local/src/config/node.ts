/** Configuration files of a node, as pure functions of the cluster's plan. Paths in them are as the node sees them. */
import type { ClusterPlan, NodePlan } from '../cluster/plan.ts';

export const pauseImageName = 'podloom.local/pause:v1';

/** Where every node has these, whichever node it is: the places where other software looks for them. */
export const nodePaths = {
  containerdSocket: '/run/containerd/containerd.sock',
  nriSocket: '/var/run/nri/nri.sock',
  cniBinDir: '/opt/cni/bin',
  cniConfDir: '/etc/cni/net.d',
} as const;

/** One folder a registry, as `HOST:PORT/hosts.toml`. All nodes share it, and containerd reads it anew for each pull. */
export function registriesDir(plan: ClusterPlan): string {
  return `${plan.dir}/registries`;
}

export function renderContainerd(plan: ClusterPlan): string {
  const runtime = `plugins.'io.containerd.cri.v1.runtime'`;
  const images = `plugins.'io.containerd.cri.v1.images'`;
  return `version = 3
root = '/var/lib/containerd'
state = '/run/containerd'

[grpc]
address = '${nodePaths.containerdSocket}'

[${images}]
snapshotter = 'overlayfs'

[${images}.pinned_images]
sandbox = '${pauseImageName}'

[${images}.registry]
config_path = '${registriesDir(plan)}'

[${runtime}]
# A machine may withhold CAP_SYS_RESOURCE, without which no process can be made less likely to be killed.
restrict_oom_score_adj = true

[${runtime}.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[${runtime}.containerd.runtimes.runc.options]
SystemdCgroup = false

[${runtime}.cni]
bin_dirs = ['${nodePaths.cniBinDir}']
conf_dir = '${nodePaths.cniConfDir}'

[plugins.'io.containerd.nri.v1.nri']
disable = false
socket_path = '${nodePaths.nriSocket}'
`;
}

/** Every pod has a link of its own to the node and is routed: bridged pods would miss kube-proxy on the way back. */
export function renderCni(node: NodePlan): string {
  return json({
    cniVersion: '1.0.0',
    name: 'podloom',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: { type: 'host-local', ranges: [[{ subnet: node.podRange }]], routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'portmap', backend: 'nftables', capabilities: { portMappings: true } },
    ],
  });
}

export function renderKubelet(plan: ClusterPlan, node: NodePlan): string {
  const pki = (name: string) => `${plan.pki}/${name}`;
  return json({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: pki('ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: pki(`${node.name}.crt`),
    tlsPrivateKeyFile: pki(`${node.name}.key`),
    clusterDNS: [plan.dnsAddress],
    clusterDomain: 'cluster.local',
    resolvConf: `${node.dir}/resolv.conf`,
    containerRuntimeEndpoint: `unix://${nodePaths.containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${plan.cgroup}/${node.name}`,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: ['pods'],
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    // The default folder is outside of what belongs to the node.
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    // The disk is this machine's, and its owner's to watch: a node must not evict pods for what others put there.
    localStorageCapacityIsolation: false,
    evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    nodeStatusUpdateFrequency: '5s',
  });
}

export function kubeletArgs(plan: ClusterPlan, node: NodePlan): string[] {
  return [
    `--config=${node.dir}/kubelet.json`,
    `--kubeconfig=${plan.pki}/${node.name}.kubeconfig`,
    `--hostname-override=${node.name}`,
    `--node-ip=${node.address}`,
  ];
}

export function renderProxy(plan: ClusterPlan, node: NodePlan): string {
  return json({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig: `${plan.pki}/proxy.kubeconfig` },
    clusterCIDR: plan.podRange,
    hostnameOverride: node.name,
    // These settings of the kernel belong to the whole machine.
    conntrack: { maxPerCore: 0, min: 0 },
  });
}

/** Where CoreDNS says whether it knows all names. */
export const dnsReadyPort = 8181;

/** Names of the cluster, and nothing else: pods have no way out that other names could lead to. */
export function renderCorefile(plan: ClusterPlan): string {
  return `.:53 {
    bind ${plan.controlAddress}
    errors
    ready ${plan.controlAddress}:${dnsReadyPort}
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig ${plan.pki}/coredns.kubeconfig
        pods insecure
        ttl 5
    }
    cache 5
    loadbalance
}
`;
}

/**
 * Settings of the whole machine that a kubelet insists on, with the values that it wants. It is shown files with these instead,
 * so that it finds all as it wishes and the machine stays as it was.
 */
export const kubeletSysctls: Record<string, string> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
