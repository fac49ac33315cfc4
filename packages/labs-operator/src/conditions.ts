/** Conditions of what the labs report on: those that are named, each with its own time of change, and no others. */
import type { Condition, KubeObject } from '@podloom/api';
import { type NewCondition, setCondition } from '@podloom/kube';

export type Stated = KubeObject & { readonly status?: { readonly conditions?: Condition[] | undefined } | undefined };

export function withConditions(object: Stated, wanted: readonly NewCondition[], nowMs: number): Condition[] {
  const observedGeneration = object.metadata.generation;
  const wantedTypes = new Set(wanted.map(({ type }) => type));
  const kept = object.status?.conditions?.filter(({ type }) => wantedTypes.has(type));
  return wanted.reduce<Condition[]>((all, one) => setCondition(all, { ...one, observedGeneration }, nowMs), kept ?? []);
}
