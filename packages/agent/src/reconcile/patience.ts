/**
 * How long a PodNetwork is left alone that the kernel refused. The traces of a try that was taken back are news like any other, and bring the next try
 * at once: without this a wish that cannot be met would be tried again and again, as fast as the node can.
 */
import { type Backoff, type Clock, type ObjectKey, backoffMs } from '@podloom/kube';

export interface Patience {
  /** How much longer; 0 as well where something else is asked for since. */
  leftMs(key: ObjectKey, generation: number | undefined): number;
  failed(key: ObjectKey, generation: number | undefined): void;
  forget(key: ObjectKey): void;
}

const backoff: Backoff = { minMs: 100, maxMs: 10_000 };

export function patience(clock: Pick<Clock, 'monotonicMs'>): Patience {
  const failures = new Map<ObjectKey, { generation: number | undefined; count: number; untilMs: number }>();
  const of = (key: ObjectKey, generation: number | undefined) => {
    const known = failures.get(key);
    return known?.generation === generation ? known : undefined;
  };
  return {
    leftMs: (key, generation) => Math.max(0, (of(key, generation)?.untilMs ?? 0) - clock.monotonicMs()),
    failed(key, generation) {
      const count = (of(key, generation)?.count ?? 0) + 1;
      failures.set(key, { generation, count, untilMs: clock.monotonicMs() + backoffMs(count, backoff) });
    },
    forget: (key) => void failures.delete(key),
  };
}
