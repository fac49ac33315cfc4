/** Conditions as Kubernetes has them: one a type, and `lastTransitionTime` moves only when the status does. */
import type { Condition } from '@podloom/api';

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** Returns the list with this condition in it; the same list, by identity, where nothing changes. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  wanted: NewCondition,
  nowMs: number,
): Condition[] {
  const list = conditions ?? [];
  const old = list.find(({ type }) => type === wanted.type);
  const lastTransitionTime = old?.status === wanted.status ? old.lastTransitionTime : toTime(nowMs);
  if (old && isSame(old, wanted)) return list as Condition[];
  const fresh = { ...wanted, lastTransitionTime };
  return old ? list.map((one) => (one === old ? fresh : one)) : [...list, fresh];
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}

export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** metav1.Time: RFC 3339 to the second. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** metav1.MicroTime: RFC 3339 with six digits, of which we know three. */
export function toMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function isSame(a: NewCondition, b: NewCondition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}
