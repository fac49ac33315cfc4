/** What attachments cost: writes on the API server, by its own count, and memory and processor time of the agents. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@podloom/kube';
import { cpuMs, memoryOf, type Memory } from './process.ts';
import { namespace, until, type World } from './world.ts';

export interface Writes {
  readonly perAttachment: number;
  /** By resource, for one attachment. */
  readonly kinds: Readonly<Record<string, number>>;
}

export interface AgentFigures {
  readonly attachments: number;
  /** Until all of them could be used, on both nodes. */
  readonly attachMs: number;
  /** Until nothing of them was left. */
  readonly removeMs: number;
  /** Of the larger of the agents. */
  readonly memory: Memory;
  readonly empty: Memory;
  /** Of one processor, in percent. */
  readonly idleCpu: number;
  /** In a minute. */
  readonly idleWrites: Readonly<Record<string, number>>;
}

const counted = 20;
/** On each node. */
const attachments = 1_000;
const attachmentsPerPod = 10;
const idleMs = 60_000;
const mostLooks = 25;

/** Counts made with this many pods, one after the other, of which our own patch of the pod is none. */
export async function writesPerAttachment(world: World): Promise<Writes> {
  await world.create('counted', 1);
  await until(world.configs, () => world.configs.get('counted', namespace)?.status?.phase !== undefined);
  const chosen = world.pods.slice(0, counted + 1);
  const attach = async (pod: string, all: number) => {
    await world.choose([pod], 'counted');
    await until(
      world.configs,
      () => world.configs.get('counted', namespace)?.status?.podConfigurations?.length === all,
    );
  };
  await attach(chosen[0]!, 1);
  const before = await settledWrites(world.client);
  for (const [i, pod] of chosen.slice(1).entries()) await attach(pod, i + 2);
  const made = difference(before, await settledWrites(world.client));
  made['pods'] = (made['pods'] ?? 0) - counted;
  await world.choose(chosen, null);
  await world.remove('counted');
  const kinds = Object.fromEntries(Object.entries(made).map(([resource, count]) => [resource, count / counted]));
  return { perAttachment: Object.values(kinds).reduce((sum, count) => sum + count, 0), kinds };
}

export async function agentFigures(world: World, progress: (text: string) => void): Promise<AgentFigures> {
  await world.grow(attachments / attachmentsPerPod);
  const empty = largest(world);
  progress(`attaching ${attachments} links on each node`);
  await world.choose(world.pods, 'large');
  const askedMs = performance.now();
  await world.create('large', attachmentsPerPod);
  const attachMs = (await world.kernel.until(world.pods, attachmentsPerPod)) - askedMs;
  await until(world.configs, () => world.configs.get('large', namespace)?.status?.phase === 'configured');
  const before = await settledWrites(world.client);
  progress('idle');
  const cpuBefore = world.processes.agent.map(cpuMs);
  const startMs = performance.now();
  await sleep(idleMs);
  const tookMs = performance.now() - startMs;
  const cpu = world.processes.agent.map((pid, i) => ((cpuMs(pid) - cpuBefore[i]!) / tookMs) * 100);
  const idleWrites = difference(before, await writes(world.client));
  const memory = largest(world);
  progress('taking all of it away');
  const leaveMs = performance.now();
  await world.remove('large');
  const removeMs = performance.now() - leaveMs;
  await world.choose(world.pods, null);
  return { attachments, attachMs, removeMs, memory, empty, idleCpu: Math.max(...cpu), idleWrites };
}

const largest = ({ processes }: World): Memory =>
  processes.agent.map(memoryOf).toSorted((a, b) => b.allMib - a.allMib)[0]!;

type Counts = Record<string, number>;

const writing = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);
/** What the cluster writes for itself: leases, nodes, tokens, reviews, endpoints, and kubelets their pods' status. */
const notOurs = /^(leases|nodes|serviceaccounts|tokenreviews|.*accessreviews|endpoints|endpointslices|pods\/status)\b/;

async function writes(client: Client): Promise<Counts> {
  const { text } = await client.request('/metrics');
  const counts: Counts = {};
  for (const [, labels = '', value] of text.matchAll(/^apiserver_request_total\{(.*)\} (\S+)$/gm)) {
    const {
      verb = '',
      resource = '',
      subresource = '',
    } = Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!]));
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    if (writing.has(verb) && !notOurs.test(what)) counts[what] = (counts[what] ?? 0) + Number(value);
  }
  return counts;
}

/** Last statuses, and Events that were told before, are written later (Events at most every 10 s): as it is when nothing was written between two looks. */
async function settledWrites(client: Client): Promise<Counts> {
  let before = await writes(client);
  let made: Counts = {};
  for (let looks = 0; looks < mostLooks; looks += 1) {
    await sleep(12_000);
    const now = await writes(client);
    made = difference(before, now);
    if (Object.keys(made).length === 0) return now;
    before = now;
  }
  throw new Error(`Something is still written after ${mostLooks} looks, in the last 12 s: ${JSON.stringify(made)}`);
}

const difference = (before: Counts, after: Counts): Counts =>
  Object.fromEntries(
    Object.entries(after).flatMap(([what, count]) => {
      const more = count - (before[what] ?? 0);
      return more === 0 ? [] : [[what, more]];
    }),
  );
