/** What a type of link is to the plan of a pod: a file of this folder and a row in `types.ts`. */
import type { PodInterface, PodInterfaceStatus } from '@podloom/api';
import type { DesiredBridge, LinkNames } from '../plan/desired.ts';
import type { Ends } from '../plan/ends.ts';
import type { LinkData, ObservedNamespace } from '../plan/observed.ts';
import type { Problem } from '../plan/problem.ts';
import type { Owner, Step } from '../plan/step.ts';

/** One interface, and the world that its plan is made for. */
export interface LinkContext {
  readonly wanted: PodInterface;
  readonly owner: Owner;
  readonly names: LinkNames;
  /** Says whose the link is. */
  readonly mark: string;
  /** What the link in the pod is to have, where its type leaves that to us. */
  readonly mac: string;
  readonly mtuBytes: number;
  readonly bridge?: DesiredBridge | undefined;
  readonly node: ObservedNamespace;
  readonly pod: ObservedNamespace;
  /** Of the link where it is there already. */
  readonly ends: Ends;
}

export type LinkFacts = Pick<PodInterfaceStatus, 'macAddress' | 'mtuBytes' | 'bridgeDevice'>;

export type LinkPlan =
  | { readonly problem: Problem }
  | {
      readonly problem?: undefined;
      /** In order; none where the link is as it is to be. What cannot be taken back comes last. */
      readonly steps: readonly Step[];
      readonly facts: LinkFacts;
    };

export interface LinkType {
  /** IFLA_INFO_KIND of the link in the pod. A link of another kind is not taken for this one. */
  readonly kind: string;
  /** Whether it has another end of the same kind on the node. */
  readonly isPair: boolean;
  /** Settings of the kind, for types that have any. A link that has others is removed, and made anew at the next look. */
  data?(wanted: PodInterface): LinkData;
  plan(context: LinkContext): LinkPlan;
}
