/** Bindings of the roles that the chart ships, to a person or to a group of a workspace. */
import { type LabObject, type ObjectPlace, object } from './object.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';

export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

export const user = (name: string): Subject => ({ kind: 'User', name });
export const group = (name: string): Subject => ({ kind: 'Group', name });

export const roleBinding = (place: ObjectPlace, role: string, subject: Subject): LabObject =>
  object(apiVersion, 'RoleBinding', place, bound(role, subject));

export const clusterRoleBinding = (place: ObjectPlace, role: string, subject: Subject): LabObject =>
  object(apiVersion, 'ClusterRoleBinding', place, bound(role, subject));

export const clusterRole = (place: ObjectPlace, rules: readonly object[]): LabObject =>
  object(apiVersion, 'ClusterRole', place, { rules });

const bound = (role: string, subject: Subject) => ({
  roleRef: { apiGroup, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup, ...subject }],
});
