import { createMetrics, manualClock, objectKey } from '@podloom/kube';
import { expect, it } from 'vitest';
import { agentMetrics } from './metrics.ts';

const key = objectKey('pod', 'here');

it('measures from when it heard of what the pod asks for now', async () => {
  const clock = manualClock();
  const metrics = createMetrics();
  const measure = agentMetrics(metrics, { list: () => [] }, clock);
  measure.heard(key);
  await clock.advance(3_600_000);
  measure.heard(key);
  await clock.advance(5);
  measure.attached(key, 1);
  expect(await metrics.text()).toMatch(/podloom_agent_attach_seconds_sum 0\.005\n/);
});

it('measures a pod that starts after its PodNetwork was made from its start', async () => {
  const clock = manualClock();
  const metrics = createMetrics();
  const measure = agentMetrics(metrics, { list: () => [] }, clock);
  measure.heard(key);
  await clock.advance(3_600_000);
  measure.came(key);
  await clock.advance(5);
  measure.attached(key, 1);
  measure.came(key);
  measure.attached(key, 1);
  expect(await metrics.text()).toMatch(/podloom_agent_attach_seconds_sum 0\.005\n/);
});

it('measures a pod that comes back under its name from when it came back', async () => {
  const clock = manualClock();
  const metrics = createMetrics();
  const measure = agentMetrics(metrics, { list: () => [] }, clock);
  measure.heard(key);
  measure.forget(key);
  await clock.advance(3_600_000);
  measure.attached(key, 1);
  measure.heard(key);
  await clock.advance(5);
  measure.attached(key, 1);
  expect(await metrics.text()).toMatch(/podloom_agent_attach_seconds_sum 0\.005\n/);
});
