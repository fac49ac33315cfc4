/** Copies of all that the people's controllers read: Workspaces, Tenants, and every object that one of them may have. */
import { type KubeObject, tenantKind, workspaceKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Log,
  type Resource,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  controllerIndex,
  jobs,
  limitRanges,
  namespaces,
  networkPolicies,
  persistentVolumeClaims,
  persistentVolumes,
  resourceQuotas,
  roleBindings,
  roles,
  secrets,
  startCache,
} from '@podloom/kube';
import { labels } from '@podloom/labs';

export interface CacheTools {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export type PeopleCaches = ReturnType<typeof startCaches>;

export function startCaches(tools: CacheTools, driveNamespace: string) {
  const managed = { ...tools, labelSelector: `${labels.managedBy} in (tenant,workspace)` };
  const owned = <T extends KubeObject>(resource: Resource<T>): Cache<T, 'controller'> =>
    startCache({ ...managed, resource, indexes: controllerIndex });
  const tenants = startCache({
    ...tools,
    resource: tenantKind.resource,
    indexes: { workspace: (tenant) => tenant.spec.workspaces?.map(({ name }) => name) ?? [] },
  });
  const workspaces = startCache({ ...tools, resource: workspaceKind.resource });
  const claims = startCache({
    ...managed,
    resource: persistentVolumeClaims,
    // A drive outlives its Tenant, also where an earlier program made the Tenant its controller: it is nobody's to prune.
    indexes: {
      controller: (claim) => (claim.metadata.namespace === driveNamespace ? [] : controllerIndex.controller(claim)),
    },
  });
  // The volumes of drives are made by others, and carry no label.
  const volumes = startCache({ ...tools, resource: persistentVolumes, indexes: controllerIndex });
  const jobsOfDrives = owned(jobs);
  const spaces = owned(namespaces);
  // What a Tenant or Workspace owns. It is pruned from the last to the first: policies, rights and quotas before the namespace that they are in.
  const owns = [
    owned(clusterRoles),
    owned(clusterRoleBindings),
    spaces,
    volumes,
    owned(roles),
    owned(configMaps),
    owned(secrets),
    claims,
    jobsOfDrives,
    owned(limitRanges),
    owned(resourceQuotas),
    owned(roleBindings),
    owned(networkPolicies),
  ] as const satisfies readonly Cache<KubeObject, 'controller'>[];
  const all: readonly Cache<KubeObject>[] = [tenants, workspaces, ...owns];
  return {
    tenants,
    workspaces,
    claims,
    volumes,
    jobs: jobsOfDrives,
    owns,
    isSynced: () => all.every((cache) => cache.isSynced),
    waitForSync: () => Promise.all(all.map((cache) => cache.waitForSync())),
    ended: () => Promise.all(all.map((cache) => cache.ended)),
  };
}
