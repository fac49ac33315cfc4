/** Statuses of people's objects: conditions that both kinds have, and the write, which is left out where nothing changes. */
import type { Condition } from '@podloom/api';
import {
  type NewCondition,
  type OwnedFailure,
  type Resource,
  applyStatus,
  isConditionTrue,
  isSameJson,
} from '@podloom/kube';
import { type Stated } from '../conditions.ts';
import { mailNotSent } from '../identity/identity.ts';
import { fieldManager } from '../settings.ts';
import type { PeopleContext } from './context.ts';
import { messageOf, summaryOf } from '../failures.ts';

export const readyCondition = (failures: readonly OwnedFailure[]): NewCondition =>
  failures.length === 0
    ? { type: 'Ready', status: 'True', reason: 'Ready', message: 'Everything is as it should be' }
    : { type: 'Ready', status: 'False', reason: 'Failed', message: summaryOf(failures) };

export const leavingCondition = (failures: readonly OwnedFailure[], left: readonly string[]): NewCondition => ({
  type: 'Ready',
  status: 'False',
  reason: 'Deleting',
  message: failures.length > 0 ? summaryOf(failures) : `Waits until this is gone: ${left.join(', ')}`.slice(0, 2_000),
});

export function identityCondition(
  hasProvider: boolean,
  failure: OwnedFailure | undefined,
  mailFailure?: string,
): NewCondition {
  const type = 'Identity';
  if (!hasProvider) {
    const message = 'No identity provider is configured (--keycloak-url), so there are no accounts and no roles';
    return { type, status: 'False', reason: 'NoProvider', message };
  }
  if (failure) return { type, status: 'False', reason: 'Failed', message: messageOf(failure.error) };
  if (mailFailure !== undefined) {
    const message = `Account and roles are as they should be, but the mail to the person was not sent: ${mailFailure}`;
    return { type, status: 'True', reason: mailNotSent, message };
  }
  return { type, status: 'True', reason: 'Synchronized', message: 'Account and roles are as they should be' };
}

export async function report<T extends Stated>(
  { client, events }: PeopleContext,
  resource: Resource<T>,
  object: T,
  status: NonNullable<T['status']>,
  failures: readonly OwnedFailure[],
  signal: AbortSignal,
): Promise<void> {
  for (const { object: what, error } of failures) events.warning(object, 'Failed', `${what}: ${messageOf(error)}`);
  if (isSameJson(object.status, status)) return;
  const wasReady = isConditionTrue(object.status?.conditions, 'Ready');
  await applyStatus(client, resource, object, status, { fieldManager, signal });
  const isReady = isConditionTrue((status as { conditions?: Condition[] }).conditions, 'Ready');
  if (isReady && !wasReady) events.normal(object, 'Ready', 'Everything is as it should be');
}
