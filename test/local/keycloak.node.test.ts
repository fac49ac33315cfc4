/** A Keycloak alone, as tests of an operator start it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KeycloakServer, startKeycloak } from '@podloom/local';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKeycloak } from '../setup/keycloak.ts';

let dir: string;
let server: KeycloakServer;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-keycloak-'));
  server = await startKeycloak({ dir });
});

afterAll(async () => {
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

it('keeps its people and its address when it was killed and started again', async () => {
  const { addPerson, tokensOf } = await openKeycloak(server);
  await addPerson('jane.doe', 'correct horse', ['workspace-x:user']);
  await server.kill();
  await expect(tokensOf('jane.doe', 'correct horse')).rejects.toThrow('ECONNREFUSED');
  await server.start();
  const { id_token } = await tokensOf('jane.doe', 'correct horse');
  const claims: unknown = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString());
  expect(claims).toMatchObject({ iss: server.issuer, aud: 'k8s', groups: ['kubernetes:workspace-x:user'] });
});

it('lets an operator manage users and roles, and not the realm', async () => {
  const { asClient } = await openKeycloak(server);
  const operator = await asClient(server.operatorClient, (await readFile(server.operatorSecretFile, 'utf8')).trim());
  expect(await operator('GET', '/users?username=jane.doe&exact=true')).toMatchObject({ status: 200 });
  expect(await operator('PUT', '', { enabled: false })).toMatchObject({ status: 403 });
});
