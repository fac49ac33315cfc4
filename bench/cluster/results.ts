/** The figures as a report, with the bars that the product is held to. */
import { median, medianOf, quantile, type Bar, type Report } from '../report.ts';
import type { AgentFigures, Writes } from './cost.ts';
import { rounds, tasks, warmUp, type Latencies } from './latency.ts';
import type { Memory } from './process.ts';
import type { Part } from './world.ts';

export interface Results {
  readonly latencies: Latencies;
  readonly writes: Writes;
  /** Or why there are none: an agent that ends under the load has broken its bars, and the rest is still worth knowing. */
  readonly agents: AgentFigures | Error;
  /** Of the machine, in the course of the run. */
  readonly loads: readonly number[];
  readonly processors: number;
  /** What else to know about the run. */
  readonly conditions: readonly string[];
}

export function reportOn({ latencies, writes, agents, loads, processors, conditions }: Results): Report {
  const { measurements, stages, cpu } = latencies;
  const seconds = (part: Part) => (median(cpu.map((one) => one[part])) / 1_000).toFixed(2);
  const samplesOf = (task: string, who: string) =>
    measurements.find((one) => one.task === task && one.who === who)?.samples ?? [];
  const p99 = (who: string) => quantile(samplesOf(tasks.one, who), 0.99);
  const ours = (task: string) => medianOf(measurements, task, 'podloom');
  const floor = (task: string) => medianOf(measurements, task, 'floor');
  return {
    title: 'cluster: from before the write is sent to an address that can be used in the pod, as the kernel says there',
    ours: 'podloom',
    measurements,
    bars: [
      ms('one at a time, p50', ours(tasks.one), 15),
      ofFloor('one at a time, p50', ours(tasks.one) / floor(tasks.one), 15 / 8),
      ms('one at a time, p99', p99('podloom'), 40),
      ofFloor('one at a time, p99', p99('podloom') / p99('floor'), 40 / 16),
      ms('20 pods at once', ours(tasks.twenty), 200),
      ofFloor('20 pods at once', ours(tasks.twenty) / floor(tasks.twenty), 200 / 42),
      ms('200 pods at once', ours(tasks.all), 2_000),
      ofFloor('200 pods at once', ours(tasks.all) / floor(tasks.all), 2_000 / 310),
      ms('shown in status, p50', ours(tasks.status), 40),
      ofFloor('shown in status, p50', ours(tasks.status) / floor(tasks.one), 40 / 8),
      { text: 'writes for an attachment', value: writes.perAttachment, limit: 5, unit: 'writes' },
      ...agentBars(agents),
    ],
    notes: [
      `Load of the machine in the course of the run: ${loads.map((load) => load.toFixed(1)).join(', ')} on ${processors} processors. Above that number, latencies are those of the queue.`,
      ...conditions,
      `One at a time: p99 ${p99('podloom').toFixed(1)} ms, floor ${p99('floor').toFixed(1)} ms. ${warmUp} rounds go before the ${rounds} that count, for the floor as for us. An object is made that chooses one running pod, or many; a label on the pod does the same, but makes the kubelet look at the pod, too.`,
      'The floor takes turns with us: two Node processes on the same API server with the same client, one write answered by as many writes as there are pods.',
      'Bars in × the floor are those in milliseconds by the floor of the machine that they were set on (8/16, 42 and 310 ms). The peer of that machine cannot be had here.',
      `Where the time of one goes, as seen from here since before the write: answered ${middle(stages.answered)}, address in its pool ${middle(stages.recorded)}, PodNetwork ${middle(stages.composed)}, usable ${middle(stages.usable)}, reported by the agent ${middle(stages.reported)}, shown ${middle(stages.shown)} ms (medians).`,
      `Processor time of 200 pods at once, until all are shown: operators ${seconds('operator')} s, agents ${seconds('agent')} s, API server ${seconds('apiserver')} s, etcd ${seconds('etcd')} s.`,
      `Writes for an attachment: ${list(writes.kinds)}.`,
      agentNote(agents),
    ],
  };
}

function agentBars(agents: AgentFigures | Error): Bar[] {
  const isKnown = !(agents instanceof Error);
  const idleWrites = isKnown ? Object.values(agents.idleWrites).reduce((sum, count) => sum + count, 0) : NaN;
  return [
    { text: 'writes in an idle minute, Leases aside', value: idleWrites, limit: 0, unit: 'writes' },
    {
      text: 'agent with 1,000 attachments on its node, resident',
      value: isKnown ? agents.memory.allMib : NaN,
      limit: 90,
      unit: 'MiB',
    },
  ];
}

function agentNote(agents: AgentFigures | Error): string {
  if (agents instanceof Error) return `1,000 attachments on each node could not be measured: ${agents.message}`;
  const { attachments, empty, memory, idleCpu, idleWrites, attachMs, removeMs } = agents;
  return (
    `Agent: ${mib(empty)} before, ${mib(memory)} with ${attachments} attachments on its node, read after an idle minute (${memory.mostMib.toFixed(0)} MiB at most until then); ` +
    `made in ${(attachMs / 1000).toFixed(1)} s and removed in ${(removeMs / 1000).toFixed(1)} s; ` +
    `${idleCpu.toFixed(2)} % of a processor when idle with them. Writes in an idle minute: ${list(idleWrites)}.`
  );
}

const ms = (text: string, value: number, limit: number): Bar => ({ text, value, limit, unit: 'ms' });
const ofFloor = (text: string, value: number, limit: number): Bar => ({
  text,
  value,
  limit: Number(limit.toFixed(2)),
  unit: '× the floor',
});
const list = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([what, count]) => `${what} ${Number(count.toFixed(2))}`)
    .join(', ') || 'none';

const middle = (samples: readonly number[]) => median(samples).toFixed(1);
const mib = ({ allMib, ownMib }: Memory) => `${allMib.toFixed(0)} MiB (${ownMib.toFixed(0)} without files)`;
