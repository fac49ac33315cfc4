/** The accounts of Tenants in a realm. A Tenant's name is the name of its account. */
import { Conflict, type Tenant, Unavailable } from '@podloom/api';
import { messageOf } from '../failures.ts';
import { type Account, mailNotSent } from './identity.ts';
import { type KeycloakHttp, because } from './keycloak-http.ts';

interface User {
  readonly id: string;
  readonly username: string;
  readonly email?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly emailVerified?: boolean;
}

export interface KeycloakUsers {
  ensure(tenant: Tenant, signal: AbortSignal): Promise<Account>;
  /** Returns the id of an account that stays, because it manages the realm. */
  remove(tenant: Tenant, signal: AbortSignal): Promise<string | undefined>;
}

/** As long as upstream's: a month. */
const mailLifeSeconds = 2_592_000;

type Action = 'UPDATE_PASSWORD' | 'VERIFY_EMAIL';

export function keycloakUsers(http: KeycloakHttp): KeycloakUsers {
  /** By the id of the account. */
  const owed = new Map<string, readonly Action[]>();

  async function find(name: string, signal: AbortSignal): Promise<User | undefined> {
    const query = new URLSearchParams({ username: name, exact: 'true' });
    const { body } = await http.call('GET', `/users?${query.toString()}`, signal);
    const found = Array.isArray(body) ? (body as User[]) : [];
    return found.find(({ username }) => username === name);
  }

  async function create(name: string, tenant: Tenant, signal: AbortSignal): Promise<User> {
    const user = { username: name, ...personOf(tenant), enabled: true, emailVerified: false };
    const answer = await http.call('POST', '/users', signal, user);
    const made = await find(name, signal);
    if (made) {
      if (answer.status < 300) owed.set(made.id, ['UPDATE_PASSWORD', 'VERIFY_EMAIL']);
      return made;
    }
    throw new Unavailable('KEYCLOAK_USER', `Keycloak makes no account ${name}${because(answer)}`);
  }

  /** The Tenant says who the person is. A new address is not verified yet. */
  async function update(user: User, tenant: Tenant, signal: AbortSignal): Promise<User> {
    const person = personOf(tenant);
    const isSameEmail = user.email?.toLowerCase() === person.email.toLowerCase();
    if (isSameEmail && user.firstName === person.firstName && user.lastName === person.lastName) return user;
    if (await isPowerful(user, signal))
      throw new Conflict('KEYCLOAK_MANAGER', `Account ${user.username} manages the realm, and is changed by hand only`);
    const changed = { ...user, ...person, emailVerified: isSameEmail && user.emailVerified === true };
    const answer = await http.call('PUT', `/users/${encodeURIComponent(user.id)}`, signal, changed);
    if (answer.status === 404) throw new Unavailable('KEYCLOAK_USER', `Account ${user.username} was deleted meanwhile`);
    if (answer.status === 409)
      throw new Unavailable('KEYCLOAK_USER', `Keycloak does not change account ${user.username}${because(answer)}`);
    if (!isSameEmail) owed.set(user.id, ['VERIFY_EMAIL']);
    return changed;
  }

  /** Whoever may make a Tenant must not get or remove the account of somebody who manages the realm. */
  async function isPowerful({ id }: User, signal: AbortSignal): Promise<boolean> {
    const { body } = await http.call('GET', `/users/${encodeURIComponent(id)}/role-mappings`, signal);
    const { clientMappings = {}, realmMappings = [] } = (body ?? {}) as {
      clientMappings?: Readonly<Record<string, unknown>>;
      realmMappings?: readonly { readonly name?: string }[];
    };
    const manages = Object.keys(clientMappings).some((client) => /^realm-management$|-realm$/.test(client));
    return manages || realmMappings.some(({ name }) => name === 'admin' || name === 'create-realm');
  }

  async function sendMail(user: User, tenant: Tenant, signal: AbortSignal): Promise<string | undefined> {
    const wasOwed = tenant.status?.conditions?.some(
      ({ type, reason }) => type === 'Identity' && reason === mailNotSent,
    );
    const actions = owed.get(user.id) ?? (wasOwed ? (['UPDATE_PASSWORD', 'VERIFY_EMAIL'] as const) : undefined);
    if (!actions || user.emailVerified) {
      owed.delete(user.id);
      return undefined;
    }
    try {
      const path = `/users/${encodeURIComponent(user.id)}/execute-actions-email?lifespan=${mailLifeSeconds}`;
      await http.call('PUT', path, signal, actions);
      owed.delete(user.id);
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      owed.set(user.id, actions);
      return messageOf(error);
    }
  }

  return {
    async ensure(tenant, signal) {
      const name = nameOf(tenant);
      const found = await find(name, signal);
      const user = found ? await update(found, tenant, signal) : await create(name, tenant, signal);
      const mailFailure = await sendMail(user, tenant, signal);
      return { id: user.id, isConfirmed: user.emailVerified === true, ...(mailFailure && { mailFailure }) };
    },
    async remove(tenant, signal) {
      const user = await find(nameOf(tenant), signal);
      if (!user) return undefined;
      owed.delete(user.id);
      if (await isPowerful(user, signal)) return user.id;
      await http.call('DELETE', `/users/${encodeURIComponent(user.id)}`, signal);
      return undefined;
    },
  };
}

const nameOf = ({ metadata }: Tenant): string => metadata.name ?? '';

const personOf = ({ spec: { email, firstName, lastName } }: Tenant) => ({ email, firstName, lastName });
