import { describe, expect, it } from 'vitest';
import { renderAuthentication } from './authentication.ts';

const issuer = { url: 'https://10.90.0.1:8443/realms/podloom', authority: 'PEM', audience: 'k8s' };
const parse = (text: string) => JSON.parse(text) as { jwt: { issuer: object; claimMappings: object }[] };

describe('renderAuthentication', () => {
  it('believes nobody where there is no issuer, and is a whole file all the same', () => {
    expect(parse(renderAuthentication())).toMatchObject({ kind: 'AuthenticationConfiguration', jwt: [] });
  });

  it('takes tokens for its own client only, with names and groups as they are in it', () => {
    const [jwt] = parse(renderAuthentication(issuer)).jwt;
    expect(jwt?.issuer).toEqual({ url: issuer.url, certificateAuthority: 'PEM', audiences: ['k8s'] });
    expect(jwt?.claimMappings).toEqual({
      username: { claim: 'preferred_username', prefix: '' },
      groups: { claim: 'groups', prefix: '' },
    });
  });
});
