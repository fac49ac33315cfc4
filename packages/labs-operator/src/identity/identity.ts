/** Accounts and roles of people at an identity provider, as the controllers need them. What the provider is, they do not know. */
import type { Tenant, Workspace } from '@podloom/api';
import type { LabsOperatorSettings } from '../settings.ts';
import { keycloakIdentity } from './keycloak.ts';
import { keycloakPlace } from './keycloak-place.ts';

export interface Account {
  /** As the provider calls it. */
  readonly id: string;
  /** The e-mail address was verified. */
  readonly isConfirmed: boolean;
  /** Why the person got no mail. It is sent again in the next pass. */
  readonly mailFailure?: string | undefined;
}

/** Reason of the condition Identity of a Tenant whose mail is still owed: so that is known also after a restart. */
export const mailNotSent = 'MailNotSent';

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
  /** Calls back with what has changed at the provider. Returns the undo. */
  onChange(listener: (change: IdentityChange) => void): () => void;
}

/** The account of a Tenant is otherwise than it was; a Workspace misses a role; a role was made that was missing. */
export interface IdentityChange {
  readonly what: 'account' | 'roles missing' | 'roles made';
  /** Of the Tenant or Workspace. */
  readonly name: string;
}

export interface TellingIdentity extends Identity {
  tell(change: IdentityChange): void;
}

/** Nothing, where no provider is configured: then there are no accounts, and statuses say so. */
export function identityOf(settings: LabsOperatorSettings): TellingIdentity | undefined {
  const place = keycloakPlace(settings);
  return place && keycloakIdentity(place);
}
