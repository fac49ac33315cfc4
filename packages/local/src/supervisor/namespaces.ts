/**
 * The namespaces that a cluster lives in. The control plane has a network of its own with a bridge in it; each node has
 * a network, mounts and a host name of its own. A process that does nothing holds each open. All that the host sees is one
 * link into the control plane's network, and when the processes are gone, so is everything else: nothing can be left mounted,
 * routed or filtered, however the cluster ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { ClusterPlan, NodePlan } from '../cluster/plan.ts';
import { run } from '../process/run.ts';
import { waitFor } from '../process/wait.ts';

export interface Holder {
  name: string;
  pid: number;
  /** Resolves when the process has ended, which it should not. */
  ended: Promise<void>;
}

export async function startHolder(name: string, kinds: readonly string[], pause: string): Promise<Holder> {
  const child = spawn('unshare', [...kinds, pause], { stdio: 'ignore', env: {} });
  const pid = await spawned(child);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // Once it runs the program, it is in its new namespaces.
  await waitFor(async () => (await readFile(`/proc/${pid}/comm`, 'utf8')).trim() === 'pause', {
    what: `The namespaces of ${name}`,
    timeoutMs: 10_000,
    everyMs: 5,
  });
  return { name, pid, ended };
}

async function spawned(child: ChildProcess): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return child.pid ?? 0;
}

export const networkOnly = ['--net'];
export const wholeNode = ['--net', '--uts', '--mount', '--propagation', 'private'];

/** Arguments of nsenter that lead to where a holder is. */
export function enterNetwork(pid: number): string[] {
  return ['--target', String(pid), '--net', '--'];
}

export function enterNode(pid: number): string[] {
  return ['--target', String(pid), '--net', '--uts', '--mount', '--'];
}

/** Puts bridge, links, addresses and routes in place, in namespaces that are still empty. */
export async function buildNetwork(
  plan: ClusterPlan,
  control: Holder,
  nodes: ReadonlyMap<string, Holder>,
): Promise<void> {
  const { controlAddress, hostAddress, hostLink, members, podRange, serviceRange } = plan;
  const firstNode = members[0]?.address;
  await batch(control.pid, [
    'link set lo up',
    'link add br0 type bridge',
    `address add ${controlAddress}/24 dev br0`,
    'link set br0 up',
    `link add host type veth peer name ${hostLink} netns ${process.pid}`,
    'link set host master br0 up',
    ...members.flatMap(({ name }) => [
      `link add ${name} type veth peer name eth0 netns ${nodes.get(name)?.pid}`,
      `link set ${name} master br0 up`,
    ]),
    ...members.map((node) => `route add ${node.podRange} via ${node.address}`),
    // The API server calls webhooks and aggregated servers by their services' addresses; a node knows what these mean.
    `route add ${serviceRange} via ${firstNode}`,
  ]);
  await Promise.all([
    allowForwarding(control.pid),
    batch(process.pid, [
      `address add ${hostAddress}/24 dev ${hostLink}`,
      `link set ${hostLink} up`,
      `route add ${podRange} via ${controlAddress}`,
      `route add ${serviceRange} via ${controlAddress}`,
    ]),
    ...members.map(async (node) => connectNode(plan, node, nodes.get(node.name)?.pid ?? 0)),
  ]);
}

async function connectNode(plan: ClusterPlan, node: NodePlan, pid: number): Promise<void> {
  await batch(pid, [
    'link set lo up',
    `address add ${node.address}/24 dev eth0`,
    'link set eth0 up',
    // Nothing answers there; but a packet to a service must have a way before kube-proxy gets to change where it goes.
    `route add default via ${plan.controlAddress}`,
    ...plan.members
      .filter((other) => other.name !== node.name)
      .map((other) => `route add ${other.podRange} via ${other.address}`),
  ]);
  await allowForwarding(pid);
}

async function batch(pid: number, lines: readonly string[]): Promise<void> {
  await run('nsenter', [...enterNetwork(pid), 'ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
}

async function allowForwarding(pid: number): Promise<void> {
  await run('nsenter', [...enterNetwork(pid), 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
}

/**
 * A node's own view of the file system: its /run is empty, /etc, /opt and /var are the machine's with changes kept apart, and
 * what other software expects at well-known places (sockets, CNI, the kubelet's folder) is the node's own there. So a
 * DaemonSet mounts the same paths on every node, as on real machines.
 */
const ownFileSystem = `
set -eu
state=$1 node=$2 name=$3
echo "$name" > /proc/sys/kernel/hostname
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lock /run/cgroup /run/state
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
umount -l /run/cgroup
mount --bind "$state" /run/state
for dir in /etc /opt /var; do
  mkdir -p "/run/changes$dir/upper" "/run/changes$dir/work"
  mount -t overlay -o "lowerdir=$dir,upperdir=/run/changes$dir/upper,workdir=/run/changes$dir/work" overlay "$dir"
done
mount --move /run/state "$state"
rmdir /run/cgroup /run/state
while read -r own place; do
  mkdir -p "$node/$own" "$place"
  mount --bind "$node/$own" "$place"
done <<'END'
containerd /var/lib/containerd
kubelet /var/lib/kubelet
pod-logs /var/log/pods
cni-conf /etc/cni/net.d
cni-bin /opt/cni/bin
END
mount --make-rshared /
`;

export async function buildFileSystem(plan: ClusterPlan, node: NodePlan, pid: number): Promise<void> {
  await run('nsenter', [...enterNode(pid), 'sh', '-c', ownFileSystem, 'sh', plan.dir, node.dir, node.name]);
}
