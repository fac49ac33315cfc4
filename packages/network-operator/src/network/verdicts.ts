/**
 * What the last look at each pod found: what it is to have, and what it cannot have and why. Made anew from the objects whenever a pod is looked at, so a
 * restart loses nothing; a source whose pods were not all looked at yet waits with its status instead of writing half of it.
 */
import type { KubeObject, PodNetworkSpec } from '@podloom/api';
import { type ObjectKey, type Pod, keyOf } from '@podloom/kube';
import type { Problem } from '@podloom/network';
import type { SourceKey } from './sources.ts';
import type { PodComposition } from './view.ts';

export interface Verdict {
  readonly podUid: string;
  readonly composed: PodComposition;
  /** What its PodNetwork is to say. */
  readonly spec: PodNetworkSpec;
  /** The objects that choose the pod, with the edition of each that was looked at. */
  readonly seen: ReadonlyMap<SourceKey, string>;
  /** What keeps an object from having in this pod what it asks for; conflicts are in `composed`. */
  readonly problems: readonly Problem[];
}

/** Which object, and what it asked for: one that was made again under the same name counts its generations from the start. */
export const editionOf = ({ metadata }: KubeObject): string => `${metadata.uid} ${metadata.generation}`;

export interface Verdicts {
  /** Of the pod, or of what has its name. */
  of(pod: Pick<KubeObject, 'metadata'>): Verdict | undefined;
  judge(pod: Pod, verdict: Verdict): void;
  forget(pod: Pick<KubeObject, 'metadata'>): void;
}

export interface VerdictListener {
  judged(pod: Pod, old: Verdict | undefined, now: Verdict): void;
  forgot(pod: Pick<KubeObject, 'metadata'>, old: Verdict | undefined): void;
}

export function verdictStore(listener: VerdictListener): Verdicts {
  const verdicts = new Map<ObjectKey, Verdict>();
  return {
    of: (pod) => verdicts.get(keyOf(pod)),
    judge(pod, verdict) {
      const old = verdicts.get(keyOf(pod));
      verdicts.set(keyOf(pod), verdict);
      listener.judged(pod, old, verdict);
    },
    forget(pod) {
      const old = verdicts.get(keyOf(pod));
      verdicts.delete(keyOf(pod));
      listener.forgot(pod, old);
    },
  };
}
