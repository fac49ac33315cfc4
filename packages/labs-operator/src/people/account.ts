/** The account of a Tenant at the identity provider. Nothing in the cluster waits for it. */
import type { Tenant } from '@podloom/api';
import type { Enrolments } from '@podloom/labs';
import type { Account } from '../identity/identity.ts';
import type { PeopleContext } from './context.ts';
import type { Failures } from '../failures.ts';

export const accountAction = 'Account at the identity provider';

export async function ensureAccount(
  tenant: Tenant,
  { counted }: Enrolments,
  { identity }: PeopleContext,
  failures: Failures,
  signal: AbortSignal,
): Promise<Account | undefined> {
  if (!identity) return undefined;
  return await failures.attempt(accountAction, async () => {
    const account = await identity.ensureUser(tenant, signal);
    const roles = counted.map(({ name, role }) => `workspace-${name}:${role}`);
    await identity.setRoles(account, roles, signal);
    return account;
  });
}
