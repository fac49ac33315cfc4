import { type Tenant, type TenantSpecInput, type Workspace, tenantKind, workspaceKind } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { enrolmentsOf, tenantLabels } from './enrolment.ts';
import { keepAlive } from './keep-alive.ts';
import { tenantObjects } from './objects.ts';
import { type QuotaCaps, hardQuota, tenantQuota } from './quota.ts';

const noCaps: QuotaCaps = { cpu: 0, memoryGiga: 0, instances: 0 };

const tenant = (spec: Partial<TenantSpecInput> = {}, metadata: object = {}): Tenant =>
  tenantKind.parse({
    apiVersion: tenantKind.apiVersion,
    kind: 'Tenant',
    metadata: { name: 'john.doe', ...metadata },
    spec: { firstName: 'John', lastName: 'Doe', email: 'john.doe@example.com', ...spec },
  });

const workspace = (name: string, quota: object = {}, more: object = {}): Workspace =>
  workspaceKind.parse({
    apiVersion: workspaceKind.apiVersion,
    kind: 'Workspace',
    metadata: { name },
    spec: { prettyName: name, quota: { cpu: 4, memory: '8Gi', instances: 2, ...quota }, ...more },
  });

const find =
  (...all: Workspace[]) =>
  (name: string) =>
    all.find(({ metadata }) => metadata.name === name);

const names = (list: readonly { name: string }[]) => list.map((one) => one.name);
const quotaOf = (one: Tenant, caps: QuotaCaps, ...all: Workspace[]) =>
  tenantQuota(one, enrolmentsOf(one, find(...all)).counted, caps);

describe('enrolments', () => {
  const tea = workspace('tea');
  const open = workspace('open', {}, { autoEnroll: 'withApproval' });

  it.each([
    ['a user of a workspace counts', 'tea', 'user', { counted: ['tea'] }],
    ['a manager counts', 'tea', 'manager', { counted: ['tea'] }],
    ['a candidate waits where approval can be given', 'open', 'candidate', { waiting: ['open'] }],
    ['a candidate fails where it cannot', 'tea', 'candidate', { failing: ['tea'] }],
    ['a workspace that does not exist fails', 'coffee', 'user', { failing: ['coffee'] }],
  ] as const)('%s', (_, name, role, expected) => {
    const found = enrolmentsOf(tenant({ workspaces: [{ name, role }] }), find(tea, open));
    expect({ counted: names(found.counted), waiting: names(found.waiting), failing: found.failing }).toEqual({
      counted: [],
      waiting: [],
      failing: [],
      ...expected,
    });
  });

  it('become labels, and labels of former ones go', () => {
    const john = tenant(
      { firstName: ' José  María', lastName: '_d’Oe_', workspaces: [{ name: 'tea', role: 'manager' }] },
      { labels: { 'crownlabs.polito.it/workspace-old': 'user', 'crownlabs.polito.it/workspace-tea': 'user' } },
    );
    const options = { targetLabels: { selector: 'local' }, baseWorkspaces: [] };
    expect(tenantLabels(john, enrolmentsOf(john, find(tea)), options)).toEqual({
      selector: 'local',
      'crownlabs.polito.it/managed-by': 'tenant',
      'crownlabs.polito.it/first-name': 'Jos__Mara',
      'crownlabs.polito.it/last-name': 'dOe',
      'crownlabs.polito.it/workspace-old': undefined,
      'crownlabs.polito.it/workspace-tea': 'manager',
      'crownlabs.polito.it/no-workspaces': undefined,
    });
    const baseOnly = { targetLabels: {}, baseWorkspaces: ['tea'] };
    expect(tenantLabels(john, enrolmentsOf(john, find(tea)), baseOnly)).toMatchObject({
      'crownlabs.polito.it/no-workspaces': 'true',
    });
  });
});

describe('the quota', () => {
  const in2 = tenant({
    workspaces: [
      { name: 'a', role: 'user' },
      { name: 'b', role: 'manager' },
    ],
  });

  it('is the sum over the workspaces', () => {
    const a = workspace('a', { cpu: '500m', memory: '1Gi', disk: '10Gi' });
    const b = workspace('b', { cpu: 2, memory: '1G', disk: '1Gi', otherResources: { 'nvidia.com/gpu': 1 } });
    expect(quotaOf(in2, noCaps, a, b)).toEqual({
      cpu: '2500m',
      memory: '2073741824',
      instances: 4,
      disk: '11Gi',
      otherResources: { 'nvidia.com/gpu': '1' },
    });
  });

  it('is capped, and a cap of 0 is none', () => {
    const all = [workspace('a', { cpu: 20, memory: '40G', instances: 9 }), workspace('b', { cpu: 20, memory: '40G' })];
    const caps = { cpu: 25, memoryGiga: 50, instances: 10 };
    expect(quotaOf(in2, caps, ...all)).toEqual({ cpu: '25', memory: '50G', instances: 10 });
    expect(quotaOf(in2, noCaps, ...all)).toEqual({ cpu: '40', memory: '80G', instances: 11 });
  });

  it('is what the Tenant says, without caps, where it says something', () => {
    const own = tenant({ quota: { cpu: 100, memory: '200Gi', instances: 50 } });
    expect(quotaOf(own, { cpu: 25, memoryGiga: 50, instances: 10 })).toEqual({
      cpu: '100',
      memory: '200Gi',
      instances: 50,
    });
  });

  it('counts the personal workspace, and nothing of who has none', () => {
    const own = tenant({ personalWorkspace: { cpu: 2, memory: '4Gi', instances: 1 } });
    expect(quotaOf(own, noCaps)).toEqual({ cpu: '2', memory: '4Gi', instances: 1 });
    expect(quotaOf(tenant(), noCaps)).toEqual({ cpu: '0', memory: '0', instances: 0 });
  });

  it('limits the disk only where every workspace does', () => {
    expect(quotaOf(in2, noCaps, workspace('a', { disk: '1Gi' }), workspace('b'))).not.toHaveProperty('disk');
  });

  it('becomes a ResourceQuota that Kubernetes counts by', () => {
    const quota = { cpu: '2', memory: '4Gi', instances: 3, disk: '1Gi', otherResources: { 'nvidia.com/gpu': '1' } };
    expect(hardQuota(quota)).toEqual({
      'limits.cpu': '2',
      'requests.cpu': '2',
      'limits.memory': '4Gi',
      'requests.memory': '4Gi',
      'count/instances.crownlabs.polito.it': '3',
      'requests.storage': '1073742824',
      'requests.nvidia.com/gpu': '1',
    });
  });
});

describe('the objects of a Tenant', () => {
  const options = { targetLabels: { selector: 'local' }, namespaceLabels: {}, sandboxClusterRole: 'crownlabs-sandbox' };
  const objects = (one: Tenant, hasNamespace: boolean, ...all: Workspace[]) => {
    const { counted } = enrolmentsOf(one, find(...all));
    const plan = { quota: tenantQuota(one, counted, noCaps), counted, hasNamespace };
    return tenantObjects(one, plan, options);
  };
  const named = (...args: Parameters<typeof objects>) =>
    objects(...args).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? '-'} ${metadata.name}`);
  const account = [
    'ClusterRole - crownlabs-manage-tenant-john-doe',
    'ClusterRoleBinding - crownlabs-manage-tenant-john-doe',
  ];

  it('let nobody make a privileged pod in a sandbox', () => {
    const john = tenant({ createSandbox: true });
    const space = objects(john, true).find(({ metadata }) => metadata.name === 'sandbox-john-doe');
    expect(space?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'baseline' });
  });

  it('are the account, the namespace with quota, rights and policies, and the sandbox', () => {
    const john = tenant({
      createSandbox: true,
      personalWorkspace: { cpu: 1, memory: '1Gi', instances: 1 },
      workspaces: [{ name: 'tea', role: 'user' }],
    });
    expect(named(john, true, workspace('tea'))).toEqual([
      ...account,
      'Namespace - tenant-john-doe',
      'ResourceQuota tenant-john-doe crownlabs-resource-quota',
      'RoleBinding tenant-john-doe crownlabs-manage-instances',
      'RoleBinding tenant-john-doe crownlabs-manage-templates',
      'RoleBinding tenant-john-doe crownlabs-manage-instances-tea',
      'NetworkPolicy tenant-john-doe crownlabs-deny-ingress-traffic',
      'NetworkPolicy tenant-john-doe crownlabs-allow-trusted-ingress-traffic',
      'Namespace - sandbox-john-doe',
      'ResourceQuota sandbox-john-doe sandbox-resource-quota',
      'LimitRange sandbox-john-doe sandbox-limit-range',
      'RoleBinding sandbox-john-doe sandbox-editor',
    ]);
  });

  it('are only the account, while there is no namespace', () => {
    expect(named(tenant(), false)).toEqual(account);
  });
});

describe('the personal namespace', () => {
  const now = Date.parse('2026-06-01T12:00:00Z');
  const hour = 3_600_000;

  it.each([
    ['is kept always by default', null, 0, false, { keep: true }],
    ['goes where nobody ever logged in', null, hour, false, { keep: false }],
    [
      'stays for who logged in not long ago',
      '2026-06-01T11:30:00Z',
      hour,
      false,
      { keep: true, againMs: hour / 2 + 1 },
    ],
    ['goes when that is too long ago', '2026-06-01T10:59:59Z', hour, false, { keep: false }],
    ['stays while it is used', '2026-05-01T00:00:00Z', hour, true, { keep: true }],
  ])('%s', (_, lastLogin, keepMs, isUsed, expected) => {
    expect(keepAlive(tenant({ lastLogin }), keepMs, now, isUsed)).toEqual(expected);
  });
});
