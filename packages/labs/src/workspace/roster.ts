/** The roster of a Workspace: who is in it. Its managers read it, because nobody may list all Tenants or namespaces. */
import type { Tenant } from '@podloom/api';
import { tenantNamespace, workspaceGroup, workspaceNamespace } from '../names.ts';
import { type LabObject, type Labels, object } from '../object.ts';
import { group } from '../rbac.ts';

export const rosterName = 'crownlabs-roster';

/** The ConfigMap has one key for each Tenant, with this as JSON. */
export interface RosterEntry {
  readonly firstName: string;
  readonly lastName: string;
  readonly role: string;
  readonly namespace: string;
}

export function rosterObjects(workspace: string, members: readonly Tenant[], common: Labels): LabObject[] {
  const place = { name: rosterName, namespace: workspaceNamespace(workspace), labels: common };
  const rule = { apiGroups: [''], resources: ['configmaps'], resourceNames: [rosterName], verbs: ['get', 'watch'] };
  const apiGroup = 'rbac.authorization.k8s.io';
  return [
    object('v1', 'ConfigMap', place, { data: rosterData(workspace, members) }),
    object(`${apiGroup}/v1`, 'Role', place, { rules: [rule] }),
    object(`${apiGroup}/v1`, 'RoleBinding', place, {
      roleRef: { apiGroup, kind: 'Role', name: rosterName },
      subjects: [{ apiGroup, ...group(workspaceGroup(workspace, 'manager')) }],
    }),
  ];
}

function rosterData(workspace: string, members: readonly Tenant[]): Record<string, string> {
  const rows = members.flatMap(({ metadata: { name = '' }, spec }) => {
    const role = spec.workspaces?.find((one) => one.name === workspace)?.role;
    if (role === undefined) return [];
    const { firstName, lastName } = spec;
    const entry: RosterEntry = { firstName, lastName, role, namespace: tenantNamespace(name) };
    return [[name, JSON.stringify(entry)] as const];
  });
  return Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
