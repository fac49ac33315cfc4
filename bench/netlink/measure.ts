/** Measures all peers in turns, inside namespaces that `bench.ts` made for it, and writes the report into the folder given. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { open } from '@podloom/netlink';
import { medianOf, quantile, type Measurement, type Report } from '../report.ts';
import { eventLatencies } from './events.ts';
import {
  bridge,
  cniBridge,
  floor,
  floorTimes,
  ipBatch,
  ipProcesses,
  podloom,
  podPath,
  timed,
  type Peer,
} from './peers.ts';

const rounds = 10;
const podsPerRound = 10;
const manyRounds = 3;
const manyPods = 1000;
const listRounds = 20;
const warmUp = 50;
const watched = 500;
const changes = 4000;

const folder = process.argv[2]!;
const loadAtStart = loadavg()[0]!;
const progress = (text: string) => console.error(`netlink: ${text}`);

mkdirSync('/run/netns', { recursive: true });
execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run/netns']);
using home = open();
home.link.add({ kind: 'bridge', name: bridge, up: true });
home.link.set('lo', { up: true });
progress(`making ${manyPods} namespaces`);
for (const pod of range(manyPods)) open({ create: true, pinned: podPath(pod) }).close();

const peers = [podloom(home), floor(folder), ipProcesses(), ipBatch(), cniBridge(folder)];
const ours = peers[0]!;
for (const peer of peers) prove(peer);
for (let done = 0; done < warmUp; done += podsPerRound) {
  ours.attach(range(podsPerRound));
  ours.detach(range(podsPerRound));
}

const samples = new Map<string, Measurement & { samples: number[] }>();
one();
many();
list();
progress(`watching ${watched} namespaces`);
await eventLatencies(watched, changes / 4);
const latencies = await eventLatencies(watched, changes);
record(`event, ${watched} namespaces watched`, 'podloom', latencies);
const measurements = Object.values(Object.groupBy(samples.values(), ({ task }) => task)).flatMap((rows) => rows ?? []);
const figure = (task: string, who: string) => medianOf(measurements, task, who);

const report: Report = {
  title: 'netlink: a pod on a bridge (veth, bridge port, address, up, both sides)',
  ours: 'podloom',
  measurements,
  bars: [
    {
      text: 'attach, of the C floor',
      value: figure('attach one', 'podloom') / figure('attach one', 'C floor'),
      limit: 1.5,
      unit: '×',
    },
    {
      text: 'attach, the CNI plugin of ours',
      value: figure('attach one', 'CNI bridge') / figure('attach one', 'podloom'),
      limit: 15,
      unit: '×',
      atLeast: true,
    },
    { text: 'detach 1,000, each', value: figure('detach 1,000, each', 'podloom'), limit: 1, unit: 'ms' },
    {
      text: 'list 1,000 links, of the C floor',
      value: figure('list 1,000 links', 'podloom') / figure('list 1,000 links', 'C floor'),
      limit: 3,
      unit: '×',
    },
    {
      text: `event of ${watched} namespaces in JavaScript, p99`,
      value: quantile(latencies, 0.99),
      limit: 1,
      unit: 'ms',
    },
  ],
  notes: [
    `Load of the machine at the start: ${loadAtStart.toFixed(1)} on ${availableParallelism()} processors. Above that number, latencies are those of the queue.`,
    `Peers take turns within each of ${rounds} rounds (${manyRounds} for 1,000). Ours runs in a process that has attached ${warmUp} pods before.`,
    'ip and the CNI plugin get 50 pods where the others get 1,000; for those, times include starting the processes. The floor sends the same messages in the same order.',
  ],
};
writeFileSync(join(folder, 'report.json'), JSON.stringify(report));

function one(): void {
  const pods = range(podsPerRound);
  for (const round of range(rounds)) {
    progress(`one at a time, round ${round + 1} of ${rounds}`);
    for (const peer of inTurn(peers, round)) {
      record('attach one', peer.name, peer.attach(pods));
      record('detach one', peer.name, peer.detach(pods));
    }
  }
}

function many(): void {
  for (const round of range(manyRounds)) {
    progress(`1,000 at once, round ${round + 1} of ${manyRounds}`);
    for (const peer of inTurn(peers, round)) {
      const pods = range(peer.many);
      record('attach 1,000, each', peer.name, [peer.attachAll(pods) / pods.length]);
      record('detach 1,000, each', peer.name, [peer.detachAll(pods) / pods.length]);
    }
  }
}

function list(): void {
  ours.attachAll(range(manyPods));
  progress('listing 1,000 links');
  for (const round of range(listRounds)) {
    const competitors = [
      { name: 'podloom', run: () => timed(() => void home.link.list()) },
      { name: 'C floor', run: () => floorTimes(folder, ['list', 1])[0]! },
      {
        name: 'ip -json',
        run: () => timed(() => void execFileSync('ip', ['-json', '-details', 'link'], { maxBuffer: 1 << 26 })),
      },
    ];
    for (const { name, run } of inTurn(competitors, round)) record('list 1,000 links', name, [run()]);
  }
  ours.detachAll(range(manyPods));
}

/** A peer that does less than the others would win: what it makes is looked at once, by iproute2. */
function prove(peer: Peer): void {
  const pods = range(2);
  for (const [attach, detach] of [
    [peer.attach, peer.detach],
    [peer.attachAll, peer.detachAll],
  ] as const) {
    attach(pods);
    for (const pod of pods) {
      const [link] = JSON.parse(
        execFileSync('ip', ['-n', `pod-${pod}`, '-json', 'address', 'show', 'net1'], { encoding: 'utf8' }),
      ) as [{ flags: string[]; addr_info: { family: string; local: string }[] }];
      const address = link.addr_info.find(({ family }) => family === 'inet')?.local;
      if (!link.flags.includes('UP') || address?.startsWith('10.0.') !== true)
        throw new Error(`${peer.name} did not set up pod ${pod}`);
    }
    if (home.link.list({ master: bridge }).filter(({ up }) => up).length !== pods.length)
      throw new Error(`${peer.name} made no bridge ports`);
    detach(pods);
    if (home.link.list({ master: bridge }).length > 0) throw new Error(`${peer.name} left bridge ports behind`);
  }
}

function record(task: string, who: string, values: readonly number[]): void {
  const key = `${task}\n${who}`;
  const found = samples.get(key) ?? { task, who, samples: [] };
  found.samples.push(...values);
  samples.set(key, found);
}

/** Nobody always comes first, or always after the same neighbour's mess. */
function inTurn<T>(all: readonly T[], round: number): T[] {
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
