/**
 * Prometheus metrics. The only importer of prom-client.
 *
 * A metric exists because someone asks a question; the question is its help text, and the compiler insists on the question mark.
 */
import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client';

type Question = `${string}?`;
type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Counter<L extends string> {
  add(labels: Labels<L>, howMany?: number): void;
}
export interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void;
  remove(labels: Labels<L>): void;
}
export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
}

/** Asking for a metric a second time gives the first one, so that many controllers can share one by name. */
export interface Metrics {
  counter<L extends string = never>(name: string, help: Question, labels?: readonly L[]): Counter<L>;
  gauge<L extends string = never>(name: string, help: Question, labels?: readonly L[]): Gauge<L>;
  /** A value that is read when someone asks, and costs nothing otherwise. Returns the undo. */
  sampled<L extends string>(name: string, help: Question, labels: Labels<L>, read: () => number): () => void;
  histogram<L extends string = never>(
    name: string,
    help: Question,
    labels?: readonly L[],
    buckets?: readonly number[],
  ): Histogram<L>;
  /** What /metrics answers. */
  text(): Promise<string>;
  readonly contentType: string;
}

interface Sampler {
  readonly labels: Labels<string>;
  readonly read: () => number;
}

/** Seconds, from a reconcile that found nothing to do to one that waited for a slow node. */
const defaultBuckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const samplers = new Map<string, Set<Sampler>>();

  return {
    counter(name, help, labels = []) {
      const known = registry.getSingleMetric(name);
      const one =
        known instanceof PromCounter
          ? known
          : new PromCounter({ name, help, labelNames: [...labels], registers: [registry] });
      return { add: (values, howMany = 1) => one.inc(values, howMany) };
    },
    gauge(name, help, labels = []) {
      const known = registry.getSingleMetric(name);
      const one =
        known instanceof PromGauge
          ? known
          : new PromGauge({ name, help, labelNames: [...labels], registers: [registry] });
      return { set: (values, value) => one.set(values, value), remove: (values) => one.remove(values) };
    },
    sampled(name, help, labels, read) {
      let readers = samplers.get(name);
      if (!readers) {
        const set = new Set<Sampler>();
        readers = set;
        samplers.set(name, set);
        const gauge: PromGauge = new PromGauge({
          name,
          help,
          labelNames: Object.keys(labels),
          registers: [],
          collect() {
            gauge.reset();
            for (const one of set) gauge.set(one.labels, one.read());
          },
        });
        registry.registerMetric(gauge);
      }
      const mine = { labels, read };
      readers.add(mine);
      return () => readers.delete(mine);
    },
    histogram(name, help, labels = [], buckets = defaultBuckets) {
      const known = registry.getSingleMetric(name);
      const one =
        known instanceof PromHistogram
          ? known
          : new PromHistogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [registry] });
      return { observe: (values, value) => one.observe(values, value) };
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** What an administrator asks of any process. Nothing is measured until someone reads. */
export function addProcessMetrics(metrics: Metrics): void {
  const none = {};
  metrics.sampled('process_resident_memory_bytes', 'How much memory does the process hold?', none, () =>
    process.memoryUsage.rss(),
  );
  metrics.sampled('process_cpu_seconds', 'How much processor time has the process used since it started?', none, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  metrics.sampled('process_uptime_seconds', 'For how long has the process been running?', none, () => process.uptime());
}
