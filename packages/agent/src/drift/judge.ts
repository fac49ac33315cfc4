/**
 * Tells drift from work: steps for what was attached already, and declared no otherwise since, mean that someone else changed it, or that an agent of
 * an older version made it. Repairing ends when someone changes it again and again, because two who disagree would otherwise keep the node busy for ever.
 */
import type { PodNetwork, PodNetworkStatus } from '@podloom/api';
import { type Clock, type ObjectKey, findCondition } from '@podloom/kube';
import { type Owner, type Step, describeStep, interfaceOf } from '@podloom/network';

export interface Drift {
  readonly steps: readonly Step[];
  /** The steps are only reported. */
  readonly hold: boolean;
  readonly reason: 'Drift' | 'Contested';
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

export interface DriftGuard {
  readonly policy: 'repair' | 'report';
  /** Counts a repair; false when there were too many of late. */
  mayRepair(key: ObjectKey): boolean;
  /** For how much longer there were too many; 0 where there were not. */
  contestedMs(key: ObjectKey): number;
  /** The PodNetwork is gone. */
  forget(key: ObjectKey): void;
}

const mostRepairs = 10;
export const windowMs = 10_000;

export function driftGuard(policy: DriftGuard['policy'], clock: Clock): DriftGuard {
  const repairs = new Map<ObjectKey, { count: number; beganMs: number }>();
  const leftMs = (beganMs: number): number => Math.max(0, beganMs + windowMs - clock.monotonicMs());
  return {
    policy,
    mayRepair(key) {
      const known = repairs.get(key);
      const current = known && leftMs(known.beganMs) > 0 ? known : { count: 0, beganMs: clock.monotonicMs() };
      current.count += 1;
      repairs.set(key, current);
      return current.count <= mostRepairs;
    },
    contestedMs(key) {
      const known = repairs.get(key);
      return known && known.count > mostRepairs ? leftMs(known.beganMs) : 0;
    },
    forget: (key) => void repairs.delete(key),
  };
}

export interface DriftInput {
  readonly key: ObjectKey;
  readonly network: PodNetwork;
  readonly old: PodNetworkStatus | undefined;
  readonly steps: readonly Step[];
  readonly guard: DriftGuard;
}

const wasHeld = (reason: string | undefined): boolean => reason === 'Drift' || reason === 'Contested';

/** The MTU of a bridge, which changes by itself when a port comes, goes or changes, and with the wish of another pod. */
const followsPorts = (step: Step, { spec }: PodNetwork): boolean =>
  step.do === 'setLink' &&
  Object.keys(step.set).join() === 'mtuBytes' &&
  step.in === 'node' &&
  spec.interfaces.some(({ bridge }) => bridge?.device === step.link);

/** Whether what the step is about was as declared. What could not be made so comes again, and is nobody else's doing. */
function wasRight({ spec }: PodNetwork, old: PodNetworkStatus): (step: Step) => boolean {
  const { interfaces = [], primary, conditions } = old;
  const attached = new Set(
    interfaces.flatMap(({ key, state, reason }) => (state === 'Attached' || wasHeld(reason) ? key : [])),
  );
  const ready = findCondition(conditions, 'Ready');
  const wasReady = ready?.status === 'True' || wasHeld(ready?.reason);
  // Else it may be the bridge itself that failed.
  const isForOthers =
    [...interfaces, primary].some((entry) => entry?.state === 'Failed') ||
    spec.waiting?.some(({ reason }) => reason === ready?.reason) === true;
  const bridges = isForOthers
    ? spec.interfaces.flatMap(({ key, bridge }) => (bridge && attached.has(key) ? bridge.device : []))
    : [];
  const right = new Set<Owner>([
    ...attached.values().map((key): Owner => `interface ${key}`),
    ...bridges.map((device): Owner => `bridge ${device}`),
    ...(primary?.applied !== undefined || wasHeld(primary?.reason) ? (['primary'] as const) : []),
  ]);
  return ({ owner }) => right.has(owner) || (interfaceOf(owner) === undefined && wasReady);
}

export function driftIn({ key, network, old, steps, guard }: DriftInput): Drift | undefined {
  if (!old || steps.length === 0 || old.observedGeneration !== network.metadata.generation) return undefined;

  // Where the port is held, so is what would follow it.
  const isAlone = ({ owner }: Step): boolean =>
    interfaceOf(owner) === undefined || steps.filter((step) => step.owner === owner).length === 1;
  const was = wasRight(network, old);
  const drifted = steps.filter((step) => !(followsPorts(step, network) && isAlone(step)) && was(step));
  if (drifted.length === 0) return undefined;

  const what = drifted.slice(0, 5).map(describeStep).join('; ');
  const more = drifted.length > 5 ? ` and ${drifted.length - 5} more` : '';
  if (guard.policy === 'report') {
    return {
      steps: drifted,
      hold: true,
      reason: 'Drift',
      message: `Otherwise than declared; to mend it: ${what}${more}`,
    };
  }
  if (guard.mayRepair(key)) {
    return {
      steps: drifted,
      hold: false,
      reason: 'Drift',
      message: `Otherwise than declared; mended by: ${what}${more}`,
    };
  }
  return {
    steps: drifted,
    hold: true,
    reason: 'Contested',
    message: `Changed by someone else again and again; find out who. To mend it: ${what}${more}`,
    retryAfterMs: guard.contestedMs(key),
  };
}

/**
 * For how much longer a status that says Contested stays, though nothing is left to mend: a link that goes up and down by itself would otherwise be written
 * about each time.
 */
export function contestedMs({ key, network, old, steps, guard }: DriftInput): number {
  if (steps.length > 0 || old?.observedGeneration !== network.metadata.generation) return 0;
  return findCondition(old?.conditions, 'Ready')?.reason === 'Contested' ? guard.contestedMs(key) : 0;
}
