/** The questions that people ask of a controller. */
import type { Metrics } from '../process/metrics.ts';
import type { ResultLabel } from './judge.ts';

export interface ControllerMetrics {
  ran(result: ResultLabel, seconds: number): void;
  end(): void;
}

export function controllerMetrics(
  metrics: Metrics | undefined,
  controller: string,
  depth: () => number,
): ControllerMetrics {
  if (!metrics) return { ran: () => undefined, end: () => undefined };
  const runs = metrics.counter('podloom_reconciles_total', 'How many reconciles ended, and how?', [
    'controller',
    'result',
  ]);
  const seconds = metrics.histogram('podloom_reconcile_seconds', 'How long does one reconcile take?', ['controller']);
  const end = metrics.sampled('podloom_queue_depth', 'How many objects wait for their turn?', { controller }, depth);
  return {
    ran(result, took) {
      runs.add({ controller, result });
      seconds.observe({ controller }, took);
    },
    end,
  };
}
