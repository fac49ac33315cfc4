/** The roles of Workspaces, as roles of one client, and who has them. */
import { InvalidInput, Unavailable, type Workspace } from '@podloom/api';
import type { IdentityChange } from './identity.ts';
import { type KeycloakHttp, because } from './keycloak-http.ts';

interface Role {
  readonly id: string;
  readonly name: string;
}

export interface KeycloakRoles {
  ensure(workspace: Workspace, signal: AbortSignal): Promise<void>;
  remove(workspace: Workspace, signal: AbortSignal): Promise<void>;
  /** Leaves the account with exactly these of all roles of workspaces. */
  assign(userId: string, wanted: readonly string[], signal: AbortSignal): Promise<void>;
}

const prefix = 'workspace-';

export function rolesOf({ metadata: { name = '' }, spec }: Workspace): { name: string; description: string }[] {
  return [
    { name: `${prefix}${name}:manager`, description: `${spec.prettyName} Manager Role` },
    { name: `${prefix}${name}:user`, description: `${spec.prettyName} User Role` },
  ];
}

export const workspaceOfRole = (role: string): string | undefined =>
  /^workspace-([a-z0-9](?:[-a-z0-9]*[a-z0-9])?):(?:manager|user)$/.exec(role)?.[1];

export function keycloakRoles(
  http: KeycloakHttp,
  clientId: string,
  tell: (change: IdentityChange) => void,
): KeycloakRoles {
  let known: string | undefined;

  /** The id that Keycloak gave the client. */
  async function client(signal: AbortSignal): Promise<string> {
    if (known !== undefined) return known;
    const { body } = await http.call('GET', `/clients?${new URLSearchParams({ clientId }).toString()}`, signal);
    const [first, ...more] = Array.isArray(body) ? (body as { readonly id: string }[]) : [];
    if (!first || more.length > 0) {
      const message = `Keycloak has ${first ? 'several clients' : 'no client'} "${clientId}" (--keycloak-roles-client-id)`;
      throw new Unavailable('KEYCLOAK_CLIENT', message);
    }
    return (known = encodeURIComponent(first.id));
  }

  /** Not found, it may be the client that is another one now. */
  async function find(name: string, signal: AbortSignal): Promise<Role | undefined> {
    const { status, body } = await http.call(
      'GET',
      `/clients/${await client(signal)}/roles/${encodeURIComponent(name)}`,
      signal,
    );
    if (status !== 404) return body as Role;
    known = undefined;
    return undefined;
  }

  async function existing(name: string, signal: AbortSignal): Promise<Role> {
    const role = await find(name, signal);
    if (role) return role;
    const workspace = workspaceOfRole(name);
    if (workspace === undefined) throw new InvalidInput('KEYCLOAK_ROLE', `"${name}" is no role of a workspace`);
    tell({ what: 'roles missing', name: workspace });
    throw new Unavailable('KEYCLOAK_ROLE', `Keycloak has no role ${name} yet; Workspace ${workspace} brings it`);
  }

  return {
    async ensure(workspace, signal) {
      let made = 0;
      for (const role of rolesOf(workspace)) {
        if (await find(role.name, signal)) continue;
        const answer = await http.call('POST', `/clients/${await client(signal)}/roles`, signal, role);
        if (answer.status === 404)
          throw new Unavailable('KEYCLOAK_ROLE', `Keycloak makes no role ${role.name}${because(answer)}`);
        made += 1;
      }
      if (made > 0) tell({ what: 'roles made', name: workspace.metadata.name ?? '' });
    },
    async remove(workspace, signal) {
      for (const { name } of rolesOf(workspace)) {
        if (!(await find(name, signal))) continue;
        await http.call('DELETE', `/clients/${await client(signal)}/roles/${encodeURIComponent(name)}`, signal);
      }
    },
    async assign(userId, wanted, signal) {
      const path = async () => `/users/${encodeURIComponent(userId)}/role-mappings/clients/${await client(signal)}`;
      const { status, body } = await http.call('GET', await path(), signal);
      if (status === 404) {
        known = undefined;
        throw new Unavailable('KEYCLOAK_ROLE', 'Keycloak knows the account or the client of the roles no longer');
      }
      const current = (body as Role[]).filter(({ name }) => name.startsWith(prefix));
      const extra = current.filter(({ name }) => !wanted.includes(name));
      // Taken before anything is given: a role that is still missing must not keep one that is over.
      if (extra.length > 0) await http.call('DELETE', await path(), signal, extra);
      const lacking = wanted.filter((name) => !current.some((role) => role.name === name));
      const added: Role[] = [];
      for (const name of lacking) added.push(await existing(name, signal));
      if (added.length > 0) await http.call('POST', await path(), signal, added);
    },
  };
}
