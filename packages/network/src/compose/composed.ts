/** What composing gives. */
import type { PodInterface, PodNetworkSpec } from '@podloom/api';
import type { NetworkRange } from '../ipam/types.ts';
import type { ObjectRef, Problem } from '../source/source.ts';

/** What a pool is asked: the range as `poolsOf` takes it, and a static address or the next free one. */
export interface AddressRequest extends NetworkRange {
  readonly address?: string | undefined;
}

/** An interface whose addresses are still to be given: `withAddresses` makes the PodInterface of it. */
export interface ComposedInterface {
  readonly interface: Omit<PodInterface, 'addresses' | 'source'> & { readonly source: ObjectRef };
  readonly requests: readonly AddressRequest[];
}

/** `addresses` with prefix length, in the order of the requests. */
export const withAddresses = (composed: ComposedInterface, addresses: readonly string[]): PodInterface => ({
  ...composed.interface,
  addresses: [...addresses],
});

/** `loser` does not get what `winner` has: the older one, or of a bridge whoever decides what it is like. */
export interface ComposeConflict {
  readonly loser: ObjectRef;
  readonly winner: ObjectRef;
  readonly reason: 'InterfaceConflict' | 'AddressConflict' | 'RouteConflict' | 'BridgeConflict' | 'PrimaryConflict';
  readonly message: string;
}

export type ComposedPrimary = Omit<NonNullable<PodNetworkSpec['primary']>, 'sources'> & {
  readonly sources: ObjectRef[];
};

export interface ComposedPod {
  readonly interfaces: readonly ComposedInterface[];
  readonly primary?: ComposedPrimary;
  readonly conflicts: readonly ComposeConflict[];
  /** What is asked for in this pod and may not be had, or cannot be read. */
  readonly problems: readonly Problem[];
  /** Kinds whose objects the pod names in a text that cannot be read. What it has of them stays until the text can be read. */
  readonly unread: readonly string[];
}
