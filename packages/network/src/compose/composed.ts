/** What composing takes and gives. The operator hands in everything of the pod's namespace; composing picks what selects the pod. */
import type { PodInterface, PodNetworkSpec } from '@podloom/api';
import type { NetworkRange } from '../ipam/types.ts';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Such a pod has no network of its own, and gets none. */
  readonly hostNetwork?: boolean | undefined;
}

/** What a pool is asked: the range as `poolsOf` takes it, and a static address or the next free one. */
export interface AddressRequest extends NetworkRange {
  readonly address?: string | undefined;
}

/** An interface whose addresses are still to be given: `withAddresses` makes the PodInterface of it. */
export interface ComposedInterface {
  readonly interface: Omit<PodInterface, 'addresses'>;
  readonly requests: readonly AddressRequest[];
}

/** `addresses` with prefix length, in the order of the requests. */
export const withAddresses = (composed: ComposedInterface, addresses: readonly string[]): PodInterface => ({
  ...composed.interface,
  addresses: [...addresses],
});

export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly fieldPath?: string | undefined;
}

/** `loser` does not get what `winner` has: the older one, or of a bridge whoever decides what it is like. */
export interface ComposeConflict {
  readonly loser: ObjectRef;
  readonly winner: ObjectRef;
  readonly reason: 'InterfaceConflict' | 'AddressConflict' | 'RouteConflict' | 'BridgeConflict' | 'PrimaryConflict';
  readonly message: string;
}

export interface ComposedPod {
  readonly interfaces: readonly ComposedInterface[];
  readonly primary?: PodNetworkSpec['primary'];
  readonly conflicts: readonly ComposeConflict[];
}
