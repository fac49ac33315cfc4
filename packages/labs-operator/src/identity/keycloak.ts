/** Keycloak as the identity provider of the labs. It is asked with each pass; nothing of it is kept here but a token and the id of a client. */
import type { IdentityChange, TellingIdentity } from './identity.ts';
import { type KeycloakHttp, keycloakHttp } from './keycloak-http.ts';
import type { KeycloakPlace } from './keycloak-place.ts';
import { keycloakRoles } from './keycloak-roles.ts';
import { keycloakUsers } from './keycloak-users.ts';

export function keycloakIdentity(place: KeycloakPlace, http: KeycloakHttp = keycloakHttp(place)): TellingIdentity {
  const listeners = new Set<(change: IdentityChange) => void>();
  const tell = (change: IdentityChange) => {
    for (const listener of listeners) listener(change);
  };
  const users = keycloakUsers(http);
  const roles = keycloakRoles(http, place.rolesClientId, tell);
  return {
    ensureUser: (tenant, signal) => users.ensure(tenant, signal),
    async deleteUser(tenant, signal) {
      const kept = await users.remove(tenant, signal);
      if (kept !== undefined) await roles.assign(kept, [], signal);
    },
    setRoles: ({ id }, wanted, signal) => roles.assign(id, wanted, signal),
    ensureWorkspaceRoles: (workspace, signal) => roles.ensure(workspace, signal),
    deleteWorkspaceRoles: (workspace, signal) => roles.remove(workspace, signal),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell,
  };
}
