/** The admin interface of a realm, by the account of a client: its token is renewed, and what fails says in a sentence why. */
import { Unavailable } from '@podloom/api';
import { type Clock, systemClock } from '@podloom/kube';
import type { KeycloakPlace } from './keycloak-place.ts';
import { type KeycloakAnswer, type SendToKeycloak, sendToKeycloak } from './keycloak-request.ts';

export interface KeycloakHttp {
  /** At a path below the realm. Success, 404 and 409 are returned, all else is thrown. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    signal: AbortSignal,
    body?: unknown,
  ): Promise<KeycloakAnswer>;
}

export interface KeycloakHttpTools {
  readonly send?: SendToKeycloak;
  readonly clock?: Clock;
}

/** Renewed before it ends, so that none ends on its way. */
const marginMs = 30_000;
/** After a failure of Keycloak as a whole nobody waits for the next one meanwhile: namespaces are made at once, also when it takes ten seconds to fail. */
const restMs = 5_000;

interface Token {
  readonly text: string;
  readonly renewMs: number;
}

export function keycloakHttp(place: KeycloakPlace, tools: KeycloakHttpTools = {}): KeycloakHttp {
  const { send = sendToKeycloak(place.ca), clock = systemClock } = tools;
  const realm = encodeURIComponent(place.realm);
  let held: Token | undefined;
  let login: Promise<Token> | undefined;
  let rest: { readonly untilMs: number; readonly error: unknown } | undefined;

  /** Of all that would fail alike. */
  async function orRest<T>(action: () => Promise<T>): Promise<T> {
    if (rest && clock.monotonicMs() < rest.untilMs) throw rest.error;
    try {
      return await action();
    } catch (error) {
      if (error instanceof Unavailable) rest = { untilMs: clock.monotonicMs() + restMs, error };
      throw error;
    }
  }

  async function token(): Promise<string> {
    if (held && clock.monotonicMs() < held.renewMs) return held.text;
    login ??= orRest(() => logIn(send, place, clock)).finally(() => (login = undefined));
    held = await login;
    return held.text;
  }

  async function attempt(
    method: string,
    path: string,
    signal: AbortSignal,
    body: string | undefined,
  ): Promise<KeycloakAnswer> {
    const authorization = `Bearer ${await token()}`;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { authorization, accept: 'application/json', ...type };
    return orRest(() => send(`${place.url}/admin/realms/${realm}${path}`, { method, headers, body, signal }));
  }

  return {
    async call(method, path, signal, body) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      let answer = await attempt(method, path, signal, text);
      if (answer.status === 401) {
        // The realm has other keys than before, or somebody has ended the session.
        held = undefined;
        answer = await attempt(method, path, signal, text);
      }
      const { status } = answer;
      if ((status >= 200 && status < 300) || status === 404 || status === 409) return answer;
      const what = `${method} ${path.split('?')[0]}`;
      if (status === 403) {
        const rights = 'it needs the roles of realm-management that docs/guides/keycloak.md names';
        throw new Unavailable('KEYCLOAK_RIGHTS', `Keycloak does not let ${place.clientId} ${what}: ${rights}`);
      }
      throw new Unavailable('KEYCLOAK_REFUSED', `Keycloak answers ${status} to ${what}${because(answer)}`);
    },
  };
}

async function logIn(send: SendToKeycloak, place: KeycloakPlace, clock: Clock): Promise<Token> {
  const { url, realm, clientId, clientSecret } = place;
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const startedMs = clock.monotonicMs();
  const answer = await send(`${url}/realms/${encodeURIComponent(realm)}/protocol/openid-connect/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  });
  const { access_token: text, expires_in: seconds } = (answer.body ?? {}) as {
    access_token?: unknown;
    expires_in?: unknown;
  };
  if (answer.status !== 200 || typeof text !== 'string' || typeof seconds !== 'number') {
    const who = `client "${clientId}" in realm "${realm}"`;
    const message = `Keycloak refuses the login of ${who} (${answer.status})${because(answer)}`;
    throw new Unavailable('KEYCLOAK_LOGIN', message);
  }
  const lifeMs = seconds * 1_000;
  return { text, renewMs: startedMs + Math.max(lifeMs - marginMs, lifeMs / 2) };
}

/** What Keycloak says itself, in one of three fields. */
export function because({ body }: KeycloakAnswer): string {
  const said = (body ?? {}) as { errorMessage?: unknown; error_description?: unknown; error?: unknown };
  const text = [said.errorMessage, said.error_description, said.error].find((one) => typeof one === 'string');
  return text ? `: ${text.slice(0, 300)}` : '';
}
