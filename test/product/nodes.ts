/** The nodes of a private cluster from below: their network, that of their pods, and the processes on them. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { clusterStatus } from '@podloom/local';
import type { Pod, PodNetwork } from './objects.ts';

const run = promisify(execFile);
/** IFLA_GROUP of every link of ours, and the protocol of our rules and routes, as `ip` prints them. */
const group = '1886348396';
const protocol = '149';

export interface Link {
  readonly name: string;
  readonly mtu: number;
  readonly mac: string;
  readonly alias: string;
  /** Without the link-local ones, which the kernel gives. */
  readonly addresses: readonly string[];
}

export interface Nodes {
  readonly names: readonly string[];
  /** A command in the network of a node; the text that it printed. */
  onNode(node: string, ...command: string[]): Promise<string>;
  /** A command in the network of a pod, with all the rights that its own processes do not have. */
  asRootIn(network: PodNetwork, ...command: string[]): Promise<string>;
  bridges(node: string): Promise<Link[]>;
  /** What others have in the node's network: it must be the same whatever we do. */
  foreign(node: string): Promise<Record<string, string[]>>;
  /** Links, rules and routes of ours, on all nodes. */
  ours(): Promise<string[]>;
  /** Finds the first process of each pod; what it returns is SIGKILL for them, at once, and says how many it hit: one that is gone already is none. */
  aim(pods: readonly Pod[]): () => number;
}

const enter = async (pid: number, ...command: string[]): Promise<string> =>
  (await run('nsenter', ['--target', String(pid), '--net', '--', ...command], { maxBuffer: 64 << 20 })).stdout;

interface IpLink {
  readonly ifname: string;
  readonly mtu: number;
  readonly address: string;
  readonly ifalias?: string;
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number; readonly scope: string }[];
}

/** What `ip -j address` printed, by name. */
export const readLinks = (text: string): Link[] =>
  (JSON.parse(text) as IpLink[])
    .map(({ ifname, mtu, address, ifalias = '', addr_info: addresses }) => ({
      name: ifname,
      mtu,
      mac: address,
      alias: ifalias,
      addresses: addresses
        .filter(({ scope }) => scope !== 'link')
        .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

export async function openNodes(cluster: string): Promise<Nodes> {
  const status = await clusterStatus({ name: cluster });
  const holders = new Map(status.nodes.map(({ name, pid }) => [name, pid ?? 0]));
  const nodes: Nodes = {
    names: [...holders.keys()],
    onNode: (node, ...command) => enter(holders.get(node) ?? 0, ...command),
    asRootIn: (network, ...command) => enter(network.status?.podPid ?? 0, ...command),
    bridges: async (node) => readLinks(await nodes.onNode(node, 'ip', '-j', '-d', 'address', 'show', 'type', 'bridge')),
    async foreign(node) {
      const lines = async (...command: string[]): Promise<string[]> =>
        (await nodes.onNode(node, ...command))
          .replaceAll(/counter packets \d+ bytes \d+/g, 'counter')
          .split('\n')
          .filter((line) => line !== '' && !line.includes(`proto ${protocol}`));
      return {
        links: (await lines('ip', '-o', 'link')).filter((line) => !line.includes(`group ${group}`)),
        mainTable: await lines('ip', 'route', 'show', 'table', 'main'),
        mainTable6: await lines('ip', '-6', 'route', 'show', 'table', 'main'),
        rules: await lines('ip', '-d', 'rule'),
        rules6: await lines('ip', '-d', '-6', 'rule'),
        nft: await lines('nft', 'list', 'ruleset'),
      };
    },
    async ours() {
      const found = await Promise.all(
        nodes.names.map(async (node) => {
          const [links, ...routing] = await Promise.all([
            nodes.onNode(node, 'ip', '-o', 'link'),
            ...['-4', '-6'].flatMap((family) => [
              nodes.onNode(node, 'ip', family, '-d', 'rule'),
              nodes.onNode(node, 'ip', family, 'route', 'show', 'table', 'all'),
            ]),
          ]);
          const marked = [
            ...(links ?? '').split('\n').filter((line) => line.includes(`group ${group}`)),
            ...routing.flatMap((text) => text.split('\n')).filter((line) => line.includes(`proto ${protocol}`)),
          ];
          return marked.map((line) => `${node} ${line}`);
        }),
      );
      return found.flat();
    },
    aim(pods) {
      const running = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
      const processes = running.map((pid) => ({ pid: Number(pid), group: groupOf(pid) })).toSorted(byPid);
      const pids = pods.map(({ status }) => {
        const id = status.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? 'none';
        const first = processes.find(({ group }) => group.includes(id));
        if (first === undefined) throw new Error(`No process of container ${id}`);
        return first.pid;
      });
      return () => pids.filter(kill).length;
    },
  };
  return nodes;
}

const byPid = (a: { pid: number }, b: { pid: number }): number => a.pid - b.pid;

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** A process may go while it is looked at. */
function groupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
