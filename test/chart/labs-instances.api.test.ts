/** Who writes Instances in the namespace of a person: the person, and managers what is of their workspace. Asked as each of the people. */
import { type Instance, instanceKind, templateRefKey, tenantRefKey } from '@podloom/api';
import { namespaces } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type LabsClass, type Person, labsClass, refusal } from './labs-class.ts';

const { resource } = instanceKind;
const namespace = 'tenant-student';
const there = { namespace, dryRun: true } as const;
const workspaceLabel = 'crownlabs.polito.it/workspace';
const shared = 'crownlabs.polito.it/shared-with';

const instance = (workspace: string, label?: string, name = 'new') => ({
  metadata: { name, namespace, ...(label !== undefined && { labels: { [workspaceLabel]: label } }) },
  spec: {
    [templateRefKey]: { name: 'lab', namespace: workspace },
    [tenantRefKey]: { name: 'student' },
  } as unknown as Instance['spec'],
});

let labs: LabsClass;
beforeAll(async () => {
  labs = await labsClass();
  const name = { 'crownlabs.polito.it/name': 'student' };
  await labs.client.create(namespaces, {
    metadata: { name: namespace, labels: { ...name, 'crownlabs.polito.it/type': 'tenant' } },
  });
  await labs.client.create(namespaces, { metadata: { name: 'elsewhere' } });
  for (const [of, label] of [
    ['tea', 'tea'],
    ['coffee', 'coffee'],
  ] as const)
    await labs.client.create(resource, instance(`workspace-${of}`, label, of));
  await labs.client.create(resource, instance('default', undefined, 'private'));
  await vi.waitUntil(
    async () => (await refusal(labs.as('barista').create(resource, instance('workspace-tea'), there))) !== '',
    { timeout: 250_000, interval: 50 },
  );
});
afterAll(() => labs?.stop());

/** An empty message stands for being let. */
const said = (message: string): string | RegExp => (message === '' ? /^$/ : message);

const create: readonly (readonly [string, Person, ReturnType<typeof instance>, string])[] = [
  ['the owner, of any workspace', 'student', instance('workspace-coffee'), ''],
  ['the owner, of none', 'student', instance('default'), ''],
  ['a manager, of the own workspace', 'teacher', instance('workspace-tea'), ''],
  ['a manager, of the own workspace, with its label', 'teacher', instance('workspace-tea', 'tea'), ''],
  ['a manager by RBAC, of the own workspace', 'deputy', instance('workspace-tea'), ''],
  ['a manager, of another', 'teacher', instance('workspace-coffee'), 'this Instance is of the workspace coffee'],
  [
    'a manager, of another, with the own label',
    'teacher',
    instance('workspace-coffee', 'tea'),
    'stays in its workspace',
  ],
  ['a manager, of none', 'teacher', instance('default'), 'this Instance is of no workspace'],
  ['another manager', 'barista', instance('workspace-tea'), 'this Instance is of the workspace tea'],
  ['an administrator', 'administrator', instance('workspace-coffee', 'tea'), ''],
  ['a member of a bypass group', 'master', instance('default'), ''],
];

it.each(create)('an Instance is made by %s', async (_, person, object, message) => {
  expect(await refusal(labs.as(person).create(resource, object, there))).toMatch(said(message));
});

const stop = { spec: { running: false } };
const share = { metadata: { annotations: { [shared]: '[{"user":"friend"}]' } } };
const move = { metadata: { labels: { [workspaceLabel]: 'coffee' } } };
const other = { spec: { [templateRefKey]: { name: 'other', namespace: 'workspace-tea' } } };

const change: readonly (readonly [string, Person, string, object, string])[] = [
  ['the owner stops it', 'student', 'coffee', stop, ''],
  ['the owner shares it', 'student', 'tea', share, ''],
  ['a manager stops it', 'teacher', 'tea', stop, ''],
  ['a manager by RBAC stops it', 'deputy', 'tea', stop, ''],
  ['a manager stops that of another workspace', 'teacher', 'coffee', stop, 'this Instance is of the workspace coffee'],
  ['a manager stops that of no workspace', 'teacher', 'private', stop, 'this Instance is of no workspace'],
  ['another manager stops it', 'barista', 'tea', stop, 'this Instance is of the workspace tea'],
  ['another manager takes it', 'barista', 'tea', move, 'this Instance is of the workspace tea'],
  ['a manager gives it away', 'teacher', 'tea', move, 'stays in its workspace'],
  ['a manager has it run something else', 'teacher', 'tea', other, 'stays in its workspace'],
  ['a manager shares it', 'teacher', 'tea', share, 'only its owner shares'],
  ['an administrator shares it', 'administrator', 'tea', share, ''],
];

it.each(change)('%s', async (_, person, name, body, message) => {
  const call = labs.as(person).patch(resource, name, body, { type: 'merge', ...there });
  expect(await refusal(call)).toMatch(said(message));
});

describe('deleting', () => {
  it.each<[Person, string, string]>([
    ['student', 'private', ''],
    ['teacher', 'tea', ''],
    ['teacher', 'coffee', 'this Instance is of the workspace coffee'],
    ['barista', 'tea', 'this Instance is of the workspace tea'],
    ['administrator', 'coffee', ''],
  ])('%s deletes %s', async (person, name, message) => {
    expect(await refusal(labs.as(person).delete(resource, name, there))).toMatch(said(message));
  });
});

it('in a namespace that is no person’s, RBAC alone decides', async () => {
  const object = instance('workspace-tea');
  const elsewhere = { ...object, metadata: { ...object.metadata, namespace: 'elsewhere' } };
  expect(await refusal(labs.as('barista').create(resource, elsewhere, { ...there, namespace: 'elsewhere' }))).toBe('');
});
