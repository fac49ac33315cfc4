/** Accounts and roles of people at an identity provider, as the controllers need them. What the provider is, they do not know. */
import type { Tenant, Workspace } from '@podloom/api';
import type { Log } from '@podloom/kube';
import type { LabsOperatorSettings } from '../settings.ts';

export interface Account {
  /** As the provider calls it. */
  readonly id: string;
  /** The e-mail address was verified. */
  readonly isConfirmed: boolean;
}

/** All of it can be repeated. What fails throws Unavailable with the reason: the objects of the cluster do not wait for it. */
export interface Identity {
  /** Finds the account, makes or updates it. */
  ensureUser(tenant: Tenant, signal: AbortSignal): Promise<Account>;
  /** Makes the roles of workspaces that the account has exactly these: `workspace-<name>:<role>`. */
  setRoles(account: Account, roles: readonly string[], signal: AbortSignal): Promise<void>;
  deleteUser(tenant: Tenant, signal: AbortSignal): Promise<void>;
  /** The roles of a workspace, for its users and for its managers. */
  ensureWorkspaceRoles(workspace: Workspace, signal: AbortSignal): Promise<void>;
  deleteWorkspaceRoles(workspace: Workspace, signal: AbortSignal): Promise<void>;
  /** Calls back with the name of a Tenant whose account has changed. Returns the undo. */
  onChange(listener: (tenant: string) => void): () => void;
}

/** Nothing, where no provider is configured: then there are no accounts, and statuses say so. */
export function identityOf({ keycloakUrl }: LabsOperatorSettings, log: Log): Identity | undefined {
  if (keycloakUrl) log.error({ keycloakUrl }, 'Keycloak is configured, but this version has no client for it');
  return undefined;
}
