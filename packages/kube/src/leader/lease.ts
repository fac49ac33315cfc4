/**
 * The rules of leadership over a Lease, without any I/O.
 *
 * Nobody compares a clock with the times that another wrote: a candidate counts the lease time on its own clock, from the moment when it saw the
 * record change; a leader counts from before it sent its last renewal, which is always earlier. As the leader also stops some time before
 * the end, there are never two, as long as their clocks run at nearly the same speed.
 */
import type { Lease } from '../client/builtin.ts';
import { toMicroTime } from '../objects/conditions.ts';

type LeaseSpec = NonNullable<Lease['spec']>;

export interface LeaseTerms {
  readonly leaseMs: number;
}

/** When a leader sends its next renewal. */
export const renewEveryMs = ({ leaseMs }: LeaseTerms): number => leaseMs / 5;
/** From the start of one try to the next, at least. */
export const retryEveryMs = ({ leaseMs }: LeaseTerms): number => leaseMs / 15;
/** From its last renewal on: when a leader that could not renew tells its work to stop. */
export const stopAfterMs = ({ leaseMs }: LeaseTerms): number => (leaseMs * 2) / 3;
/** From its last renewal on: when work that has not stopped by then is stopped by force. A tenth is left for clocks that differ. */
export const forceAfterMs = ({ leaseMs }: LeaseTerms): number => (leaseMs * 9) / 10;

/** How long a candidate must still wait, having seen this record unchanged since `seenMs` (on its own clock). */
export function waitMs(
  lease: Lease | undefined,
  identity: string,
  seenMs: number,
  nowMs: number,
  terms: LeaseTerms,
): number {
  const holder = lease?.spec?.holderIdentity;
  if (!holder || holder === identity) return 0;
  const leaseMs = (lease.spec?.leaseDurationSeconds ?? terms.leaseMs / 1_000) * 1_000;
  return Math.max(0, seenMs + leaseMs - nowMs);
}

export function takenSpec(lease: Lease | undefined, identity: string, nowMs: number, terms: LeaseTerms): LeaseSpec {
  const before = lease?.spec;
  const isOurs = before?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(terms.leaseMs / 1_000),
    acquireTime: isOurs && before.acquireTime ? before.acquireTime : toMicroTime(nowMs),
    renewTime: toMicroTime(nowMs),
    leaseTransitions: (before?.leaseTransitions ?? 0) + (isOurs || !lease ? 0 : 1),
  };
}

/** With nobody in it, and short: whoever comes next need not wait. */
export function releasedSpec(lease: Lease, nowMs: number): LeaseSpec {
  return { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: toMicroTime(nowMs) };
}
