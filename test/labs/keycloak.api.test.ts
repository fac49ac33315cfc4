/**
 * People of the labs and a real Keycloak: accounts, roles and tokens, and what happens when it is away, refuses us, or was changed by hand. Keycloak
 * starts once for all of it.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tenantKind, workspaceKind } from '@podloom/api';
import { type KeycloakServer, startKeycloak } from '@podloom/local';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type Keycloak, openKeycloak } from '../setup/keycloak.ts';
import { type LabsWorld, labsWorld, untilReady } from './world.ts';

let dir: string;
let server: KeycloakServer;
let keycloak: Keycloak;
let operatorSecret: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-keycloak-'));
  server = await startKeycloak({ dir });
  keycloak = await openKeycloak(server);
  operatorSecret = (await readFile(server.operatorSecretFile, 'utf8')).trim();
});

afterAll(async () => {
  await server?.stop();
  if (dir) await rm(dir, { recursive: true, force: true });
});

const flags = ({ secret = operatorSecret, often = false } = {}): string[] => [
  `--keycloak-url=${server.url}`,
  `--keycloak-realm=${server.realm}`,
  `--keycloak-client-id=${server.operatorClient}`,
  `--keycloak-client-secret=${secret}`,
  `--keycloak-roles-client-id=${server.client}`,
  `--keycloak-ca-file=${server.ca}`,
  ...(often ? ['--reschedule-min=1s', '--reschedule-max=2s'] : []),
];

interface User {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly firstName: string;
  readonly emailVerified: boolean;
}

async function userNamed(name: string): Promise<User | undefined> {
  const { body } = await keycloak.manage('GET', `/users?username=${name}&exact=true`);
  return (JSON.parse(body) as User[])[0];
}

const clientPath = async (): Promise<string> => {
  const { body } = await keycloak.manage('GET', `/clients?clientId=${server.client}`);
  return `/clients/${(JSON.parse(body) as { id: string }[])[0]?.id}`;
};

async function rolesOf(name: string): Promise<string[]> {
  const at = `/users/${(await userNamed(name))?.id}/role-mappings${await clientPath()}`;
  const { body } = await keycloak.manage('GET', at);
  return (JSON.parse(body) as { name: string }[]).map((role) => role.name).toSorted();
}

async function groupsOf(name: string, password: string): Promise<unknown> {
  const { id_token } = await keycloak.tokensOf(name, password);
  const claims = JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()) as { groups?: unknown };
  return claims.groups;
}

/** A Workspace and a Tenant in it, both with what they should have. */
async function inClass(world: LabsWorld): Promise<{ tea: string; john: string }> {
  const [tea, john] = [`tea-${world.id}`, `john-${world.id}`];
  await world.workspace(tea, { prettyName: 'Tea' });
  await world.tenant(john, { email: `${john}@example.com`, workspaces: [{ name: tea, role: 'user' }] });
  await untilReady(world, john);
  await eventually(async () => expect(await rolesOf(john)).toEqual([`workspace-${tea}:user`]));
  return { tea, john };
}

it('gives a Tenant an account that logs in with the groups of its workspaces, keeps it like the Tenant, and removes it', async () => {
  const world = await labsWorld();
  await world.operator(flags());
  const { tea, john } = await inClass(world);
  const user = await userNamed(john);
  expect(user).toMatchObject({ email: `${john}@example.com`, firstName: 'John', emailVerified: false });
  // The realm has no mail server, which is no reason to fail.
  expect((await world.getTenant(john))?.status).toMatchObject({
    ready: true,
    keycloak: { userCreated: { name: user?.id, created: true }, userConfirmed: false, userSynchronized: true },
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Identity', status: 'True', reason: 'MailNotSent', message: expect.stringContaining('500') as string },
      { type: 'Drive' },
    ],
  });
  const { body } = await keycloak.manage('GET', `${await clientPath()}/roles/workspace-${tea}:manager`);
  expect(JSON.parse(body)).toMatchObject({ description: 'Tea Manager Role' });

  const password = randomBytes(12).toString('base64url');
  await keycloak.manage('PUT', `/users/${user?.id}/reset-password`, { type: 'password', value: password });
  expect(await groupsOf(john, password)).toEqual([`kubernetes:workspace-${tea}:user`]);

  await keycloak.manage('PUT', `/users/${user?.id}`, { ...user, emailVerified: true });
  await world.tenant(john, {
    firstName: 'Jack',
    email: `jack-${world.id}@example.com`,
    workspaces: [{ name: tea, role: 'manager' }],
  });
  await eventually(async () => {
    const changed = { id: user?.id, email: `jack-${world.id}@example.com`, firstName: 'Jack', emailVerified: false };
    expect(await userNamed(john)).toMatchObject(changed);
    expect(await groupsOf(john, password)).toEqual([`kubernetes:workspace-${tea}:manager`]);
  });

  await world.client.delete(workspaceKind.resource, tea);
  await eventually(async () => expect(await world.getWorkspace(tea)).toBeUndefined());
  await eventually(async () => expect(await groupsOf(john, password)).toBeUndefined());
  await world.client.delete(tenantKind.resource, john);
  await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
  expect(await userNamed(john)).toBeUndefined();
});

it('brings back a role that somebody deleted, and whoever had it', async () => {
  const world = await labsWorld();
  await world.operator(flags({ often: true }));
  const { tea, john } = await inClass(world);
  await keycloak.manage('DELETE', `${await clientPath()}/roles/workspace-${tea}:user`);
  await eventually(async () => expect(await rolesOf(john)).toEqual([`workspace-${tea}:user`]));
});

it('leaves the account of somebody who manages the realm as it is', async () => {
  const world = await labsWorld();
  const mary = `mary-${world.id}`;
  const id = await keycloak.addPerson(mary, 'secret', []);
  const { body } = await keycloak.manage('GET', '/clients?clientId=realm-management');
  const client = (JSON.parse(body) as { id: string }[])[0]?.id;
  const role: unknown = JSON.parse((await keycloak.manage('GET', `/clients/${client}/roles/manage-users`)).body);
  await keycloak.manage('POST', `/users/${id}/role-mappings/clients/${client}`, [role]);
  await world.operator(flags());
  await world.tenant(mary, { email: `thief-${world.id}@example.com` });
  await eventually(async () =>
    expect((await world.getTenant(mary))?.status).toMatchObject({
      ready: false,
      conditions: [{}, { type: 'Identity', message: expect.stringContaining('manages the realm') as string }, {}],
    }),
  );
  await world.client.delete(tenantKind.resource, mary);
  await eventually(async () => expect(await world.getTenant(mary)).toBeUndefined());
  expect(await userNamed(mary)).toMatchObject({ id, email: `${mary}@example.org` });
});

it('says that its secret is wrong, and does what it can without accounts', async () => {
  const world = await labsWorld();
  const john = `john-${world.id}`;
  await world.operator(flags({ secret: 'no-secret-of-ours' }));
  await world.tenant(john);
  await eventually(async () => {
    const status = (await world.getTenant(john))?.status;
    expect(status).toMatchObject({ ready: false, personalNamespace: { created: true } });
    const message = status?.conditions?.find(({ type }) => type === 'Identity')?.message;
    expect(message).toContain(`Keycloak refuses the login of client "${server.operatorClient}"`);
    expect(JSON.stringify(status)).not.toContain('no-secret-of-ours');
  });
  expect(await userNamed(john)).toBeUndefined();
});

it('hears of a login and of a lost role by events, and believes those that are signed', async () => {
  const world = await labsWorld();
  const port = await freePort();
  await world.operator([...flags(), `--tenant-webhook-port=127.0.0.1:${port}`, '--tenant-webhook-secret=shared']);
  const { tea, john } = await inClass(world);
  const post = async (event: object | string, secret = 'shared'): Promise<number> => {
    const body = typeof event === 'string' ? event : JSON.stringify(event);
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'x-keycloak-signature': signature };
    return (await fetch(`http://127.0.0.1:${port}/tenant-webhook`, { method: 'POST', body, headers })).status;
  };
  const time = Math.floor(Date.now() / 1_000) * 1_000 - 5_000;
  const login = { type: 'access.LOGIN', time, authDetails: { username: john } };
  expect(await post(login, 'guessed')).toBe(401);
  expect((await world.getTenant(john))?.spec.lastLogin).toBeUndefined();
  expect(await post(login)).toBe(200);
  const lastLogin = (await world.getTenant(john))?.spec.lastLogin;
  expect(Date.parse(lastLogin ?? '')).toBe(time);
  expect(await post('{')).toBe(400);

  const path = `${await clientPath()}/roles/workspace-${tea}:user`;
  await keycloak.manage('DELETE', path);
  expect(await post({ type: 'admin.CLIENT_ROLE-DELETE', resourcePath: path.slice(1) })).toBe(200);
  await eventually(async () => expect(await rolesOf(john)).toEqual([`workspace-${tea}:user`]));
});

// The last: Keycloak is away meanwhile.
it('makes namespaces while Keycloak is away, says so, and goes on when it is back', async () => {
  const world = await labsWorld();
  const [john, jane] = [`john-${world.id}`, `jane-${world.id}`];
  await server.kill();
  await world.operator(flags());
  await world.tenant(john, { email: `${john}@example.com` });
  await eventually(async () => {
    const status = (await world.getTenant(john))?.status;
    expect(status).toMatchObject({ ready: false, personalNamespace: { created: true, name: `tenant-${john}` } });
    expect(status?.conditions?.find(({ type }) => type === 'Identity')?.message).toContain('does not answer');
  });
  expect(await world.objects()).toContain(`Namespace tenant-${john}`);
  await server.start();
  await untilReady(world, john);
  expect(await userNamed(john)).toMatchObject({ username: john });
  await world.tenant(jane, { email: `${jane}@example.com` });
  await untilReady(world, jane);
});

async function freePort(): Promise<number> {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  await new Promise((resolve) => taken.close(resolve));
  return port;
}
