/** Which enrolments of a Tenant count, and what its labels say of them. */
import type { Enrolment, Tenant, Workspace } from '@podloom/api';
import { labelValue, labels } from '../labels.ts';
import type { Labels } from '../object.ts';

export interface Enrolments {
  /** Of users and managers: these give quota and rights. */
  readonly counted: readonly CountedEnrolment[];
  /** Candidates of a workspace that takes them. */
  readonly waiting: readonly Enrolment[];
  /** Names of workspaces that do not exist, or that take no candidates. */
  readonly failing: readonly string[];
}

export interface CountedEnrolment extends Enrolment {
  readonly workspace: Workspace;
}

export type FindWorkspace = (name: string) => Workspace | undefined;

export function enrolmentsOf(tenant: Tenant, find: FindWorkspace): Enrolments {
  const counted: CountedEnrolment[] = [];
  const waiting: Enrolment[] = [];
  const failing: string[] = [];
  for (const enrolment of tenant.spec.workspaces ?? []) {
    const workspace = find(enrolment.name);
    // One that is on its way out gives nothing any more.
    if (!workspace || workspace.metadata.deletionTimestamp) failing.push(enrolment.name);
    else if (enrolment.role !== 'candidate') counted.push({ ...enrolment, workspace });
    else if (workspace.spec.autoEnroll === 'withApproval') waiting.push(enrolment);
    else failing.push(enrolment.name);
  }
  return { counted, waiting, failing };
}

/** The base workspaces that the Tenant is not in yet. */
export const missingBaseWorkspaces = (tenant: Tenant, base: readonly string[]): string[] =>
  base.filter((name) => !tenant.spec.workspaces?.some((one) => one.name === name));

export interface TenantLabelOptions {
  readonly targetLabels: Labels;
  readonly baseWorkspaces: readonly string[];
}

/** All labels of ours; `undefined` for one that must go. */
export function tenantLabels(
  tenant: Tenant,
  { counted, waiting }: Enrolments,
  { targetLabels, baseWorkspaces }: TenantLabelOptions,
): Record<string, string | undefined> {
  const wanted: Record<string, string | undefined> = {};
  for (const key of Object.keys(tenant.metadata.labels ?? {})) {
    if (key.startsWith(labels.workspacePrefix)) wanted[key] = undefined;
  }
  for (const { name, role } of [...counted, ...waiting]) wanted[`${labels.workspacePrefix}${name}`] = role;
  const hasOwn = [...counted, ...waiting].some(({ name }) => !baseWorkspaces.includes(name));
  return {
    ...wanted,
    ...targetLabels,
    [labels.managedBy]: 'tenant',
    [labels.firstName]: labelValue(tenant.spec.firstName),
    [labels.lastName]: labelValue(tenant.spec.lastName),
    [labels.noWorkspaces]: hasOwn ? undefined : 'true',
  };
}
