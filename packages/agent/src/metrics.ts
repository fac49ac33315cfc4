/** The questions that people ask of an agent. */
import type { PodNetwork } from '@podloom/api';
import type { Cache, Clock, Metrics, ObjectKey } from '@podloom/kube';

export interface AgentMetrics {
  /** A PodNetwork is new or asks for something else. */
  heard(key: ObjectKey): void;
  /** A container of the pod came or went: what could not be done before is not counted. */
  came(key: ObjectKey): void;
  /** The kernel has what it asks for. */
  attached(key: ObjectKey, steps: number): void;
  failed(reason: string): void;
  /** The PodNetwork is gone. */
  forget(key: ObjectKey): void;
  end(): void;
}

const states = ['Attached', 'Pending', 'Failed', 'Removing'] as const;
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];

export function agentMetrics(metrics: Metrics, cache: Pick<Cache<PodNetwork>, 'list'>, clock: Clock): AgentMetrics {
  const heard = new Map<ObjectKey, number>();
  const count = (state: string): number =>
    cache
      .list()
      .flatMap(({ status }) => status?.interfaces ?? [])
      .filter((entry) => entry.state === state).length;
  const undo = states.map((state) =>
    metrics.sampled('podloom_attachments', 'How many interfaces are there, by state?', { state }, () => count(state)),
  );
  const seconds = metrics.histogram(
    'podloom_agent_attach_seconds',
    'How long from hearing of a PodNetwork, or of its pod where that comes later, until the kernel has what it asks for?',
    [],
    buckets,
  );
  const failures = metrics.counter('podloom_attach_failures_total', 'How many attachments failed, and why?', [
    'reason',
  ]);
  return {
    heard(key) {
      heard.set(key, clock.monotonicMs());
    },
    came(key) {
      if (heard.has(key)) heard.set(key, clock.monotonicMs());
    },
    attached(key, steps) {
      const sinceMs = heard.get(key);
      heard.delete(key);
      if (sinceMs !== undefined && steps > 0) seconds.observe({}, (clock.monotonicMs() - sinceMs) / 1_000);
    },
    failed: (reason) => failures.add({ reason }),
    forget: (key) => void heard.delete(key),
    end() {
      for (const step of undo) step();
    },
  };
}
