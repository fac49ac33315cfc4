/** The Keycloak of a private cluster, for `make labs` and for tests: what an administrator does there, and how people log in. */
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';

/** As `podloom cluster status` names them for the part `identity`. */
export interface KeycloakFacts {
  readonly url: string;
  readonly realm: string;
  readonly ca: string;
  readonly client: string;
  readonly admin: string;
  readonly adminPasswordFile: string;
}

export interface Tokens {
  readonly id_token: string;
  readonly access_token: string;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly location: string;
}

export interface Keycloak {
  /** A call of the admin interface, at a path below the realm. What is no success is thrown. */
  readonly manage: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** As `manage`, by a client's own account; what is refused is returned. */
  readonly asClient: (
    client: string,
    secret: string,
  ) => Promise<(method: string, path: string, body?: unknown) => Promise<Answer>>;
  /** What a person's name and password are answered with. */
  readonly login: (username: string, password: string) => Promise<Answer>;
  /** The tokens that they get for it; Kubernetes takes the first. */
  readonly tokensOf: (username: string, password: string) => Promise<Tokens>;
  /** Gives somebody who is there a password. */
  readonly setPassword: (username: string, password: string) => Promise<void>;
  /** Makes a person who can log in, with roles of the client that are made where they are missing. Returns the id. */
  readonly addPerson: (username: string, password: string, roles: readonly string[]) => Promise<string>;
}

export async function openKeycloak(facts: KeycloakFacts): Promise<Keycloak> {
  const ca = await readFile(facts.ca, 'utf8');
  const call = callsTo(facts.url, ca);
  const grant = (realm: string, form: Record<string, string>): Promise<Answer> =>
    call('POST', `/realms/${realm}/protocol/openid-connect/token`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
  const admin = async (granted: Answer, method: string, path: string, body?: unknown): Promise<Answer> => {
    const { access_token } = JSON.parse(succeeded(granted).body) as Tokens;
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    const sent = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
    return call(method, `/admin/realms/${facts.realm}${path}`, sent);
  };
  const password = (await readFile(facts.adminPasswordFile, 'utf8')).trim();
  const asAdmin = { grant_type: 'password', client_id: 'admin-cli', username: facts.admin, password };
  const manage = async (method: string, path: string, body?: unknown): Promise<Answer> =>
    succeeded(await admin(await grant('master', asAdmin), method, path, body));
  const login = (username: string, password: string) =>
    grant(facts.realm, { grant_type: 'password', client_id: facts.client, scope: 'openid', username, password });

  return {
    manage,
    asClient: async (client, secret) => {
      const form = { grant_type: 'client_credentials', client_id: client, client_secret: secret };
      const granted = await grant(facts.realm, form);
      return async (method, path, body) => admin(granted, method, path, body);
    },
    login,
    tokensOf: async (username, password) => JSON.parse(succeeded(await login(username, password)).body) as Tokens,
    setPassword: async (username, chosen) => {
      const query = new URLSearchParams({ username, exact: 'true' });
      const [user] = JSON.parse((await manage('GET', `/users?${query.toString()}`)).body) as { id: string }[];
      if (user === undefined) throw new Error(`Keycloak knows no ${username}`);
      const credential = { type: 'password', value: chosen, temporary: false };
      await manage('PUT', `/users/${user.id}/reset-password`, credential);
    },
    addPerson: async (username, password, roles) => {
      const [client] = JSON.parse((await manage('GET', `/clients?clientId=${facts.client}`)).body) as { id: string }[];
      const { location } = await manage('POST', '/users', {
        username,
        email: `${username}@example.org`,
        firstName: username,
        lastName: 'Test',
        enabled: true,
        emailVerified: true,
        credentials: [{ type: 'password', value: password, temporary: false }],
      });
      const id = location.slice(location.lastIndexOf('/') + 1);
      for (const name of roles) {
        const at = `/clients/${client?.id}/roles`;
        const known = JSON.parse((await manage('GET', at)).body) as { name: string }[];
        if (!known.some((role) => role.name === name)) await manage('POST', at, { name });
        const role: unknown = JSON.parse((await manage('GET', `${at}/${name}`)).body);
        await manage('POST', `/users/${id}/role-mappings/clients/${client?.id}`, [role]);
      }
      return id;
    },
  };
}

function succeeded(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw new Error(`Keycloak answered ${answer.status}: ${answer.body}`);
}

function callsTo(url: string, ca: string) {
  return (
    method: string,
    path: string,
    { headers, body }: { headers: Record<string, string>; body?: string },
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, headers, ca, agent: false }, (response) => {
        const { statusCode = 0, headers: answered } = response;
        text(response).then(
          (read) => resolve({ status: statusCode, body: read, location: answered.location ?? '' }),
          reject,
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
}
