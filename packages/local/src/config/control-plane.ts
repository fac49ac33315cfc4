/** Command lines of the control plane, as pure functions of where things are. */
import { join } from 'node:path';

export interface EtcdPlace {
  dataDir: string;
  pki: string;
  clientPort: number;
  peerPort: number;
  /** Skips fsync: quick, and safe against the death of etcd itself but not of the machine. */
  unsafeNoFsync: boolean;
}

export function etcdArgs({ dataDir, pki, clientPort, peerPort, unsafeNoFsync }: EtcdPlace): string[] {
  const client = `https://127.0.0.1:${clientPort}`;
  const peer = `https://127.0.0.1:${peerPort}`;
  return [
    '--name=etcd',
    `--data-dir=${dataDir}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=etcd=${peer}`,
    ...tls('', pki),
    ...tls('peer-', pki),
    '--client-cert-auth=true',
    '--peer-client-cert-auth=true',
    // One member: an election has nobody to wait for.
    '--heartbeat-interval=20',
    '--election-timeout=200',
    ...(unsafeNoFsync ? ['--unsafe-no-fsync'] : []),
  ];
}

function tls(prefix: string, pki: string): string[] {
  return [
    `--${prefix}cert-file=${join(pki, 'etcd.crt')}`,
    `--${prefix}key-file=${join(pki, 'etcd.key')}`,
    `--${prefix}trusted-ca-file=${join(pki, 'ca.crt')}`,
  ];
}

/** Where the API server looks for whom else to believe; it must be there before it starts. */
export function authenticationFile(dir: string): string {
  return join(dir, 'authentication.json');
}

export interface ApiServerPlace {
  authentication: string;
  pki: string;
  etcdPort: number;
  address: string;
  port: number;
  serviceRange: string;
}

export function apiServerArgs({
  authentication,
  pki,
  etcdPort,
  address,
  port,
  serviceRange,
}: ApiServerPlace): string[] {
  const file = (name: string) => join(pki, name);
  return [
    `--etcd-servers=https://127.0.0.1:${etcdPort}`,
    `--etcd-cafile=${file('ca.crt')}`,
    `--etcd-certfile=${file('etcd.crt')}`,
    `--etcd-keyfile=${file('etcd.key')}`,
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--kubelet-certificate-authority=${file('ca.crt')}`,
    `--kubelet-client-certificate=${file('apiserver-kubelet-client.crt')}`,
    `--kubelet-client-key=${file('apiserver-kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--service-account-key-file=${file('service-account.pub')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-cluster-ip-range=${serviceRange}`,
    `--requestheader-client-ca-file=${file('ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${file('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${file('front-proxy-client.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--anonymous-auth=false',
    `--authentication-config=${authentication}`,
    '--allow-privileged=true',
    '--profiling=false',
  ];
}

export interface ControllerPlace {
  pki: string;
  podRange: string;
  volumePlugins: string;
}

export function controllerManagerArgs({ pki, podRange, volumePlugins }: ControllerPlace): string[] {
  const file = (name: string) => join(pki, name);
  const kubeconfig = file('controller-manager.kubeconfig');
  return [
    ...loopbackServing(pki, 'controller-manager'),
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--use-service-account-credentials=true',
    `--root-ca-file=${file('ca.crt')}`,
    `--service-account-private-key-file=${file('service-account.key')}`,
    `--cluster-signing-cert-file=${file('ca.crt')}`,
    `--cluster-signing-key-file=${file('ca.key')}`,
    `--cluster-cidr=${podRange}`,
    // Ranges are in the nodes' CNI configuration, where a node finds its own before it has met the API server.
    '--allocate-node-cidrs=false',
    // Made if it is absent, and the default is outside of what is ours.
    `--flex-volume-plugin-dir=${volumePlugins}`,
    '--leader-elect=false',
    '--profiling=false',
  ];
}

export function schedulerArgs(pki: string): string[] {
  const kubeconfig = join(pki, 'scheduler.kubeconfig');
  return [
    ...loopbackServing(pki, 'scheduler'),
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--profiling=false',
  ];
}

/** Without a pair of their own they write a self-signed one to a folder outside ours. */
function loopbackServing(pki: string, name: string): string[] {
  return [
    '--bind-address=127.0.0.1',
    `--tls-cert-file=${join(pki, `${name}.crt`)}`,
    `--tls-private-key-file=${join(pki, `${name}.key`)}`,
  ];
}
