/** Objects as CrownLabs' operator leaves them, and what becomes of them when ours goes on: docs/guides/labs-migration.md says the same. */
import type { KubeObject } from '@podloom/api';
import {
  clusterRoleBindings,
  namespaces,
  ownerReference,
  persistentVolumeClaims,
  resourceQuotas,
  unlessGone,
} from '@podloom/kube';
import { expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { labsWorld, untilReady } from './world.ts';

const apiGroup = 'rbac.authorization.k8s.io';

it('goes on with what an earlier operator has made', async () => {
  const world = await labsWorld();
  const { client, labels, driveNamespace } = world;
  const [john, tea] = [`john-${world.id}`, `tea-${world.id}`];
  const own = { namespace: `tenant-${john}` };
  const made = (owner: KubeObject, by: string, name: string, namespace?: string) => ({
    name,
    ...(namespace && { namespace }),
    labels: { ...labels, 'crownlabs.polito.it/managed-by': by },
    ownerReferences: [ownerReference(owner)],
  });
  const course = await world.workspace(tea);
  const person = await world.tenant(john, { workspaces: [{ name: tea, role: 'user' }] });
  await client.create(clusterRoleBindings, {
    metadata: made(course, 'workspace', `crownlabs-manage-instances-${tea}`),
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'crownlabs-manage-instances' },
    subjects: [{ apiGroup, kind: 'Group', name: `kubernetes:workspace-${tea}:manager` }],
  });
  await client.create(namespaces, { metadata: made(person, 'tenant', own.namespace) });
  await client.create(resourceQuotas, {
    metadata: made(person, 'tenant', 'crownlabs-resource-quota', own.namespace),
    spec: { hard: { 'limits.cpu': '99', 'requests.storage': '0' } },
  });
  await client.create(namespaces, { metadata: { name: driveNamespace, labels } });
  await client.create(persistentVolumeClaims, {
    metadata: made(person, 'tenant', `${john}-drive`, driveNamespace),
    spec: {
      accessModes: ['ReadWriteMany'],
      storageClassName: 'of-before',
      resources: { requests: { storage: '3Gi' } },
    },
  });

  await world.operator();
  await untilReady(world, john);
  await eventually(async () => {
    const binding = () => client.get(clusterRoleBindings, `crownlabs-manage-instances-${tea}`);
    expect(await unlessGone(binding)).toBeUndefined();
    const claim = await client.get(persistentVolumeClaims, `${john}-drive`, { namespace: driveNamespace });
    expect(claim.metadata.ownerReferences).toBeUndefined();
    expect(claim.spec).toMatchObject({
      storageClassName: 'of-before',
      resources: { requests: { storage: '3Gi' } },
    });
  });
  const hard = async () => (await client.get(resourceQuotas, 'crownlabs-resource-quota', own)).spec?.hard;
  expect(await hard()).toMatchObject({ 'limits.cpu': '2', 'requests.storage': '0' });
  // What only the other had set goes with the object, which is there again at once.
  await client.delete(resourceQuotas, 'crownlabs-resource-quota', own);
  await eventually(async () => {
    const now = await hard();
    expect(now).toMatchObject({ 'limits.cpu': '2' });
    expect(now).not.toHaveProperty('requests.storage');
  });
});
