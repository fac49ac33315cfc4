/** What a Workspace comes to on a real API server. */
import { clusterRoleBindings, configMaps, namespaces, roleBindings } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { type LabsWorld, labsWorld } from './world.ts';

const objectsOf = (name: string): string[] =>
  [
    `Namespace workspace-${name}`,
    `ClusterRoleBinding crownlabs-manage-tenants-${name}`,
    `ConfigMap workspace-${name}/crownlabs-roster`,
    `Role workspace-${name}/crownlabs-roster`,
    `RoleBinding workspace-${name}/crownlabs-roster`,
    `RoleBinding workspace-${name}/crownlabs-manage-sharedvolumes`,
    `RoleBinding workspace-${name}/crownlabs-manage-templates`,
    `RoleBinding workspace-${name}/crownlabs-view-templates`,
  ].toSorted();

const untilReady = (world: LabsWorld, name: string): Promise<void> =>
  eventually(async () => {
    const workspace = await world.getWorkspace(name);
    expect(workspace?.status).toMatchObject({ ready: true, observedGeneration: workspace?.metadata.generation });
  });

describe('a Workspace', () => {
  it('has a namespace, rights and a roster, and says so', async () => {
    const world = await labsWorld();
    const tea = `tea-${world.id}`;
    await world.operator();
    await world.workspace(tea, { autoEnroll: 'immediate' });
    await untilReady(world, tea);
    expect(await world.objects()).toEqual(objectsOf(tea));
    const workspace = await world.getWorkspace(tea);
    expect(workspace?.status).toMatchObject({
      namespace: { name: `workspace-${tea}`, created: true },
      subscription: { keycloak: 'Failed' },
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Identity', status: 'False', reason: 'NoProvider' },
      ],
    });
    expect(workspace?.metadata.labels).toMatchObject({ 'crownlabs.polito.it/autoenroll': 'immediate' });
    expect((await world.client.get(namespaces, `workspace-${tea}`)).metadata.labels).toMatchObject({
      ...world.labels,
      'crownlabs.polito.it/managed-by': 'workspace',
      'crownlabs.polito.it/type': 'workspace',
    });
    const manages = await world.client.get(clusterRoleBindings, `crownlabs-manage-tenants-${tea}`);
    expect(manages).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'crownlabs-manage-tenants' },
      subjects: [{ kind: 'Group', name: `kubernetes:workspace-${tea}:manager` }],
    });
    const views = await world.client.get(roleBindings, 'crownlabs-view-templates', { namespace: `workspace-${tea}` });
    expect(views.subjects).toMatchObject([{ kind: 'Group', name: `kubernetes:workspace-${tea}:user` }]);
  });

  it('gets back at once what somebody changes or deletes', async () => {
    const world = await labsWorld();
    const tea = `tea-${world.id}`;
    const namespace = `workspace-${tea}`;
    await world.operator();
    await world.workspace(tea);
    await untilReady(world, tea);
    const { client } = world;
    const before = await client.get(roleBindings, 'crownlabs-view-templates', { namespace });
    await client.patch(roleBindings, 'crownlabs-view-templates', { subjects: [] }, { type: 'merge', namespace });
    await client.delete(roleBindings, 'crownlabs-manage-templates', { namespace });
    await client.delete(clusterRoleBindings, `crownlabs-manage-tenants-${tea}`);
    await client.patch(
      namespaces,
      namespace,
      { metadata: { labels: { 'crownlabs.polito.it/managed-by': null, 'crownlabs.polito.it/type': 'other' } } },
      { type: 'merge' },
    );
    await eventually(async () => {
      expect(await world.objects()).toEqual(objectsOf(tea));
      const now = await client.get(roleBindings, 'crownlabs-view-templates', { namespace });
      expect(now.subjects).toEqual(before.subjects);
      expect((await client.get(namespaces, namespace)).metadata.labels).toMatchObject({
        'crownlabs.polito.it/managed-by': 'workspace',
        'crownlabs.polito.it/type': 'workspace',
      });
    });
  });

  it('leaves nothing behind when it goes, not even enrolments', async () => {
    const world = await labsWorld();
    const [tea, coffee, john] = [`tea-${world.id}`, `coffee-${world.id}`, `john-${world.id}`];
    await world.operator(['--enable-tenant=false']);
    await world.workspace(tea);
    await world.workspace(coffee);
    await world.tenant(john, {
      workspaces: [
        { name: tea, role: 'manager' },
        { name: coffee, role: 'user' },
      ],
    });
    await untilReady(world, tea);
    await untilReady(world, coffee);
    await world.client.delete(
      { group: 'crownlabs.polito.it', version: 'v1alpha1', plural: 'workspaces', kind: 'Workspace', namespaced: false },
      tea,
    );
    await eventually(async () => expect(await world.getWorkspace(tea)).toBeUndefined());
    expect(await world.objects()).toEqual(objectsOf(coffee));
    expect((await world.getTenant(john))?.spec.workspaces).toEqual([{ name: coffee, role: 'user' }]);
  });

  it('settles candidates that nobody can accept any more, and lists its people', async () => {
    const world = await labsWorld();
    const [tea, ann, ben] = [`tea-${world.id}`, `ann-${world.id}`, `ben-${world.id}`];
    await world.operator(['--enable-tenant=false']);
    await world.workspace(tea, { autoEnroll: 'withApproval' });
    await world.tenant(ann, { firstName: 'Ann', workspaces: [{ name: tea, role: 'candidate' }] });
    const roster = async () =>
      (await world.client.get(configMaps, 'crownlabs-roster', { namespace: `workspace-${tea}` })).data;
    await eventually(async () =>
      expect(JSON.parse((await roster())?.[ann] ?? '{}')).toEqual({
        firstName: 'Ann',
        lastName: 'Doe',
        role: 'candidate',
        namespace: `tenant-${ann}`,
      }),
    );
    await world.workspace(tea, { autoEnroll: 'immediate' });
    await eventually(async () =>
      expect((await world.getTenant(ann))?.spec.workspaces).toEqual([{ name: tea, role: 'user' }]),
    );
    await world.workspace(tea, { autoEnroll: '' });
    await world.tenant(ben, { workspaces: [{ name: tea, role: 'candidate' }] });
    await eventually(async () => expect((await world.getTenant(ben))?.spec.workspaces).toEqual([]));
    await eventually(async () => expect(Object.keys((await roster()) ?? {})).toEqual([ann]));
  });

  it('is written once: another process changes nothing', async () => {
    const world = await labsWorld();
    const tea = `tea-${world.id}`;
    const first = await world.operator();
    await world.workspace(tea);
    await untilReady(world, tea);
    await first.stop();
    const before = await world.resourceVersions();
    const writes: string[] = [];
    const second = await world.operator([], (verb, plural) => void writes.push(`${verb} ${plural}`));
    await eventually(() => expect(writes.filter((write) => write === 'apply rolebindings')).toHaveLength(4));
    await second.stop();
    expect(await world.resourceVersions()).toEqual(before);
  });
});
