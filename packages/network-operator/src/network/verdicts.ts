/**
 * What the last look at each pod found: what it is to have, and what it cannot have and why. Made anew from the objects whenever a pod is looked at, so a
 * restart loses nothing; a source whose pods were not all looked at yet waits with its status instead of writing half of it.
 */
import { hash } from 'node:crypto';
import type { KubeObject, PodNetworkSpec } from '@podloom/api';
import { type ObjectKey, type Pod, canonicalJson, keyOf } from '@podloom/kube';
import type { ComposedInterface, Problem } from '@podloom/network';
import { once } from './once.ts';
import { type SourceKey, keyOfSource } from './sources.ts';
import type { PodComposition } from './view.ts';

export interface Verdict {
  readonly podUid: string;
  readonly composed: Composed;
  /** Of what its PodNetwork is to say. */
  readonly digest: string;
  /** The objects that choose the pod, with the edition of each that was looked at. */
  readonly seen: ReadonlyMap<SourceKey, string>;
  /** What keeps an object from having in this pod what it asks for; conflicts are in `composed`. */
  readonly problems: readonly Problem[];
}

/**
 * What is read again of a composition. There is one for each pod for as long as it is served, so the rest of it goes: above all the objects, which keep
 * their statuses, and there is another edition of an object with each status that it gets.
 */
export interface Composed extends Pick<PodComposition, 'conflicts'> {
  readonly interfaces: readonly {
    readonly interface: Pick<ComposedInterface['interface'], 'key' | 'source' | 'bridge'>;
  }[];
  readonly primary?: Pick<NonNullable<PodComposition['primary']>, 'sources'>;
  readonly sources: readonly SourceKey[];
}

interface Found {
  readonly composed: PodComposition;
  readonly spec: PodNetworkSpec;
  readonly seen: Verdict['seen'];
  readonly problems: Verdict['problems'];
}

export function verdictFor(pod: Pod, { composed, spec, seen, problems }: Found): Verdict {
  const { interfaces, primary, conflicts, sources } = composed;
  const links = interfaces.map(({ interface: { key, source, bridge } }) => ({
    interface: { key, source, ...(bridge && { bridge }) },
  }));
  return {
    podUid: pod.metadata.uid ?? '',
    composed: {
      interfaces: links,
      conflicts,
      sources: sources.map(keyOfSource),
      ...(primary && { primary: { sources: primary.sources } }),
    },
    digest: digestOf(spec),
    seen,
    problems,
  };
}

/** The same for specs that are the same to the server. */
export const digestOf = once((spec: PodNetworkSpec): string => hash('sha256', canonicalJson(spec), 'base64url'));

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
