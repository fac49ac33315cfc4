/** What an event of Keycloak means to the labs, as the plugin keycloak-events sends it. Pure. */
import { InvalidInput } from '@podloom/api';
import type { IdentityChange } from './identity.ts';
import { workspaceOfRole } from './keycloak-roles.ts';

export interface KeycloakNews {
  readonly change?: IdentityChange;
  /** Who has logged in, and when. */
  readonly login?: { readonly tenant: string; readonly timeMs: number };
}

interface Event {
  readonly type?: unknown;
  readonly time?: unknown;
  readonly authDetails?: { readonly username?: unknown } | null;
  readonly details?: { readonly username?: unknown } | null;
  readonly representation?: unknown;
  readonly resourcePath?: unknown;
}

/** Nothing, where it is of no interest or of somebody who can be no Tenant. Throws InvalidInput for what is no event. */
export function newsOf(text: string, nowMs: number): KeycloakNews {
  const event = objectIn(text) as Event;
  const { type } = event;
  if (typeof type !== 'string' || type === '') throw new InvalidInput('EVENT', 'The event has no type');
  if (type.startsWith('admin.CLIENT_ROLE-') || type.startsWith('admin.REALM_ROLE-')) return lostRole(event);
  const name = nameIn(event, type);
  const tenant = /^[a-z0-9]([-a-z0-9.]{0,53}[a-z0-9])?$/.test(name) ? name : undefined;
  if (tenant === undefined) return {};
  const change = { what: 'account', name: tenant } as const;
  if (type !== 'access.LOGIN') return { change };
  const { time } = event;
  // By our own clock, where its time is missing or still to come.
  const timeMs = typeof time === 'number' && time > 0 ? Math.min(time, nowMs) : nowMs;
  return { change, login: { tenant, timeMs } };
}

/** Of a role only its path is told, and it is the Workspace that makes it again. */
function lostRole({ resourcePath }: Event): KeycloakNews {
  const role = typeof resourcePath === 'string' ? resourcePath.slice(resourcePath.lastIndexOf('/') + 1) : '';
  const name = workspaceOfRole(decoded(role));
  return name === undefined ? {} : { change: { what: 'roles missing', name } };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** People tell of themselves; of what an administrator did, the account as it is now, or whom it was done to. */
function nameIn({ authDetails, details, representation }: Event, type: string): string {
  if (!type.startsWith('admin.')) return named(authDetails?.username, type);
  if (type.startsWith('admin.USER-') && typeof representation === 'string' && representation !== '') {
    const { username } = objectIn(representation) as { readonly username?: unknown };
    return named(username ?? details?.username, type);
  }
  return typeof details?.username === 'string' ? details.username : '';
}

function named(value: unknown, type: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new InvalidInput('EVENT', `The event ${type.slice(0, 100)} names nobody`);
}

function objectIn(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidInput('EVENT', 'The event is no JSON', { cause });
  }
  if (typeof value !== 'object' || value === null) throw new InvalidInput('EVENT', 'The event is no object');
  return value;
}
