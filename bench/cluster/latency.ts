/** How long a tenant waits: from before the write is sent until the kernel, and until the object's own status, have what was asked for. */
import type { Measurement } from '../report.ts';
import type { Floor } from './floor.ts';
import { cpuByPart, cpuSince, type CpuByPart } from './process.ts';
import { namespace, until, type World } from './world.ts';

export const tasks = {
  one: 'attach one',
  first: 'attach one, the first of its node',
  status: 'attach one, shown in status',
  detach: 'detach one',
  twenty: 'attach 20 pods, until the last',
  all: 'attach 200 pods, until the last',
  allShown: 'attach 200 pods, all shown in status',
} as const;

const warmUp = 5;
const rounds = 60;
const firstRounds = 20;
const manyRounds = [
  { task: tasks.twenty, pods: 20, rounds: 7 },
  { task: tasks.all, pods: 200, rounds: 3 },
] as const;

export interface LatencyOptions {
  readonly world: World;
  readonly floor: Floor;
  readonly progress: (text: string) => void;
}

export interface Latencies {
  readonly measurements: readonly Measurement[];
  /** Of one attachment: milliseconds from before the write until each of them was seen from here. */
  readonly stages: Readonly<Record<keyof Stages, readonly number[]>>;
  /** Processor time of the attachments of the largest round, without taking them away. */
  readonly cpu: readonly CpuByPart[];
}

export async function latencies({ world, floor, progress }: LatencyOptions): Promise<Latencies> {
  const samples = new Map<string, Measurement & { samples: number[] }>();
  const record = (task: string, who: string, ms: number): void => {
    const found = samples.get(`${task}\n${who}`) ?? { task, who, samples: [] };
    found.samples.push(ms);
    samples.set(`${task}\n${who}`, found);
  };

  const seen: Stages[] = [];
  const cpu: CpuByPart[] = [];

  // One pod of each node stays, so that the network is there; and then none, so that each pod also needs the node's bridge.
  await world.create('one', 1);
  const [residents, others] = [world.pods.slice(0, 2), world.pods.slice(2)];
  progress(`one at a time, ${rounds} rounds`);
  const residing = until(world.configs, () => podsShown(world) === residents.length);
  await world.choose(residents, 'one');
  await residing;
  for (let round = -warmUp; round < rounds; round += 1) {
    const floorMs = await floor.round(1);
    const { stages, detachedMs } = await oneRound(world, others[(round + warmUp) % others.length]!);
    if (round < 0) continue;
    seen.push(stages);
    record(tasks.one, 'podloom', stages.usable);
    record(tasks.one, 'floor', floorMs);
    record(tasks.status, 'podloom', stages.shown);
    record(tasks.detach, 'podloom', detachedMs);
  }
  progress(`the first of a node, ${firstRounds} rounds`);
  const leaving = until(world.networks, () => world.networks.size === 0);
  await world.choose(residents, null);
  await leaving;
  for (let round = 0; round < firstRounds; round += 1) {
    const floorMs = await floor.round(1);
    const { stages } = await oneRound(world, others[round]!);
    record(tasks.first, 'podloom', stages.usable);
    record(tasks.first, 'floor', floorMs);
  }
  await world.remove('one');

  for (const { task, pods: howMany, rounds: count } of manyRounds) {
    const pods = world.pods.slice(0, howMany);
    await world.choose(pods, 'many');
    for (let round = -1; round < count; round += 1) {
      progress(`${pods.length} pods at once, ${round < 0 ? 'warming up' : `round ${round + 1} of ${count}`}`);
      const floorMs = await floor.round(pods.length);
      const { attachedMs, shownMs, cost } = await manyRound(world, pods);
      if (round < 0) continue;
      record(task, 'podloom', attachedMs);
      record(task, 'floor', floorMs);
      if (task !== tasks.all) continue;
      record(tasks.allShown, 'podloom', shownMs);
      cpu.push(cost);
    }
    await world.choose(pods, null);
  }
  const stage = (name: keyof Stages): number[] => seen.map((one) => one[name]);
  return {
    measurements: [...samples.values()],
    stages: {
      answered: stage('answered'),
      recorded: stage('recorded'),
      composed: stage('composed'),
      usable: stage('usable'),
      reported: stage('reported'),
      shown: stage('shown'),
    },
    cpu,
  };
}

interface Stages {
  /** The write itself. */
  readonly answered: number;
  /** The pool has the pod's address. */
  readonly recorded: number;
  /** There is a PodNetwork. */
  readonly composed: number;
  /** The address can be used in the pod. */
  readonly usable: number;
  /** The agent has said so in the PodNetwork. */
  readonly reported: number;
  /** The status of the object that the tenant wrote says so. */
  readonly shown: number;
}

const podsShown = ({ configs }: World): number => configs.get('one', namespace)?.status?.podConfigurations?.length ?? 0;

/** A running pod is given the label of an object that is there, and loses it again. */
async function oneRound(world: World, pod: string): Promise<{ stages: Stages; detachedMs: number }> {
  const { configs, networks, pools, kernel } = world;
  const [others, networksBefore] = [podsShown(world), networks.size];
  const network = () => networks.get(pod, namespace);
  const hasAddress = () =>
    pools
      .list()
      .some(({ status }) =>
        status?.allocations?.some(({ podName, releasedAt }) => podName === pod && releasedAt === undefined),
      );
  const startMs = performance.now();
  const facts = [
    until(pools, hasAddress),
    until(networks, () => network() !== undefined),
    kernel.until([pod], 1),
    until(networks, () => network()?.status?.interfaces?.[0]?.state === 'Attached'),
    until(configs, () => podsShown(world) === others + 1),
  ] as const;
  await world.choose([pod], 'one');
  const answered = performance.now() - startMs;
  const [recorded, composed, usable, reported, shown] = await Promise.all(facts);

  const leaveMs = performance.now();
  const detached = kernel.until([pod], 0);
  await world.choose([pod], null);
  const detachedAtMs = await detached;
  await until(networks, () => networks.size === networksBefore);
  await until(configs, () => podsShown(world) === others);
  // Else the next round would wait for the write that gives this one's address back.
  await until(pools, () => !hasAddress());
  const stages = {
    answered,
    recorded: recorded - startMs,
    composed: composed - startMs,
    usable: usable - startMs,
    reported: reported - startMs,
    shown: shown - startMs,
  };
  return { stages, detachedMs: detachedAtMs - leaveMs };
}

/** An object is made that chooses many running pods, and goes again. */
async function manyRound(world: World, pods: readonly string[]) {
  const before = cpuByPart(world);
  const startMs = performance.now();
  const attached = world.kernel.until(pods, 1);
  const shown = until(
    world.configs,
    () => world.configs.get('many', namespace)?.status?.podConfigurations?.length === pods.length,
  );
  await world.create('many', 1);
  const [attachedAtMs, shownAtMs] = await Promise.all([attached, shown]);
  const cost = cpuSince(before, cpuByPart(world));
  await world.remove('many');
  return { attachedMs: attachedAtMs - startMs, shownMs: shownAtMs - startMs, cost };
}
