/** Who may make and change which Tenant: every rule of CrownLabs' admission webhook, as policies, asked as each of the people. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TenantSpecInput, objectSchema, tenantKind } from '@podloom/api';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chart } from './installed.ts';
import { type LabsClass, type Person, labsClass, refusal, tenantObject } from './labs-class.ts';

const { resource } = tenantKind;
const dryRun = { dryRun: true } as const;
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

let there: LabsClass;
beforeAll(async () => {
  there = await labsClass(
    'labs.operator.flags.base-workspaces=utilities',
    'labs.operator.flags.target-label=crownlabs.polito.it/operator-selector=local',
  );
  // Policies hold a moment after they were written: until then the server does not know them, or not their parameters.
  await vi.waitUntil(arePoliciesKnown, { timeout: 250_000, interval: 50 });
});
afterAll(() => there?.stop());

const asked = (person: Person, spec: Partial<TenantSpecInput>) =>
  there.as(person).create(resource, tenantObject('new', spec), dryRun);

async function arePoliciesKnown(): Promise<boolean> {
  const coffee = await refusal(asked('teacher', { workspaces: [{ name: 'coffee', role: 'user' }] }));
  const nobody = await refusal(asked('stranger', {}));
  if (!coffee.includes('managers of coffee') || !nobody.includes('has none')) return false;
  return (await asked('administrator', {})).spec.workspaces?.length === 1;
}

/** An empty message stands for being let. */
const said = (message: string): string | RegExp => (message === '' ? /^$/ : message);

type Enrolments = NonNullable<TenantSpecInput['workspaces']>;
const one = (name: string, role: Enrolments[number]['role']): Enrolments => [{ name, role }];
const quota = { cpu: 99, memory: '99Gi', instances: 99 };
const bound = { cpu: 1, memory: '1Gi', instances: 1 };

const create: readonly (readonly [string, Person, Partial<TenantSpecInput>, string])[] = [
  ['a manager enrols in the own workspace', 'teacher', { workspaces: one('tea', 'user') }, ''],
  ['a manager makes another manager', 'teacher', { workspaces: one('tea', 'manager') }, ''],
  ['a manager makes somebody who is nowhere', 'teacher', {}, ''],
  ['a manager by RBAC enrols', 'deputy', { workspaces: one('tea', 'user') }, ''],
  ['a manager sends keys along', 'teacher', { publicKeys: ['ssh-ed25519 AAAA new'] }, ''],
  ['a manager writes a base workspace', 'teacher', { workspaces: one('utilities', 'user') }, ''],
  [
    'a manager makes a manager of a base workspace',
    'teacher',
    { workspaces: one('utilities', 'manager') },
    'only managers of utilities',
  ],
  [
    'a manager enrols in the workspace of another',
    'teacher',
    { workspaces: one('coffee', 'user') },
    'only managers of coffee',
  ],
  [
    'a manager enrols in both',
    'teacher',
    { workspaces: [...one('tea', 'user'), ...one('coffee', 'user')] },
    'only managers of coffee',
  ],
  [
    'a manager enrols in what is open to all',
    'teacher',
    { workspaces: one('cocoa', 'user') },
    'only managers of cocoa',
  ],
  ['a manager enrols in what there is not', 'teacher', { workspaces: one('ghost', 'manager') }, 'no Workspace ghost'],
  ['a manager gives a sandbox', 'teacher', { createSandbox: true }, ''],
  ['a manager gives a quota', 'teacher', { quota }, 'spec.quota'],
  ['a manager gives a personal workspace', 'teacher', { personalWorkspace: bound }, 'spec.quota'],
  ['a tenant enrols somebody', 'student', { workspaces: one('tea', 'user') }, 'only managers of tea'],
  ['who has no Tenant makes one', 'stranger', { workspaces: one('tea', 'user') }, 'stranger has none'],
  ['an administrator does all of it', 'administrator', { workspaces: one('ghost', 'manager'), quota }, ''],
  ['a member of a bypass group does all of it', 'master', { workspaces: one('coffee', 'manager'), quota }, ''],
];

describe('a new Tenant', () => {
  it.each(create)('%s', async (_, person, spec, message) => {
    const answer = await refusal(there.as(person).create(resource, tenantObject('new', spec), dryRun));
    expect(answer).toMatch(said(message));
  });
});

type Change = Readonly<Record<string, unknown>>;
/** A merge patch replaces the list. */
const enrol = (...workspaces: Enrolments): Change => ({ spec: { workspaces } });
const tea = one('tea', 'user')[0]!;
const cocoa = one('cocoa', 'user')[0]!;
const milk = one('milk', 'candidate')[0]!;
const label = (key: string, value: string | null): Change => ({ metadata: { labels: { [key]: value } } });
const daily = 'spec.lastLogin must be within a day of now';

/** Of the Tenant student, by itself. */
const bySelf: readonly (readonly [string, Change, string])[] = [
  ['sets keys', { spec: { publicKeys: ['ssh-ed25519 AAAA student'] } }, ''],
  ['logs in', { spec: { lastLogin: inDays(0) } }, ''],
  ['logged in yesterday', { spec: { lastLogin: inDays(-0.9) } }, ''],
  ['logged in two days ago', { spec: { lastLogin: inDays(-2) } }, daily],
  ['will log in in two days', { spec: { lastLogin: inDays(2) } }, daily],
  ['changes the e-mail address', { spec: { email: 'dean@example.com' } }, 'spec.email'],
  ['changes the first name', { spec: { firstName: 'Dean' } }, 'spec.firstName'],
  ['changes the last name', { spec: { lastName: 'Dean' } }, 'spec.lastName'],
  ['takes a quota', { spec: { quota } }, 'spec.quota'],
  ['takes a personal workspace', { spec: { personalWorkspace: bound } }, 'spec.personalWorkspace'],
  ['takes a sandbox', { spec: { createSandbox: true } }, 'spec.createSandbox'],
  ['enrols where one enrols at once', enrol(tea, cocoa), ''],
  ['becomes manager there', enrol(tea, { name: 'cocoa', role: 'manager' }), 'can become a user'],
  ['becomes candidate there', enrol(tea, { name: 'cocoa', role: 'candidate' }), 'can become a user'],
  ['asks to be let in', enrol(tea, milk), ''],
  ['lets in oneself', enrol(tea, { name: 'milk', role: 'user' }), 'can become a candidate'],
  ['becomes manager without being asked', enrol(tea, { name: 'milk', role: 'manager' }), 'can become a candidate'],
  ['enrols where nobody can', enrol(tea, { name: 'coffee', role: 'user' }), 'nobody can enrol in coffee'],
  ['becomes manager of the own workspace', enrol({ name: 'tea', role: 'manager' }), 'nobody can enrol in tea'],
  ['leaves where nobody can', enrol(), 'nobody can enrol in tea'],
  ['enrols in what there is not', enrol(tea, { name: 'ghost', role: 'manager' }), 'no Workspace ghost'],
  ['says to manage, by a label', label('crownlabs.polito.it/workspace-tea', 'manager'), 'labels and annotations'],
  ['takes a label of Podloom away', label('crownlabs.polito.it/workspace-tea', null), 'labels and annotations'],
  ['sets a label of one’s own', label('example.com/colour', 'red'), ''],
  ['sets a finalizer', { metadata: { finalizers: ['example.com/stay'] } }, 'finalizers and owners'],
];

describe('a tenant, of oneself,', () => {
  it.each(bySelf)('%s', async (_, change, message) => {
    const answer = await refusal(there.as('student').patch(resource, 'student', change, { type: 'merge', ...dryRun }));
    expect(answer).toMatch(said(message));
  });
});

/** Of the Tenant drinker, by others. */
const byOthers: readonly (readonly [string, Person, Change, string])[] = [
  ['a manager makes a manager', 'teacher', enrol({ name: 'tea', role: 'manager' }, cocoa, milk), ''],
  ['a manager sends somebody away', 'teacher', enrol(cocoa, milk), ''],
  ['a manager by RBAC sends somebody away', 'deputy', enrol(cocoa, milk), ''],
  ['a manager sends somebody away from elsewhere', 'teacher', enrol(tea, milk), 'only managers of cocoa'],
  [
    'a manager enrols elsewhere',
    'teacher',
    enrol(tea, cocoa, milk, { name: 'coffee', role: 'user' }),
    'only managers of coffee',
  ],
  [
    'a manager lets in elsewhere',
    'teacher',
    enrol(tea, cocoa, { name: 'milk', role: 'user' }),
    'only managers of milk',
  ],
  ['another manager changes what is not theirs', 'barista', enrol(cocoa, milk), 'only managers of tea'],
  ['another manager enrols in their own', 'barista', enrol(tea, cocoa, milk, { name: 'coffee', role: 'user' }), ''],
  ['a manager changes an e-mail address', 'teacher', { spec: { email: 'a@example.com' } }, 'spec.email'],
  ['a manager changes keys', 'teacher', { spec: { publicKeys: ['ssh-rsa AAAA mine'] } }, 'spec.publicKeys'],
  ['a manager logs somebody in', 'teacher', { spec: { lastLogin: inDays(0) } }, 'spec.lastLogin'],
  ['a manager gives a quota', 'teacher', { spec: { quota } }, 'spec.quota'],
  [
    'a manager writes labels',
    'teacher',
    label('crownlabs.polito.it/workspace-tea', 'manager'),
    'labels and annotations',
  ],
  ['another tenant sends somebody away', 'student', enrol(cocoa, milk), 'only managers of tea'],
  ['another tenant changes keys', 'student', { spec: { publicKeys: ['ssh-rsa AAAA mine'] } }, 'spec.publicKeys'],
  ['who has no Tenant sends somebody away', 'stranger', enrol(cocoa, milk), 'stranger has none'],
  [
    'an administrator changes everything',
    'administrator',
    { spec: { email: 'a@example.com', workspaces: [], quota } },
    '',
  ],
  ['a member of a bypass group changes everything', 'master', { spec: { email: 'a@example.com', workspaces: [] } }, ''],
  [
    'the operator changes everything',
    'operator',
    { spec: { workspaces: [] }, metadata: { finalizers: ['a.b/c'] } },
    '',
  ],
];

describe('the Tenant of another,', () => {
  it.each(byOthers)('%s', async (_, person, change, message) => {
    const answer = await refusal(there.as(person).patch(resource, 'drinker', change, { type: 'merge', ...dryRun }));
    expect(answer).toMatch(said(message));
  });

  it.each<Person>(['student', 'teacher', 'stranger', 'administrator'])(
    '%s may delete it, where RBAC says so',
    async (person) => {
      expect(await refusal(there.as(person).delete(resource, 'drinker', dryRun))).toBe('');
    },
  );
});

const loggedIn = async (lastLogin: string, ...made: object[]): Promise<string> => {
  const student = there.as('student');
  const { metadata, spec } = await student.get(resource, 'student');
  const managedFields = [...(metadata.managedFields ?? []), ...made];
  const wanted = { metadata: { ...metadata, name: 'student', managedFields }, spec: { ...spec, lastLogin } };
  return refusal(student.update(resource, wanted as never, dryRun));
};
const applied = (days: number) =>
  refusal(
    there
      .as('student')
      .apply(
        resource,
        { metadata: { name: 'student' }, spec: { lastLogin: inDays(days) } },
        { fieldManager: 'page', ...dryRun },
      ),
  );
const after = async (person: Person, change: Change) =>
  there.as(person).patch(resource, 'drinker', change, { type: 'merge', ...dryRun });

/** CEL has no clock: the policy reads the time that the API server writes into managedFields for the field. */
describe('a tenant who makes up times', () => {
  const owned = { 'f:spec': { 'f:lastLogin': {} } };
  const entry = (time: string, other: object = {}) => ({
    manager: 'clock',
    operation: 'Update',
    apiVersion: tenantKind.apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: owned,
    ...other,
  });

  it.each([
    ['by nothing', []],
    ['by an entry of another program', [{}]],
    ['by an entry of the own program', [{ manager: 'podloom' }]],
    ['by an entry of a server-side apply', [{ operation: 'Apply' }]],
    ['by an entry of the status', [{ subresource: 'status' }]],
    ['by an entry without fields', [{ fieldsV1: {} }]],
  ])('logs in today and on no other day, %s', async (_, made) => {
    for (const days of [-300, -2, 2, 300]) {
      const time = inDays(days);
      expect(await loggedIn(time, ...made.map((other) => entry(time, other)))).toContain(daily);
      expect(await loggedIn(inDays(0), ...made.map((other) => entry(time, other)))).toBe('');
    }
  });

  it('does not log in with an entry of a version that there is not: the server keeps no times then', async () => {
    const future = inDays(300);
    expect(await loggedIn(future, entry(future, { apiVersion: 'crownlabs.polito.it/v9' }))).toContain(daily);
  });

  it('logs in with a server-side apply, too', async () => {
    expect(await applied(0)).toBe('');
    expect(await applied(2)).toContain(daily);
  });
});

const selector = 'crownlabs.polito.it/operator-selector';
const selectorAfter = async (person: Person, value: string | null) =>
  (await after(person, label(selector, value))).metadata.labels?.[selector];
const labelOf = async (person: Person, name: string, given?: string): Promise<string | undefined> => {
  const labels = given === undefined ? {} : { [selector]: given };
  const made = await there.as(person).create(resource, tenantObject(name, {}, { labels }), dryRun);
  return made.metadata.labels?.[selector];
};

describe('what nobody writes by hand', () => {
  it.each<[string, Person, string, string | undefined, string]>([
    ['a manager says none', 'teacher', 'new', undefined, 'local'],
    ['a manager says another', 'teacher', 'new', 'mine', 'local'],
    ['an administrator says none', 'administrator', 'new', undefined, 'local'],
    ['an administrator says an empty one', 'administrator', 'new', '', 'local'],
    ['an administrator says another', 'administrator', 'new', 'test', 'test'],
    ['it is the service Tenant', 'administrator', 'service-tenant', undefined, ''],
    ['it is the service Tenant, of another selector', 'administrator', 'service-tenant', 'test', ''],
    ['it is the service Tenant, served on purpose', 'administrator', 'service-tenant', 'local', 'local'],
  ])('the selector of a new Tenant: %s', async (_, person, name, given, wanted) => {
    expect(await labelOf(person, name, given)).toBe(wanted);
  });

  it('the selector stays as it was, but where an administrator says another', async () => {
    expect(await selectorAfter('teacher', 'mine')).toBe('local');
    expect(await selectorAfter('teacher', null)).toBe('local');
    expect(await selectorAfter('administrator', null)).toBe('local');
    expect(await selectorAfter('administrator', 'test')).toBe('test');
  });

  it('base workspaces are added, as user, to what is there', async () => {
    const { spec } = await after('administrator', enrol(tea));
    expect(spec.workspaces).toEqual([tea, { name: 'utilities', role: 'user' }]);
    const kept = await after('administrator', enrol({ name: 'utilities', role: 'manager' }));
    expect(kept.spec.workspaces).toEqual([{ name: 'utilities', role: 'manager' }]);
    const operators = await after('operator', enrol(tea));
    expect(operators.spec.workspaces).toEqual([tea]);
  });
});

it('the policy names every field of a Tenant', async () => {
  const policy = readFileSync(join(chart, 'templates/labs/tenant-policies.yaml'), 'utf8');
  const fields = Object.keys(objectSchema(tenantKind).properties?.['spec']?.properties ?? {});
  expect(fields.length).toBeGreaterThan(5);
  expect(fields.filter((field) => !policy.includes(`spec.${field}`) && !policy.includes(`"${field}"`))).toEqual([]);
});
