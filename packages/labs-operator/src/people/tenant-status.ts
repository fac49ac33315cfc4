/** What a Tenant's status says after a pass. */
import type { Tenant, TenantQuota, TenantStatus } from '@podloom/api';
import type { NewCondition, OwnedFailure } from '@podloom/kube';
import { type Enrolments, sandboxNamespace, tenantNamespace } from '@podloom/labs';
import type { Account } from '../identity/identity.ts';
import { accountAction } from './account.ts';
import type { PeopleContext } from './context.ts';
import type { Drive } from './drive.ts';
import { identityCondition, readyCondition } from './status.ts';
import { withConditions } from '../conditions.ts';

interface Found {
  readonly enrolments: Enrolments;
  readonly account: Account | undefined;
  readonly quota: TenantQuota;
  readonly drive: Drive;
  readonly hasNamespace: boolean;
  /** For the e-mail address to be verified. */
  readonly waits: boolean;
}

export function tenantStatus(
  tenant: Tenant,
  { enrolments, account, quota, drive, hasNamespace, waits }: Found,
  failures: readonly OwnedFailure[],
  { identity, clock }: PeopleContext,
): TenantStatus {
  const name = tenant.metadata.name ?? '';
  const failedAccount = failures.find(({ object }) => object === accountAction);
  const spaceOf = (space: string, isWanted: boolean) => {
    const created = isWanted && !failures.some(({ object }) => object === `Namespace ${space}`);
    return created ? { name: space, created } : { created };
  };
  const conditions: NewCondition[] = [
    waits && failures.length === 0 ? unverified : readyCondition(failures),
    identityCondition(identity !== undefined, failedAccount, account?.mailFailure),
    {
      type: 'Drive',
      status: drive.isReady ? 'True' : 'False',
      reason: drive.isReady ? 'Ready' : 'NotReady',
      message: drive.message,
    },
  ];
  return {
    personalNamespace: spaceOf(tenantNamespace(name), hasNamespace),
    sandboxNamespace: spaceOf(sandboxNamespace(name), tenant.spec.createSandbox && !waits),
    failingWorkspaces: [...enrolments.failing],
    keycloak: {
      userCreated: account ? { name: account.id, created: true } : { created: false },
      userConfirmed: account?.isConfirmed ?? false,
      userSynchronized: account !== undefined,
    },
    // As upstream has it: what waits for the person is no error.
    ready: failures.length === 0,
    quota,
    personalWorkspaceCreated: tenant.spec.personalWorkspace !== undefined && hasNamespace,
    observedGeneration: tenant.metadata.generation,
    conditions: withConditions(tenant, conditions, clock.now()),
  };
}

const unverified: NewCondition = {
  type: 'Ready',
  status: 'False',
  reason: 'NotVerified',
  message: 'Waits until the person has verified the e-mail address (--wait-user-verification)',
};
