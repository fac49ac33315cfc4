import { expect, it } from 'vitest';
import { tasks } from './latency.ts';
import { memoryOf } from './process.ts';
import { reportOn } from './results.ts';

const samples = [10];
const stages = {
  answered: samples,
  recorded: samples,
  composed: samples,
  usable: samples,
  reported: samples,
  shown: samples,
};

it('says what went before the figures, and how much an agent had when it had most', () => {
  const memory = { allMib: 80, ownMib: 40, mostMib: 120 };
  const { notes } = reportOn({
    latencies: {
      measurements: Object.values(tasks).flatMap((task) => ['podloom', 'floor'].map((who) => ({ task, who, samples }))),
      stages,
      cpu: [{ operator: 1, agent: 1, apiserver: 1, etcd: 1 }],
    },
    writes: { perAttachment: 4, kinds: { podnetworks: 4 } },
    agents: { attachments: 1_000, attachMs: 1, removeMs: 1, memory, empty: memory, idleCpu: 0, idleWrites: {} },
    loads: [0],
    processors: 2,
    conditions: [],
  });
  const text = notes.join('\n');
  expect(text).toContain('40 rounds go before the 120 that count, for the floor as for us.');
  expect(text).toContain(
    '80 MiB (40 without files) with 1000 attachments on its node, read after an idle minute (120 MiB at most until then)',
  );
});

it('reads what a process had when it had most', () => {
  const { allMib, mostMib } = memoryOf(process.pid);
  expect(mostMib).toBeGreaterThanOrEqual(allMib);
});
