/** What a Workspace changes in the enrolments of Tenants by itself. */
import type { Enrolment, Tenant, Workspace } from '@podloom/api';

/** The list without the workspace: it is going. */
export const withoutWorkspace = (tenant: Tenant, workspace: string): readonly Enrolment[] =>
  (tenant.spec.workspaces ?? []).filter(({ name }) => name !== workspace);

/**
 * Who waits for an approval that nobody can give any more: where the workspace enrols at once, the candidate becomes a user, where it does not enrol,
 * the entry goes. Nothing, where the list stays as it is.
 */
export function settledCandidates(tenant: Tenant, workspace: Workspace): readonly Enrolment[] | undefined {
  const name = workspace.metadata.name ?? '';
  const mode = workspace.spec.autoEnroll ?? '';
  const entry = tenant.spec.workspaces?.find((one) => one.name === name);
  if (mode === 'withApproval' || entry?.role !== 'candidate') return undefined;
  if (mode !== 'immediate') return withoutWorkspace(tenant, name);
  return (tenant.spec.workspaces ?? []).map((one) => (one === entry ? { name, role: 'user' } : one));
}
