/**
 * What a cluster is: its name, the /16 that it lives in, its nodes, and whether its data matter. Everything else (addresses, link names,
 * folders) follows from these by the functions here, so a cluster that comes back after a reboot is the same cluster.
 */
import { join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import type { PartName } from '../parts/part.ts';

/** What is written down. */
export interface ClusterSpec {
  name: string;
  /** The second byte of the cluster's range: 90 stands for 10.90.0.0/16. */
  network: number;
  nodes: number;
  /** Its data need not outlive the machine's power: etcd does not wait for the disk. */
  throwAway?: boolean;
  /** What was added to it, in the order in which that was asked for. */
  parts?: readonly PartName[];
}

export interface NodePlan {
  name: string;
  address: string;
  podRange: string;
  /** The node's own folder: images, volumes, logs. */
  dir: string;
}

export interface ClusterPlan extends ClusterSpec {
  dir: string;
  pki: string;
  logs: string;
  /** The one link that the cluster puts on the host. */
  hostLink: string;
  hostAddress: string;
  /** The control plane's address, for the host, the nodes and the pods. */
  controlAddress: string;
  range: string;
  podRange: string;
  serviceRange: string;
  dnsAddress: string;
  /** Below which every process of the cluster is. */
  cgroup: string;
  members: NodePlan[];
}

export const defaultName = 'podloom';
export const defaultNodes = 2;
const maxNodes = 60;

/** Short enough that `pl-NAME` is a link name (15 bytes) and that sockets below the folder stay under 108. */
export function parseClusterName(text: string): string {
  if (!/^[a-z][a-z0-9-]{0,11}$/.test(text)) {
    throw new InvalidInput(
      'CLUSTER_NAME',
      `"${text}" cannot be a cluster's name: a small letter, then up to 11 small letters, digits or "-"`,
    );
  }
  return text;
}

export function parseNodeCount(count: number): number {
  if (!Number.isInteger(count) || count < 1 || count > maxNodes) {
    throw new InvalidInput('CLUSTER_NODES', `A cluster has 1 to ${maxNodes} nodes, not ${count}`);
  }
  return count;
}

export function planCluster(root: string, spec: ClusterSpec): ClusterPlan {
  const { name, network, nodes } = spec;
  const dir = join(root, name);
  const base = `10.${network}`;
  return {
    ...spec,
    dir,
    pki: join(dir, 'pki'),
    logs: join(dir, 'logs'),
    hostLink: `pl-${name}`,
    hostAddress: `${base}.0.254`,
    controlAddress: `${base}.0.1`,
    range: `${base}.0.0/16`,
    podRange: `${base}.64.0/18`,
    serviceRange: `${base}.128.0/17`,
    dnsAddress: `${base}.128.10`,
    cgroup: `podloom-${name}`,
    members: Array.from({ length: nodes }, (_, index) => ({
      name: `n${index + 1}`,
      address: `${base}.0.${11 + index}`,
      podRange: `${base}.${64 + index + 1}.0/24`,
      dir: join(dir, 'nodes', `n${index + 1}`),
    })),
  };
}

/** The first service address, which the API server takes for itself. */
export function apiServiceAddress({ network }: ClusterSpec): string {
  return `10.${network}.128.1`;
}
