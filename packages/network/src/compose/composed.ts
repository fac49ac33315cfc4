/** What composing takes and gives. The operator hands in everything of the pod's namespace; composing picks what selects the pod. */
import type { PodInterface, PodNetworkSpec } from '@podloom/api';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface AddressRequest {
  /** Network whose pools are asked: the bridge, or the attachment where there is none. */
  readonly network: string;
  readonly cidr: string;
  readonly gateway?: string | undefined;
  readonly exclude: readonly string[];
  /** A static request: this address and no other. */
  readonly address?: string | undefined;
}

/** An interface whose addresses are still to be given: `withAddresses` makes the PodInterface of it. */
export interface ComposedInterface {
  readonly interface: Omit<PodInterface, 'addresses'>;
  readonly requests: readonly AddressRequest[];
}

export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly fieldPath?: string | undefined;
}

/** `loser` does not get what `winner`, the older one, has. */
export interface ComposeConflict {
  readonly loser: ObjectRef;
  readonly winner: ObjectRef;
  readonly reason: 'InterfaceConflict' | 'AddressConflict' | 'BridgeConflict' | 'PrimaryConflict';
  readonly message: string;
}

export interface ComposedPod {
  readonly interfaces: readonly ComposedInterface[];
  readonly primary?: PodNetworkSpec['primary'];
  readonly conflicts: readonly ComposeConflict[];
}
