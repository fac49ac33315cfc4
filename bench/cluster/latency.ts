/** How long a tenant waits: from before the write is sent until the kernel, and until the object's own status, have what was asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { quietMachine } from '../quiet.ts';
import type { Measurement } from '../report.ts';
import type { Floor } from './floor.ts';
import { cpuByPart, cpuSince, type CpuByPart } from './process.ts';
import { holdsAddress, namespace, until, type Inside, type World } from './world.ts';

export const tasks = {
  one: 'attach one',
  first: 'attach one, the first of its node',
  status: 'attach one, shown in status',
  detach: 'detach one',
  label: 'attach one, by a label on the pod',
  twenty: 'attach 20 pods, until the last',
  all: 'attach 200 pods, until the last',
  allShown: 'attach 200 pods, all shown in status',
} as const;

/** Before each sample, the floor's as well as ours: what the one before it set off is over by then, in every process. */
const restMs = 100;
/** Processes that have just started are slower, the floor's as well as ours: of three times 30 rounds in a row its medians were 10.1, 9.2 and 8.0 ms, ours 17.5, 15.0 and 14.4. */
export const warmUp = 40;
export const rounds = 120;
const stageRounds = 30;
const firstRounds = 20;
const labelRounds = 20;
/** A kubelet looks at all of its pods all the time: there are no more of them than a task needs. */
const fewPodsPerNode = 12;
/** With the product's own, as many as a kubelet takes by default. */
const mostPodsPerNode = 100;
const manyRounds = [
  { task: tasks.twenty, pods: 20, podsPerNode: fewPodsPerNode, rounds: 15 },
  { task: tasks.all, pods: 200, podsPerNode: mostPodsPerNode, rounds: 7 },
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
  await world.grow(fewPodsPerNode);
  const residents = world.pods.slice(0, 2);
  const others = world.pods.slice(2);
  let turns = 0;
  const nextTurn = async (): Promise<Turn> => {
    const pod = others[turns % others.length]!;
    turns += 1;
    const way = byObject(world, `one-${turns}`);
    await world.choose([pod], way.config);
    return { pod, way };
  };
  await world.create('one', 1);
  const residing = world.kernel.until(residents, 1);
  await world.choose(residents, 'one');
  await residing;
  progress('waiting until the machine is quiet');
  await quietMachine();
  progress(`one at a time, ${rounds} rounds`);
  for (let round = -warmUp; round < rounds; round += 1) {
    const turn = await nextTurn();
    const floorMs = await rested(() => floor.round(1));
    const { usable, shown, detached } = await rested(() => oneRound(world, turn));
    if (round < 0) continue;
    record(tasks.one, 'podloom', usable);
    record(tasks.one, 'floor', floorMs);
    record(tasks.status, 'podloom', shown);
    record(tasks.detach, 'podloom', detached);
  }
  progress(`where the time goes, ${stageRounds} rounds`);
  for (let round = 0; round < stageRounds; round += 1) seen.push(await stagesOf(world, await nextTurn()));
  progress(`one at a time by a label, ${labelRounds} rounds`);
  for (const pod of others.slice(0, labelRounds)) {
    const floorMs = await rested(() => floor.round(1));
    const { usable } = await rested(() => oneRound(world, { pod, way: byLabel(world, pod) }));
    record(tasks.label, 'podloom', usable);
    record(tasks.label, 'floor', floorMs);
  }
  progress(`the first of a node, ${firstRounds} rounds`);
  await world.choose(residents, null);
  {
    await using inside = await world.lookInside();
    await until(inside.networks, () => inside.networks.size === 0);
  }
  for (let round = 0; round < firstRounds; round += 1) {
    const turn = await nextTurn();
    const floorMs = await rested(() => floor.round(1));
    const { usable } = await rested(() => oneRound(world, turn));
    record(tasks.first, 'podloom', usable);
    record(tasks.first, 'floor', floorMs);
  }
  await world.remove('one');
  await world.choose(world.pods, null);

  for (const { task, pods: howMany, podsPerNode, rounds: count } of manyRounds) {
    await world.grow(podsPerNode);
    await quietMachine();
    const pods = world.pods.slice(0, howMany);
    await world.choose(pods, 'many');
    for (let round = -1; round < count; round += 1) {
      progress(`${pods.length} pods at once, ${round < 0 ? 'warming up' : `round ${round + 1} of ${count}`}`);
      const floorMs = await rested(() => floor.round(pods.length));
      const { attachedMs, shownMs, cost } = await rested(() => manyRound(world, pods));
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

async function rested<R>(sample: () => Promise<R>): Promise<R> {
  await sleep(restMs);
  return await sample();
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

/** How a pod gets a link and loses it again, and which object tells of it. */
interface Way {
  readonly config: string;
  readonly attach: () => Promise<void>;
  readonly detach: () => Promise<void>;
}

interface Turn {
  readonly pod: string;
  readonly way: Way;
}

/** The pod has the label already; the object comes and goes. It is a new one each time: what an object gave back, it would be given again. */
const byObject = (world: World, config: string): Way => ({
  config,
  attach: () => world.create(config, 1),
  detach: () => world.withdraw(config),
});

/** The object is there already; the pod gets the label and loses it. It is the kubelet's business as well, which looks at the whole pod each time. */
const byLabel = (world: World, pod: string): Way => ({
  config: 'one',
  attach: () => world.choose([pod], 'one'),
  detach: () => world.choose([pod], null),
});

interface OneRound {
  readonly usable: number;
  readonly shown: number;
  readonly detached: number;
}

/** A sample: watched from outside, as a tenant would, until the pod has its link and its object says so. */
async function oneRound(world: World, turn: Turn): Promise<OneRound> {
  const { usable, shown } = await attachOne(world, turn);
  await using inside = await world.lookInside();
  await until(inside.pools, () => holdsAddress(inside, turn.pod));
  return { usable, shown, detached: await detachOne(world, inside, turn) };
}

/** The same, watched from inside as well. */
async function stagesOf(world: World, turn: Turn): Promise<Stages> {
  await using inside = await world.lookInside();
  const { networks, pools } = inside;
  const network = () => networks.get(turn.pod, namespace);
  await sleep(restMs);
  const startMs = performance.now();
  const facts = [
    until(pools, () => holdsAddress(inside, turn.pod)),
    until(networks, () => network() !== undefined),
    until(networks, () => network()?.status?.interfaces?.[0]?.state === 'Attached'),
  ] as const;
  const outside = await attachOne(world, turn);
  const [recorded, composed, reported] = (await Promise.all(facts)).map((atMs) => atMs - startMs);
  await detachOne(world, inside, turn);
  return { ...outside, recorded: recorded!, composed: composed!, reported: reported! };
}

async function attachOne(
  { configs, kernel }: World,
  { pod, way: { config, attach } }: Turn,
): Promise<Pick<Stages, 'answered' | 'usable' | 'shown'>> {
  const startMs = performance.now();
  const facts = [kernel.until([pod], 1), until(configs, () => isShown(configs, config, pod))] as const;
  await attach();
  const answered = performance.now() - startMs;
  const [usable, shown] = await Promise.all(facts);
  return { answered, usable: usable - startMs, shown: shown - startMs };
}

/** Milliseconds until the kernel had no link any more; resolves when nothing else is left either. */
async function detachOne(
  { configs, kernel }: World,
  inside: Inside,
  { pod, way: { config, detach } }: Turn,
): Promise<number> {
  const startMs = performance.now();
  const detached = kernel.until([pod], 0);
  await detach();
  const detachedMs = (await detached) - startMs;
  await until(inside.networks, () => inside.networks.get(pod, namespace) === undefined);
  await until(configs, () => !isShown(configs, config, pod));
  await until(inside.pools, () => !holdsAddress(inside, pod));
  return detachedMs;
}

const isShown = (configs: World['configs'], config: string, pod: string): boolean =>
  configs.get(config, namespace)?.status?.podConfigurations?.some(({ podName }) => podName === pod) ?? false;

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
