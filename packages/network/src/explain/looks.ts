/** What an agent does in one go: it plans and carries out, and looks again where something waits for what another link has given up by then. */
import type { DesiredPod, PodPlan } from '../plan/desired.ts';
import type { Observed } from '../plan/observed.ts';
import { planPod } from '../plan/pod.ts';
import type { Step } from '../plan/step.ts';
import { simulate } from './simulate.ts';

export interface Looks {
  /** Of all looks, in order. */
  readonly steps: readonly Step[];
  readonly after: Observed;
  readonly last: PodPlan;
}

const mostLooks = 4;

export function planLooks(desired: DesiredPod, observed: Observed): Looks {
  let world = observed;
  const steps: Step[] = [];
  for (let look = 1; ; look += 1) {
    const last = planPod(desired, world);
    steps.push(...last.steps);
    world = simulate(last.steps, world);
    if (!last.lookAgain || look === mostLooks) return { steps, after: world, last };
  }
}
