/** Every object that a Workspace has: the namespace of its templates, and the rights of its users and managers. */
import type { Workspace } from '@podloom/api';
import { labels } from '../labels.ts';
import { workspaceGroup, workspaceNamespace } from '../names.ts';
import { type LabObject, type Labels, object } from '../object.ts';
import { clusterRoleBinding, group, roleBinding } from '../rbac.ts';

/** What every managed object of a Workspace is found by. */
export const workspaceMark = { key: labels.managedBy, value: 'workspace' } as const;

export function workspaceObjects(workspace: Workspace, targetLabels: Labels): LabObject[] {
  const name = workspace.metadata.name ?? '';
  const namespace = workspaceNamespace(name);
  const common: Labels = { ...targetLabels, [workspaceMark.key]: workspaceMark.value };
  const users = group(workspaceGroup(name, 'user'));
  const managers = group(workspaceGroup(name, 'manager'));
  const within = (role: string) => ({ name: role, namespace, labels: common });
  return [
    object('v1', 'Namespace', { name: namespace, labels: { ...common, [labels.type]: 'workspace' } }),
    // Tenants are in no namespace. Which of them a manager may change is said by the policies.
    clusterRoleBinding(
      { name: `crownlabs-manage-tenants-${name}`, labels: common },
      'crownlabs-manage-tenants',
      managers,
    ),
    roleBinding(within('crownlabs-view-templates'), 'crownlabs-view-templates', users),
    roleBinding(within('crownlabs-manage-templates'), 'crownlabs-manage-templates', managers),
    roleBinding(within('crownlabs-manage-sharedvolumes'), 'crownlabs-manage-sharedvolumes', managers),
  ];
}

export function workspaceLabels(workspace: Workspace, targetLabels: Labels): Labels {
  return {
    ...targetLabels,
    [workspaceMark.key]: workspaceMark.value,
    [labels.autoEnroll]: workspace.spec.autoEnroll || 'disabled',
  };
}
