import { Unavailable } from '@podloom/api';
import { manualClock } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { labsOperatorSettings } from '../settings.ts';
import { keycloakHttp } from './keycloak-http.ts';
import { keycloakPlace } from './keycloak-place.ts';
import type { SendToKeycloak } from './keycloak-request.ts';

const place = {
  url: 'https://auth.example.org',
  realm: 'labs',
  clientId: 'operator',
  clientSecret: 'hidden',
  rolesClientId: 'k8s',
};
const { signal } = new AbortController();

/** Answers as `statuses` say, in turn, and then with 200; a token for each login. */
function server(...statuses: number[]) {
  const clock = manualClock();
  const seen: string[] = [];
  let tokens = 0;
  let isAway = false;
  const send: SendToKeycloak = async (url, { headers }) => {
    const isLogin = url.endsWith('/token');
    seen.push(isLogin ? 'login' : `${headers['authorization']}`);
    if (isAway) throw new Unavailable('TEST', 'away');
    if (isLogin) return { status: 200, body: { access_token: `t${(tokens += 1)}`, expires_in: 300 }, location: '' };
    return { status: statuses.shift() ?? 200, body: { errorMessage: 'as it says' }, location: '' };
  };
  const http = keycloakHttp(place, { send, clock });
  const away = (value: boolean) => void (isAway = value);
  return { http, clock, seen, away, call: () => http.call('GET', '/users?username=x', signal) };
}

const refuse: SendToKeycloak = async () => ({
  status: 401,
  body: { error_description: 'Invalid client credentials' },
  location: '',
});

describe('calls of Keycloak', () => {
  it('log in once for all, and again half a minute before the token ends', async () => {
    const { clock, seen, call } = server();
    await Promise.all([call(), call()]);
    await clock.advance(269_000);
    await call();
    expect(seen).toEqual(['login', 'Bearer t1', 'Bearer t1', 'Bearer t1']);
    await clock.advance(2_000);
    await call();
    expect(seen.slice(4)).toEqual(['login', 'Bearer t2']);
  });

  it('log in again where a token is believed no longer', async () => {
    const { seen, call } = server(401);
    expect(await call()).toMatchObject({ status: 200 });
    expect(seen).toEqual(['login', 'Bearer t1', 'login', 'Bearer t2']);
  });

  it.each([
    [403, /does not let operator GET \/users: it needs the roles/],
    [500, /^Keycloak answers 500 to GET \/users: as it says$/],
    [302, /^Keycloak answers 302/],
  ])('say why %d is a failure', async (status, reason) => {
    await expect(server(status).call()).rejects.toThrow(reason);
  });

  it.each([404, 409])('return %d', async (status) => {
    expect(await server(status).call()).toMatchObject({ status });
  });

  it('fail at once for five seconds after Keycloak did not answer', async () => {
    const { clock, seen, call, away } = server();
    away(true);
    await expect(call()).rejects.toThrow('away');
    away(false);
    await expect(call()).rejects.toThrow('away');
    expect(seen).toEqual(['login']);
    await clock.advance(5_000);
    expect(await call()).toMatchObject({ status: 200 });
  });

  it('name the client whose login is refused, and not its secret', async () => {
    const message = 'Keycloak refuses the login of client "operator" in realm "labs" (401): Invalid client credentials';
    await expect(keycloakHttp(place, { send: refuse }).call('GET', '/users', signal)).rejects.toThrow(message);
  });
});

const read = (...args: string[]) => keycloakPlace(labsOperatorSettings.read({ args, env: {} }));

describe('where Keycloak is', () => {
  const whole = ['--keycloak-realm=labs', '--keycloak-client-id=operator', '--keycloak-client-secret=hidden'];

  it('may be left out', () => {
    expect(read(...whole)).toBeUndefined();
  });

  it('comes from the flags, and roles are of the same client where no other is named', () => {
    expect(read('--keycloak-url=https://auth.example.org/', ...whole, '--keycloak-roles-client-id=k8s')).toEqual(place);
    expect(read('--keycloak-url=https://auth.example.org/kc', ...whole)).toMatchObject({
      url: 'https://auth.example.org/kc',
      rolesClientId: 'operator',
    });
  });

  it.each([
    [
      ['--keycloak-url=https://auth.example.org', '--keycloak-realm=labs'],
      /--keycloak-client-id, --keycloak-client-secret must/,
    ],
    [['--keycloak-url=auth.example.org', ...whole], /no address such as/],
    [['--keycloak-url=ftp://auth.example.org', ...whole], /no address such as/],
    [['--keycloak-url=https://me:word@auth.example.org', ...whole], /no address such as/],
    [['--keycloak-url=https://auth.example.org', ...whole, '--keycloak-ca-file=/nowhere/ca.crt'], /--keycloak-ca-file/],
  ])('is refused at the start: %j', (args, reason) => {
    expect(() => read(...args)).toThrow(reason);
  });
});
