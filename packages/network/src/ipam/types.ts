/** What allocation takes and gives. Pools are IPPool objects as read: a changed one keeps its resourceVersion, so writing it is a compare-and-swap. */
import type { IPPool, IPPoolSpec } from '@podloom/api';

export interface NetworkRange {
  readonly network: string;
  readonly cidr: string;
  /** Left out: the first address of the range, where the range has room for one. null: none. */
  readonly gateway?: string | null | undefined;
  readonly exclude?: readonly string[] | undefined;
}

export interface PoolDeclaration {
  /** Deterministic: two leaders that make the same pool make the same object. */
  readonly name: string;
  readonly spec: IPPoolSpec;
}

export interface PoolRequest {
  readonly podName: string;
  readonly podUid: string;
  readonly interfaceKey: string;
  readonly nodeName?: string | undefined;
  /** Static request. */
  readonly address?: string | undefined;
  /** The pod's PodNetwork was seen to have this address on this interface and network. */
  readonly hasIt?: boolean | undefined;
}

export interface Allocated {
  /** Pools to write with their resourceVersion, before anything uses an address of `results`. */
  readonly changed: readonly IPPool[];
  /** One a request, in order: the address with the prefix length of the range, or why there is none. */
  readonly results: readonly AllocationResult[];
}

export type AllocationResult =
  | { readonly address: string }
  | {
      readonly failed: 'Exhausted' | 'AddressTaken' | 'AddressOutsideRange';
      readonly message: string;
      /** When an address that would do has cooled down; left out where none is about to. */
      readonly coolUntilMs?: number | undefined;
    };
