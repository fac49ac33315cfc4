/** What goes before anything comes: MACs of ports and routes of links that someone else of the same pod may take in the same plan. */
import type { Observed, ObservedFdb, ObservedRoute } from './observed.ts';
import type { Step } from './step.ts';

export interface Leaving {
  /** As they were observed. */
  readonly entries: readonly (ObservedFdb | ObservedRoute)[];
  readonly steps: readonly Step[];
}

export const nothingLeaves: Leaving = { entries: [], steps: [] };

/** The world as it is by then. */
export function withoutLeaving(observed: Observed, leaving: readonly Leaving[]): Observed {
  const gone = new Set(leaving.flatMap(({ entries }) => entries));
  if (gone.size === 0) return observed;
  const { node, pod } = observed;
  return {
    node: { ...node, fdb: node.fdb.filter((entry) => !gone.has(entry)) },
    pod: pod && { ...pod, routes: pod.routes.filter((route) => !gone.has(route)) },
  };
}
