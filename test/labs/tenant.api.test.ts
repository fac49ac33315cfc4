/** What a Tenant comes to on a real API server. */
import { tenantKind } from '@podloom/api';
import {
  clusterRoles,
  configMaps,
  networkPolicies,
  persistentVolumeClaims,
  resourceQuotas,
  roleBindings,
} from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type LabsWorld, labsWorld, untilReady } from './world.ts';

const tenants = tenantKind.resource;

const personal = (world: LabsWorld, name: string, ...workspaces: string[]): string[] =>
  [
    `ClusterRole crownlabs-manage-tenant-${name}`,
    `ClusterRoleBinding crownlabs-manage-tenant-${name}`,
    `Namespace tenant-${name}`,
    `ResourceQuota tenant-${name}/crownlabs-resource-quota`,
    `RoleBinding tenant-${name}/crownlabs-manage-instances`,
    ...workspaces.map((workspace) => `RoleBinding tenant-${name}/crownlabs-manage-instances-${workspace}`),
    `NetworkPolicy tenant-${name}/crownlabs-allow-trusted-ingress-traffic`,
    `NetworkPolicy tenant-${name}/crownlabs-deny-ingress-traffic`,
    `PersistentVolumeClaim ${world.driveNamespace}/${name}-drive`,
    `Job ${world.driveNamespace}/${name}-drive-provision`,
  ].toSorted();

const sandbox = (name: string): string[] => [
  `LimitRange sandbox-${name}/sandbox-limit-range`,
  `Namespace sandbox-${name}`,
  `ResourceQuota sandbox-${name}/sandbox-resource-quota`,
  `RoleBinding sandbox-${name}/sandbox-editor`,
];

const hardOf = async (world: LabsWorld, name: string) =>
  (await world.client.get(resourceQuotas, 'crownlabs-resource-quota', { namespace: `tenant-${name}` })).spec?.hard;

describe('a Tenant', () => {
  it('has an account, a namespace at once, a sandbox and a drive, and says so', async () => {
    const world = await labsWorld();
    const john = `john.doe-${world.id}`;
    const name = `john-doe-${world.id}`;
    await world.operator();
    await world.tenant(john, { firstName: 'John J.', createSandbox: true });
    await untilReady(world, john);
    expect(await world.objects()).toEqual([...personal(world, name), ...sandbox(name)].toSorted());
    const tenant = await world.getTenant(john);
    expect(tenant?.metadata.labels).toEqual({
      ...world.labels,
      'crownlabs.polito.it/managed-by': 'tenant',
      'crownlabs.polito.it/first-name': 'John_J',
      'crownlabs.polito.it/last-name': 'Doe',
      'crownlabs.polito.it/no-workspaces': 'true',
    });
    expect(tenant?.status).toMatchObject({
      personalNamespace: { name: `tenant-${name}`, created: true },
      sandboxNamespace: { name: `sandbox-${name}`, created: true },
      failingWorkspaces: [],
      keycloak: { userCreated: { created: false }, userConfirmed: false, userSynchronized: false },
      quota: { cpu: '0', memory: '0', instances: 0 },
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Identity', status: 'False', reason: 'NoProvider' },
        { type: 'Drive', status: 'False' },
      ],
    });
    const role = await world.client.get(clusterRoles, `crownlabs-manage-tenant-${name}`);
    expect(role.rules).toEqual([
      {
        apiGroups: ['crownlabs.polito.it'],
        resources: ['tenants'],
        resourceNames: [john],
        verbs: ['get', 'list', 'watch', 'patch', 'update'],
      },
    ]);
    const owner = [{ kind: 'Tenant', name: john, controller: true }];
    const policy = await world.client.get(networkPolicies, 'crownlabs-deny-ingress-traffic', {
      namespace: `tenant-${name}`,
    });
    expect(policy).toMatchObject({
      metadata: { ownerReferences: owner },
      spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: {} }] }] },
    });
    const claim = await world.client.get(persistentVolumeClaims, `${name}-drive`, { namespace: world.driveNamespace });
    expect(claim.metadata.ownerReferences).toBeUndefined();
    expect(claim.spec).toMatchObject({ accessModes: ['ReadWriteMany'], storageClassName: 'rook-nfs' });
  });

  it('has the sum of its workspaces, and follows them', async () => {
    const world = await labsWorld();
    const [john, tea, coffee] = [`john-${world.id}`, `tea-${world.id}`, `coffee-${world.id}`];
    await world.operator(['--cap-instance=5']);
    await world.workspace(tea);
    await world.tenant(john, {
      workspaces: [
        { name: tea, role: 'user' },
        { name: coffee, role: 'manager' },
      ],
    });
    await untilReady(world, john);
    expect((await world.getTenant(john))?.status?.failingWorkspaces).toEqual([coffee]);
    expect(await hardOf(world, john)).toMatchObject({ 'limits.cpu': '2', 'count/instances.crownlabs.polito.it': '2' });

    await world.workspace(coffee, { quota: { cpu: '1500m', memory: '1Gi', instances: 4 } });
    await eventually(async () => {
      expect(await hardOf(world, john)).toEqual({
        'limits.cpu': '3500m',
        'requests.cpu': '3500m',
        'limits.memory': '5Gi',
        'requests.memory': '5Gi',
        'count/instances.crownlabs.polito.it': '5',
      });
      const tenant = await world.getTenant(john);
      expect(tenant?.status).toMatchObject({
        failingWorkspaces: [],
        quota: { cpu: '3500m', memory: '5Gi', instances: 5 },
      });
      expect(tenant?.metadata.labels).toMatchObject({
        [`crownlabs.polito.it/workspace-${tea}`]: 'user',
        [`crownlabs.polito.it/workspace-${coffee}`]: 'manager',
      });
    });
    await world.workspace(tea, { quota: { cpu: 3, memory: '4Gi', instances: 2 } });
    await eventually(async () => expect(await hardOf(world, john)).toMatchObject({ 'limits.cpu': '4500m' }));
    // The managers of each workspace manage the instances of its members, and nobody else's.
    const binding = await world.client.get(roleBindings, `crownlabs-manage-instances-${tea}`, {
      namespace: `tenant-${john}`,
    });
    expect(binding.subjects).toMatchObject([{ kind: 'Group', name: `kubernetes:workspace-${tea}:manager` }]);

    await world.client.delete({ ...tenants, version: 'v1alpha1', plural: 'workspaces', kind: 'Workspace' }, tea);
    await eventually(async () => {
      expect((await world.getTenant(john))?.spec.workspaces).toEqual([{ name: coffee, role: 'manager' }]);
      expect(await hardOf(world, john)).toMatchObject({ 'limits.cpu': '1500m' });
      expect((await world.objects()).filter((one) => one.includes(`tenant-${john}/`))).toEqual(
        personal(world, john, coffee).filter((one) => one.includes(`tenant-${john}/`)),
      );
    });
    expect((await world.getTenant(john))?.metadata.labels).not.toHaveProperty(`crownlabs.polito.it/workspace-${tea}`);

    await world.tenant(john, { quota: { cpu: 100, memory: '1Gi', instances: 50 } });
    await eventually(async () =>
      expect(await hardOf(world, john)).toMatchObject({
        'limits.cpu': '100',
        'count/instances.crownlabs.polito.it': '50',
      }),
    );
  });

  it('gets back at once what somebody changes or deletes, and loses its sandbox when it asks for none', async () => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    const namespace = `tenant-${john}`;
    await world.operator();
    await world.tenant(john, { createSandbox: true });
    await untilReady(world, john);
    const all = await world.objects();
    const { client } = world;
    const hard = { 'limits.cpu': '100' };
    await client.patch(resourceQuotas, 'crownlabs-resource-quota', { spec: { hard } }, { type: 'merge', namespace });
    await client.delete(networkPolicies, 'crownlabs-deny-ingress-traffic', { namespace });
    await client.delete(clusterRoles, `crownlabs-manage-tenant-${john}`);
    await eventually(async () => {
      expect(await world.objects()).toEqual(all);
      expect(await hardOf(world, john)).toMatchObject({ 'limits.cpu': '0' });
    });
    await world.tenant(john, { createSandbox: false });
    await eventually(async () => {
      expect(await world.objects()).toEqual(personal(world, john));
      expect((await world.getTenant(john))?.status?.sandboxNamespace).toEqual({ created: false });
    });
  });

  it('goes with everything but its data', async () => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    await world.operator();
    await world.tenant(john, { createSandbox: true });
    await untilReady(world, john);
    await world.client.delete(tenants, john);
    await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
    expect(await world.objects()).toEqual([`PersistentVolumeClaim ${world.driveNamespace}/${john}-drive`]);
    // Whoever comes back finds it.
    await world.tenant(john);
    await untilReady(world, john);
    expect(await world.objects()).toEqual(personal(world, john));
  });

  it('goes with its data where the administrator wants that', async () => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    await world.operator(['--mydrive-pvcs-delete']);
    await world.tenant(john);
    await untilReady(world, john);
    await world.client.delete(tenants, john);
    await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
    await eventually(async () => expect(await world.objects()).toEqual([]));
  });

  it('keeps what it has where one action fails, and names the failure until it is mended', async () => {
    const world = await labsWorld();
    const [first, second] = [`john.doe-${world.id}`, `john-doe-${world.id}`];
    await world.operator();
    await world.tenant(first);
    await untilReady(world, first);
    // The same names, but for a dot: what is called by them belongs to the first.
    await world.tenant(second, { createSandbox: true });
    await eventually(async () => {
      const status = (await world.getTenant(second))?.status;
      expect(status).toMatchObject({
        ready: false,
        personalNamespace: { created: false },
        sandboxNamespace: { created: true },
      });
      expect(status?.conditions?.[0]?.message).toContain(`belongs to Tenant ${first}`);
    });
    await world.client.delete(tenants, first);
    await eventually(async () => {
      const status = (await world.getTenant(second))?.status;
      expect(status?.personalNamespace).toEqual({ created: true, name: `tenant-${second}` });
      expect(status?.conditions?.[0]?.message).toContain('The drive belongs to Tenant');
    });
  });

  it('is written once: another process changes nothing', async () => {
    const world = await labsWorld();
    const [john, tea] = [`john-${world.id}`, `tea-${world.id}`];
    const one = await world.operator();
    await world.workspace(tea);
    await world.tenant(john, { createSandbox: true, workspaces: [{ name: tea, role: 'user' }] });
    await untilReady(world, john);
    await one.stop();
    const before = await world.resourceVersions();
    const writes: string[] = [];
    const other = await world.operator([], (verb, plural) => void writes.push(`${verb} ${plural}`));
    await eventually(() => expect(writes.filter((write) => write === 'apply networkpolicies')).toHaveLength(2));
    await other.stop();
    expect(await world.resourceVersions()).toEqual(before);
  });

  it('is known to the policies', async () => {
    const world = await labsWorld();
    const [john, tea] = [`john-${world.id}`, `tea-${world.id}`];
    await world.operator();
    await world.workspace(tea);
    await world.tenant(john);
    const names = async () =>
      (await world.client.get(configMaps, 'podloom-names', { namespace: `labs-${world.id}` })).data;
    await eventually(async () => {
      expect((await names())?.['tenants']?.split('\n')).toContain(john);
      expect((await names())?.['workspaces']?.split('\n')).toContain(tea);
    });
    await world.client.delete(configMaps, 'podloom-names', { namespace: `labs-${world.id}` });
    await eventually(async () => expect((await names())?.['tenants']?.split('\n')).toContain(john));
    await world.client.delete(tenants, john);
    await eventually(async () => expect((await names())?.['tenants']?.split('\n')).not.toContain(john));
  });

  it('loses its namespace a while after the last login, where that is set, and gets it back', async () => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    await world.operator(['--tenant-ns-keep-alive=1h']);
    await world.tenant(john, { lastLogin: new Date(Date.now() - 7_200_000).toISOString() });
    await untilReady(world, john);
    const account = personal(world, john).slice(0, 2);
    expect(await world.objects()).toEqual(account);
    await world.tenant(john, { lastLogin: new Date().toISOString() });
    await eventually(async () => expect(await world.objects()).toEqual(personal(world, john)));
  });
});
