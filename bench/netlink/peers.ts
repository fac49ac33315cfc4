/** Everybody who can attach a pod, behind one interface, so that they take turns. Times are milliseconds. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { open, type Netns } from '@podloom/netlink';

export interface Peer {
  readonly name: string;
  /** How many pods it gets where the others get a thousand, because it would take minutes. */
  readonly many: number;
  /** One after the other; a time for each pod. */
  readonly attach: (pods: readonly number[]) => number[];
  readonly detach: (pods: readonly number[]) => number[];
  /** In the quickest way that it has; one time for all. */
  readonly attachAll: (pods: readonly number[]) => number;
  readonly detachAll: (pods: readonly number[]) => number;
}

export const bridge = 'br0';
const group = 7;
/** The kernel takes the index of a veth's peer only if the link's own is given too. */
const homeIndex = 100_000;
const podIndex = 100;
export const podPath = (pod: number): string => `/run/netns/pod-${pod}`;
const podAddress = (pod: number): string => `10.0.${(pod + 2) >> 8}.${(pod + 2) & 255}/16`;

export function timed(work: () => void): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e6;
}

function settle(pod: number, netns: Netns): void {
  netns.batch(({ address, link }) => {
    address.add({ link: podIndex, address: podAddress(pod) });
    link.set(podIndex, { up: true });
  });
}

/** As the agent makes them: the kernel is spared to take the others away again. */
const oneQueue = { numTxQueues: 1, numRxQueues: 1 };

export function podloom(home: Netns): Peer {
  const master = home.link.indexOf(bridge);
  const veth = (pod: number, netns: Netns) =>
    ({
      kind: 'veth',
      name: `bench-${pod}`,
      index: homeIndex + pod,
      master,
      group,
      up: true,
      ...oneQueue,
      peer: { name: 'net1', index: podIndex, netns, ...oneQueue },
    }) as const;
  const attach = (pod: number) => {
    using netns = open({ path: podPath(pod) });
    home.link.add(veth(pod, netns));
    settle(pod, netns);
  };
  const attachAll = (pods: readonly number[]) => {
    const all = pods.map((pod) => ({ pod, netns: open({ path: podPath(pod) }) }));
    home.batch(({ link }) => all.forEach(({ pod, netns }) => link.add(veth(pod, netns))));
    for (const { pod, netns } of all) {
      settle(pod, netns);
      netns.close();
    }
  };
  return {
    name: 'podloom',
    many: 1000,
    attach: (pods) => pods.map((pod) => timed(() => attach(pod))),
    detach: (pods) => pods.map((pod) => timed(() => home.link.delete(`bench-${pod}`))),
    attachAll: (pods) => timed(() => attachAll(pods)),
    detachAll: () => timed(() => home.link.deleteGroup(group)),
  };
}

export function floor(folder: string): Peer {
  const run = (...args: (string | number)[]) => floorTimes(folder, args);
  return {
    name: 'C floor',
    many: 1000,
    attach: (pods) => run('attach', bridge, pods[0]!, pods.length, group),
    detach: (pods) => run('detach', pods[0]!, pods.length),
    attachAll: (pods) => run('attach-all', bridge, pods[0]!, pods.length, group)[0]!,
    detachAll: () => run('detach-all', group)[0]!,
  };
}

export function floorTimes(folder: string, args: readonly (string | number)[]): number[] {
  const output = execFileSync(join(folder, 'floor'), args.map(String), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return output
    .trim()
    .split('\n')
    .map((line) => Number(line) / 1e6);
}

const inHome = (pod: number): string[] => [
  `link add bench-${pod} group ${group} type veth peer name net1 netns pod-${pod}`,
  `link set bench-${pod} master ${bridge} up`,
];
const inPod = (pod: number): string[] => [`address add ${podAddress(pod)} dev net1`, 'link set net1 up'];
const ip = (...words: string[]) => execFileSync('ip', words);
const batch = (netns: readonly string[], commands: readonly string[]) =>
  execFileSync('ip', [...netns, '-batch', '-'], { input: commands.join('\n') });

/** A process for each step, as shell scripts do. */
export const ipProcesses = (): Peer =>
  oneByOne(
    'ip',
    (pod) => {
      for (const command of inHome(pod)) ip(...command.split(' '));
      for (const command of inPod(pod)) ip('-n', `pod-${pod}`, ...command.split(' '));
    },
    (pod) => void ip('link', 'delete', `bench-${pod}`),
  );

/** A process for each namespace: `ip` cannot change it within a batch. */
export const ipBatch = (): Peer => ({
  name: 'ip -batch',
  many: 1000,
  attach: (pods) => pods.map((pod) => timed(() => attachInBatches([pod]))),
  detach: (pods) => pods.map((pod) => timed(() => batch([], [`link delete bench-${pod}`]))),
  attachAll: (pods) => timed(() => attachInBatches(pods)),
  detachAll: () => timed(() => void ip('link', 'delete', 'group', String(group))),
});

function attachInBatches(pods: readonly number[]): void {
  batch([], pods.flatMap(inHome));
  for (const pod of pods) batch(['-n', `pod-${pod}`], inPod(pod));
}

export function cniBridge(folder: string): Peer {
  const ipam = { type: 'host-local', dataDir: join(folder, 'ipam'), ranges: [[{ subnet: '10.0.0.0/16' }]] };
  const input = JSON.stringify({ cniVersion: '1.0.0', name: 'bench', type: 'bridge', bridge, ipam });
  const call = (command: 'ADD' | 'DEL', pod: number) => {
    const parameters = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: `pod-${pod}`,
      CNI_NETNS: podPath(pod),
      CNI_IFNAME: 'net1',
    };
    execFileSync(join(folder, 'bridge'), { input, env: { ...process.env, ...parameters, CNI_PATH: folder } });
  };
  return oneByOne(
    'CNI bridge',
    (pod) => call('ADD', pod),
    (pod) => call('DEL', pod),
  );
}

function oneByOne(name: string, attach: (pod: number) => void, detach: (pod: number) => void): Peer {
  return {
    name,
    many: 50,
    attach: (pods) => pods.map((pod) => timed(() => attach(pod))),
    detach: (pods) => pods.map((pod) => timed(() => detach(pod))),
    attachAll: (pods) => timed(() => pods.forEach(attach)),
    detachAll: (pods) => timed(() => pods.forEach(detach)),
  };
}
