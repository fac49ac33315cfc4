/**
 * Tenants and Workspaces with an identity provider. What stands in for it keeps accounts in memory and can be away: how a real one is talked to is tested
 * with its client.
 */
import { Unavailable, tenantKind, workspaceKind } from '@podloom/api';
import { type Account, type Identity } from '@podloom/labs-operator';
import { expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { labsWorld, untilReady } from './world.ts';

interface Provider {
  readonly identity: Identity;
  readonly accounts: Map<string, { confirmed: boolean; roles: readonly string[] }>;
  readonly workspaces: Set<string>;
  isAway: boolean;
  /** As an event of the provider. */
  readonly tell: (tenant: string) => void;
}

const nameOf = ({ metadata }: { metadata: { name?: string | undefined } }) => metadata.name ?? '';

function provider(): Provider {
  const accounts: Provider['accounts'] = new Map();
  const workspaces = new Set<string>();
  const listeners = new Set<Parameters<Identity['onChange']>[0]>();
  const demand = () => {
    if (one.isAway) throw new Unavailable('TEST', 'The provider does not answer');
  };
  const identity: Identity = {
    ensureUser: async (tenant): Promise<Account> => {
      demand();
      const id = nameOf(tenant);
      const account = accounts.get(id) ?? { confirmed: false, roles: [] };
      accounts.set(id, account);
      return { id, isConfirmed: account.confirmed };
    },
    setRoles: async ({ id }, roles) => {
      demand();
      accounts.set(id, { confirmed: false, ...accounts.get(id), roles });
    },
    deleteUser: async (tenant) => {
      demand();
      accounts.delete(nameOf(tenant));
    },
    ensureWorkspaceRoles: async (workspace) => {
      demand();
      workspaces.add(nameOf(workspace));
    },
    deleteWorkspaceRoles: async (workspace) => {
      demand();
      workspaces.delete(nameOf(workspace));
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const one: Provider = {
    identity,
    accounts,
    workspaces,
    isAway: false,
    tell: (tenant) => {
      for (const listener of listeners) listener({ what: 'account', name: tenant });
    },
  };
  return one;
}

it('gives each Tenant an account with the roles of its workspaces, and takes them back', async () => {
  const world = await labsWorld();
  const [john, tea] = [`john-${world.id}`, `tea-${world.id}`];
  const { identity, accounts, workspaces } = provider();
  await world.operator([], undefined, identity);
  await world.workspace(tea);
  await world.tenant(john, { workspaces: [{ name: tea, role: 'manager' }] });
  await untilReady(world, john);
  await eventually(() => expect(accounts.get(john)?.roles).toEqual([`workspace-${tea}:manager`]));
  await eventually(async () => {
    expect((await world.getTenant(john))?.status).toMatchObject({
      keycloak: { userCreated: { name: john, created: true }, userSynchronized: true },
      failingWorkspaces: [],
    });
    expect((await world.getWorkspace(tea))?.status?.subscription).toEqual({ keycloak: 'Ok' });
  });
  await world.client.delete(workspaceKind.resource, tea);
  await eventually(() => {
    expect(accounts.get(john)?.roles).toEqual([]);
    expect(workspaces.size).toBe(0);
  });
  await world.client.delete(tenantKind.resource, john);
  await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
  expect(accounts.size).toBe(0);
});

it('keeps the cluster right while the provider is away, says so, and mends it by itself', async () => {
  const world = await labsWorld();
  const john = `john-${world.id}`;
  const one = provider();
  one.isAway = true;
  await world.operator([], undefined, one.identity);
  await world.tenant(john);
  await eventually(async () => {
    const status = (await world.getTenant(john))?.status;
    expect(status).toMatchObject({ ready: false, personalNamespace: { created: true, name: `tenant-${john}` } });
    expect(status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False' },
      { type: 'Identity', status: 'False', message: 'The provider does not answer' },
      { type: 'Drive' },
    ]);
  });
  one.isAway = false;
  await untilReady(world, john);
  expect(one.accounts.has(john)).toBe(true);
  one.isAway = true;
  await world.client.delete(tenantKind.resource, john);
  await eventually(async () =>
    expect((await world.getTenant(john))?.status?.conditions?.[0]?.message).toContain('does not answer'),
  );
  one.isAway = false;
  await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
  expect(one.accounts.size).toBe(0);
});

it('waits for the verification of the e-mail address, where that is set', async () => {
  const world = await labsWorld();
  const john = `john-${world.id}`;
  const one = provider();
  await world.operator(['--wait-user-verification'], undefined, one.identity);
  await world.tenant(john);
  await eventually(async () =>
    expect((await world.getTenant(john))?.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'NotVerified' },
      { type: 'Identity', status: 'True' },
      { type: 'Drive' },
    ]),
  );
  expect(await world.objects()).toEqual([]);
  one.accounts.set(john, { confirmed: true, roles: [] });
  one.tell(john);
  await eventually(async () => expect(await world.objects()).toContain(`Namespace tenant-${john}`));
});
