/** Gives tokens for a registry, as the distribution specification describes it, to who knows the password. */
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '../../packages/kube/src/client/testing/self-signed.ts';

export interface TokenServer {
  readonly url: string;
  readonly ca: string;
  /** The keys that a registry is to believe. */
  readonly keys: string;
  /** What was asked for, one text a call. */
  readonly scopes: string[];
  readonly close: () => Promise<void>;
}

export const service = 'registry.test';
export const issuer = 'tokens.test';

export async function startTokenServer(username: string, password: string): Promise<TokenServer> {
  const { cert, key } = selfSigned('tokens.test');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const scopes: string[] = [];
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

  const sign = (claims: object): string => {
    const parts = [{ alg: 'ES256', typ: 'JWT', kid: 'one' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const signature = createSign('sha256').update(parts.join('.')).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
    return [...parts, signature.toString('base64url')].join('.');
  };
  const server = createServer({ cert, key }, (request, response) => {
    const url = new URL(request.url ?? '', 'https://localhost');
    const scope = url.searchParams.get('scope') ?? '';
    scopes.push(scope);
    if (request.headers.authorization !== expected || url.searchParams.get('service') !== service) {
      response.writeHead(401).end();
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const access = scope.split(' ').map((text) => {
      const [type = '', name = '', actions = ''] = text.split(':');
      return { type, name, actions: actions.split(',') };
    });
    const times = { nbf: now - 10, iat: now, exp: now + 300 };
    const token = sign({ iss: issuer, aud: service, sub: username, jti: randomUUID(), access, ...times });
    response.end(JSON.stringify({ token }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    ca: cert,
    keys: JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] }),
    scopes,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
