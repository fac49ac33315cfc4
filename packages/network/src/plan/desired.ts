/** What a plan is made for: the PodNetwork and the names of its links, and the bridges of a node. */
import type {
  PodInterface,
  PodInterfaceStatus,
  PodNetworkSpec,
  PrimaryLinkRecord,
  PrimaryLinkState,
} from '@podloom/api';
import type { Step } from './step.ts';

export interface LinkNames {
  readonly pod: string;
  readonly node: string;
}

export interface DesiredPod {
  /** Namespace of the pod: with the name of a bridge it is the identity of a network. */
  readonly namespace: string;
  readonly spec: Pick<PodNetworkSpec, 'podUid' | 'interfaces' | 'primary'>;
  /** By key of the interface, from `chooseNames`. */
  readonly names: ReadonlyMap<string, LinkNames>;
  /** As the status of the PodNetwork has it. What is not recorded here is not changed yet: see `PodPlan.recordFirst`. */
  readonly primaryRecord?: PrimaryLinkRecord | undefined;
  /** The MTU that a bridge is to have for all who use it. Asked only where it has another than this pod wants; left out, nobody else uses it. */
  readonly bridgeMtu?: ((device: string) => number | undefined) | undefined;
}

export type DesiredBridge = NonNullable<PodInterface['bridge']> & { readonly namespace: string };

export interface DesiredNode {
  /** The union over all PodNetworks and Bridges of this node, one entry a device. */
  readonly bridges: readonly DesiredBridge[];
  /** Devices of those that are left as they are, because what others change is only to be reported. Their MTU follows their ports all the same. */
  readonly held?: ReadonlySet<string> | undefined;
  /** Names of bridges of ours that CNI plugins put ports on: they stay while a plugin may be about to. */
  readonly kept?: ReadonlySet<string> | undefined;
  /** Pods that have a PodNetwork on this node: their links are planPod's. */
  readonly podUids: ReadonlySet<string>;
  /** Names of the node ends of those pods' interfaces: a link of ours without alias is kept when it is one of these. */
  readonly ports: ReadonlySet<string>;
}

export interface PodPlan {
  /** In order. Empty means done. */
  readonly steps: readonly Step[];
  /**
   * As it is once the steps are done: Pending where there are steps (Attached when the last of them succeeded), Attached where there
   * are none, Pending with a reason where something must come first, Failed where none can help, Removing where the link is no longer declared. `since` is the caller's.
   */
  readonly interfaces: readonly PodInterfaceStatus[];
  readonly primary?: PrimaryPlan | undefined;
  /** True: write `primary.record` to the status of the PodNetwork, then plan again; only then are there steps for the primary link. */
  readonly recordFirst: boolean;
  /** True: something waits for what these steps give up. Plan again after them. */
  readonly lookAgain: boolean;
}

export interface PrimaryPlan {
  /** To be kept as long as something may have to be taken back. */
  readonly record?: PrimaryLinkRecord | undefined;
  readonly applied?: PrimaryLinkState | undefined;
  readonly state: 'Attached' | 'Pending' | 'Failed';
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}
