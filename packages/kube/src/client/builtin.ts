/**
 * The built-in kinds that we use, as resources with their types. kubernetes-types describes the wire truthfully (times are strings)
 * but makes metadata optional, as an object to be written might lack it; what the server gives always has it.
 */
import type { KubeObject } from '@podloom/api';
import type * as extensions from 'kubernetes-types/apiextensions/v1.js';
import type * as apps from 'kubernetes-types/apps/v1.js';
import type * as batch from 'kubernetes-types/batch/v1.js';
import type * as coordination from 'kubernetes-types/coordination/v1.js';
import type * as core from 'kubernetes-types/core/v1.js';
import type * as discovery from 'kubernetes-types/discovery/v1.js';
import type * as networking from 'kubernetes-types/networking/v1.js';
import type * as rbac from 'kubernetes-types/rbac/v1.js';
import type * as storage from 'kubernetes-types/storage/v1.js';
import type { Resource } from './client.ts';

type Wire<T> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & KubeObject;

export type ClusterRole = Wire<rbac.ClusterRole>;
export type ClusterRoleBinding = Wire<rbac.ClusterRoleBinding>;
export type ConfigMap = Wire<core.ConfigMap>;
export type CoreEvent = Wire<core.Event>;
export type CustomResourceDefinition = Wire<extensions.CustomResourceDefinition>;
export type DaemonSet = Wire<apps.DaemonSet>;
export type Deployment = Wire<apps.Deployment>;
export type EndpointSlice = Wire<discovery.EndpointSlice>;
export type Ingress = Wire<networking.Ingress>;
export type Job = Wire<batch.Job>;
export type Lease = Wire<coordination.Lease>;
export type LimitRange = Wire<core.LimitRange>;
export type Namespace = Wire<core.Namespace>;
export type NetworkPolicy = Wire<networking.NetworkPolicy>;
export type Node = Wire<core.Node>;
export type PersistentVolume = Wire<core.PersistentVolume>;
export type PersistentVolumeClaim = Wire<core.PersistentVolumeClaim>;
export type Pod = Wire<core.Pod>;
export type ResourceQuota = Wire<core.ResourceQuota>;
export type Role = Wire<rbac.Role>;
export type RoleBinding = Wire<rbac.RoleBinding>;
export type Secret = Wire<core.Secret>;
export type Service = Wire<core.Service>;
export type ServiceAccount = Wire<core.ServiceAccount>;
export type StorageClass = Wire<storage.StorageClass>;
/** Too young for kubernetes-types. */
export type ServiceCIDR = KubeObject<{ readonly cidrs: readonly string[] }>;

function resource<T extends KubeObject>(
  groupVersion: string,
  plural: string,
  kind: string,
  namespaced = true,
): Resource<T> {
  const [version, group] = groupVersion.split('/').toReversed();
  return Object.freeze({ group: group ?? '', version: version ?? '', plural, kind, namespaced });
}

export const clusterRoles = resource<ClusterRole>('rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', false);
export const clusterRoleBindings = resource<ClusterRoleBinding>(
  'rbac.authorization.k8s.io/v1',
  'clusterrolebindings',
  'ClusterRoleBinding',
  false,
);
export const configMaps = resource<ConfigMap>('v1', 'configmaps', 'ConfigMap');
export const coreEvents = resource<CoreEvent>('v1', 'events', 'Event');
export const customResourceDefinitions = resource<CustomResourceDefinition>(
  'apiextensions.k8s.io/v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);
export const deployments = resource<Deployment>('apps/v1', 'deployments', 'Deployment');
export const endpointSlices = resource<EndpointSlice>('discovery.k8s.io/v1', 'endpointslices', 'EndpointSlice');
export const ingresses = resource<Ingress>('networking.k8s.io/v1', 'ingresses', 'Ingress');
export const jobs = resource<Job>('batch/v1', 'jobs', 'Job');
export const leases = resource<Lease>('coordination.k8s.io/v1', 'leases', 'Lease');
export const limitRanges = resource<LimitRange>('v1', 'limitranges', 'LimitRange');
export const namespaces = resource<Namespace>('v1', 'namespaces', 'Namespace', false);
export const networkPolicies = resource<NetworkPolicy>('networking.k8s.io/v1', 'networkpolicies', 'NetworkPolicy');
export const nodes = resource<Node>('v1', 'nodes', 'Node', false);
export const persistentVolumes = resource<PersistentVolume>('v1', 'persistentvolumes', 'PersistentVolume', false);
export const persistentVolumeClaims = resource<PersistentVolumeClaim>(
  'v1',
  'persistentvolumeclaims',
  'PersistentVolumeClaim',
);
export const pods = resource<Pod>('v1', 'pods', 'Pod');
export const resourceQuotas = resource<ResourceQuota>('v1', 'resourcequotas', 'ResourceQuota');
export const roles = resource<Role>('rbac.authorization.k8s.io/v1', 'roles', 'Role');
export const roleBindings = resource<RoleBinding>('rbac.authorization.k8s.io/v1', 'rolebindings', 'RoleBinding');
export const secrets = resource<Secret>('v1', 'secrets', 'Secret');
export const services = resource<Service>('v1', 'services', 'Service');
export const serviceCidrs = resource<ServiceCIDR>('networking.k8s.io/v1', 'servicecidrs', 'ServiceCIDR', false);
export const serviceAccounts = resource<ServiceAccount>('v1', 'serviceaccounts', 'ServiceAccount');
export const storageClasses = resource<StorageClass>('storage.k8s.io/v1', 'storageclasses', 'StorageClass', false);
