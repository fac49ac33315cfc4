/** Every object that a Tenant has, but for the drive (drive/), which may outlive it. */
import type { Tenant, TenantQuota } from '@podloom/api';
import { labels } from '../labels.ts';
import { canonicalName, sandboxNamespace, tenantNamespace, workspaceGroup } from '../names.ts';
import { type LabObject, type Labels, object } from '../object.ts';
import { clusterRole, clusterRoleBinding, group, roleBinding, user } from '../rbac.ts';
import type { CountedEnrolment } from './enrolment.ts';
import { hardQuota } from './quota.ts';

export interface TenantObjectOptions {
  readonly targetLabels: Labels;
  /** Further labels of the personal namespace. */
  readonly namespaceLabels: Labels;
  readonly sandboxClusterRole: string;
}

export interface TenantPlan {
  readonly quota: TenantQuota;
  readonly counted: readonly CountedEnrolment[];
  /** Whether the personal namespace is kept: see tenant/keep-alive.ts. */
  readonly hasNamespace: boolean;
}

/** What every managed object of a Tenant is found by. */
export const tenantMark = { key: labels.managedBy, value: 'tenant' } as const;

export function tenantObjects(tenant: Tenant, plan: TenantPlan, options: TenantObjectOptions): LabObject[] {
  const common: Labels = { ...options.targetLabels, [tenantMark.key]: tenantMark.value };
  return [
    ...accountObjects(nameOf(tenant), common),
    ...(plan.hasNamespace ? personalObjects(tenant, plan, common, options) : []),
    ...(tenant.spec.createSandbox ? sandboxObjects(nameOf(tenant), common, options) : []),
  ];
}

const nameOf = (tenant: Tenant): string => tenant.metadata.name ?? '';

/** Lets the person see and change the own Tenant; the policies say which fields. */
function accountObjects(tenant: string, common: Labels): LabObject[] {
  const place = { name: `crownlabs-manage-tenant-${canonicalName(tenant)}`, labels: common };
  const rule = {
    apiGroups: ['crownlabs.polito.it'],
    resources: ['tenants'],
    resourceNames: [tenant],
    verbs: ['get', 'list', 'watch', 'patch', 'update'],
  };
  return [clusterRole(place, [rule]), clusterRoleBinding(place, place.name, user(tenant))];
}

function personalObjects(
  tenant: Tenant,
  { quota, counted }: TenantPlan,
  common: Labels,
  { namespaceLabels }: TenantObjectOptions,
): LabObject[] {
  const name = nameOf(tenant);
  const namespace = tenantNamespace(name);
  const within = (child: string) => ({ name: child, namespace, labels: common });
  const managers = counted.map((enrolment) => {
    const manager = group(workspaceGroup(enrolment.name, 'manager'));
    return roleBinding(within(`crownlabs-manage-instances-${enrolment.name}`), 'crownlabs-manage-instances', manager);
  });
  const isTemplateOwner = tenant.spec.personalWorkspace !== undefined;
  return [
    object('v1', 'Namespace', {
      name: namespace,
      labels: {
        ...namespaceLabels,
        ...common,
        [labels.type]: 'tenant',
        [labels.name]: name,
        [labels.replicateSecrets]: 'true',
      },
    }),
    object('v1', 'ResourceQuota', within('crownlabs-resource-quota'), { spec: { hard: hardQuota(quota) } }),
    roleBinding(within('crownlabs-manage-instances'), 'crownlabs-manage-instances', user(name)),
    ...(isTemplateOwner
      ? [roleBinding(within('crownlabs-manage-templates'), 'crownlabs-manage-templates', user(name))]
      : []),
    ...managers,
    ingressPolicy(within('crownlabs-deny-ingress-traffic'), { podSelector: {} }),
    ingressPolicy(within('crownlabs-allow-trusted-ingress-traffic'), {
      namespaceSelector: { matchLabels: { [labels.allowInstanceAccess]: 'true' } },
    }),
  ];
}

const ingressPolicy = (place: { name: string; namespace: string; labels: Labels }, from: object): LabObject =>
  object('networking.k8s.io/v1', 'NetworkPolicy', place, {
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [from] }] },
  });

function sandboxObjects(tenant: string, common: Labels, { sandboxClusterRole }: TenantObjectOptions): LabObject[] {
  const namespace = sandboxNamespace(tenant);
  const marks = { ...common, [labels.type]: 'sandbox', [labels.tenant]: canonicalName(tenant) };
  const within = (name: string) => ({ name, namespace, labels: marks });
  const hard = { 'limits.cpu': '4', 'requests.cpu': '2', 'limits.memory': '8G', 'requests.memory': '8G' };
  const limit = {
    type: 'Container',
    default: { cpu: '100m', memory: '250M' },
    defaultRequest: { cpu: '10m', memory: '50M' },
  };
  return [
    // Whoever makes pods there is no administrator: without this level a pod could be privileged, and its owner would own the node.
    object('v1', 'Namespace', {
      name: namespace,
      labels: { ...marks, 'pod-security.kubernetes.io/enforce': 'baseline' },
    }),
    object('v1', 'ResourceQuota', within('sandbox-resource-quota'), { spec: { hard } }),
    object('v1', 'LimitRange', within('sandbox-limit-range'), { spec: { limits: [limit] } }),
    roleBinding(within('sandbox-editor'), sandboxClusterRole, user(tenant)),
  ];
}
