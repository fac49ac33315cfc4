/** Names of what the labs make, derived from the names of Tenants and Workspaces. */

/** As a part of other names: those of namespaces have no dots. */
export const canonicalName = (name: string): string => name.replaceAll('.', '-');

export const tenantNamespace = (tenant: string): string => `tenant-${canonicalName(tenant)}`;
export const sandboxNamespace = (tenant: string): string => `sandbox-${canonicalName(tenant)}`;
export const workspaceNamespace = (workspace: string): string => `workspace-${workspace}`;
export const driveClaimName = (tenant: string): string => `${canonicalName(tenant)}-drive`;
export const mirrorClaimName = (claim: string): string => `${claim.slice(-55).replace(/^[-.]+/, '')}-mirror`;

/** The group of a token that says who is what in a workspace. */
export const workspaceGroup = (workspace: string, role: 'manager' | 'user'): string =>
  `kubernetes:workspace-${workspace}:${role}`;
