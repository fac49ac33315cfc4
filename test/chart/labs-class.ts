/**
 * A class on an API server with the chart: Workspaces, Tenants, and people who ask. RBAC lets them do more than they should be let, so that what is
 * refused is refused by the policies.
 */
import { type Tenant, type TenantSpecInput, tenantKind, workspaceKind } from '@podloom/api';
import { type Client, createClient, isApiError, loadConfig } from '@podloom/kube';
import { eventually } from '../setup/eventually.ts';
import { chartOnApiServer, manifest, namespace } from './installed.ts';

const targetLabel = 'crownlabs.polito.it/operator-selector';

/** Users with the groups of their tokens. */
const everybody = {
  student: { 'impersonate-user': 'student', 'impersonate-group': 'kubernetes:workspace-tea:user' },
  teacher: { 'impersonate-user': 'teacher', 'impersonate-group': 'kubernetes:workspace-tea:manager' },
  barista: { 'impersonate-user': 'barista', 'impersonate-group': 'kubernetes:workspace-coffee:manager' },
  // Manages tea by RBAC.
  deputy: { 'impersonate-user': 'deputy' },
  // Has no Tenant, but the group of a manager.
  stranger: { 'impersonate-user': 'stranger', 'impersonate-group': 'kubernetes:workspace-tea:manager' },
  administrator: { 'impersonate-user': 'administrator' },
  master: { 'impersonate-user': 'somebody', 'impersonate-group': 'system:masters' },
  operator: { 'impersonate-user': `system:serviceaccount:${namespace}:podloom-labs-operator` },
} as const;
export type Person = keyof typeof everybody;

const workspaces = [
  ['tea', undefined],
  ['coffee', undefined],
  ['cocoa', 'immediate'],
  ['milk', 'withApproval'],
  ['utilities', undefined],
] as const;

/** As the operator leaves it. */
const enrolled: Readonly<Record<string, TenantSpecInput['workspaces']>> = {
  student: [{ name: 'tea', role: 'user' }],
  drinker: [
    { name: 'tea', role: 'user' },
    { name: 'cocoa', role: 'user' },
    { name: 'milk', role: 'candidate' },
  ],
  teacher: [{ name: 'tea', role: 'manager' }],
  barista: [{ name: 'coffee', role: 'manager' }],
  deputy: [{ name: 'milk', role: 'user' }],
};

export const tenantObject = (name: string, spec: Partial<TenantSpecInput>, metadata: object = {}) =>
  ({
    apiVersion: tenantKind.apiVersion,
    kind: 'Tenant',
    metadata: { name, ...metadata },
    spec: { firstName: 'First', lastName: 'Last', email: `${name}@example.com`, ...spec },
  }) as Tenant & { readonly metadata: { readonly name: string } };

export interface LabsClass {
  /** May do everything. */
  readonly client: Client;
  as(person: Person): Client;
  stop(): Promise<void>;
}

export async function labsClass(...values: readonly string[]): Promise<LabsClass> {
  const installed = await chartOnApiServer('labs.tenants.enabled=true', ...values);
  const config = await loadConfig({ path: installed.kubeconfig });
  const client = createClient(config);
  const clients = new Map(
    Object.entries(everybody).map(([person, headers]) => [person, createClient({ ...config, headers })]),
  );
  const stop = async (): Promise<void> => {
    for (const one of [client, ...clients.values()]) await one.close();
    await installed.stop();
  };
  try {
    await installed.kube(['create', '-f', '-'], manifest(...rights));
    for (const [name, autoEnroll] of workspaces) {
      const quota = { cpu: 1, memory: '1Gi', instances: 1 };
      await client.create(workspaceKind.resource, {
        metadata: { name },
        spec: { prettyName: name, quota, ...(autoEnroll && { autoEnroll }) },
      });
    }
    // Policies know a kind a moment after it is served.
    await eventually(() => client.create(tenantKind.resource, tenantObject('first', {}), { dryRun: true }));
    for (const [name, list] of Object.entries(enrolled)) {
      const labels = { [targetLabel]: 'local', 'crownlabs.polito.it/workspace-tea': 'user' };
      await client.create(tenantKind.resource, tenantObject(name, { workspaces: list ?? [] }, { labels }));
    }
    const data = { workspaces: workspaces.map(([name]) => name).join('\n'), tenants: Object.keys(enrolled).join('\n') };
    const names = `configmap/podloom-names`;
    await installed.kube(['patch', names, '-n', namespace, '--type=merge', `--patch=${JSON.stringify({ data })}`]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    client,
    as: (person) => {
      const found = clients.get(person);
      if (!found) throw new Error(`${person} is nobody`);
      return found;
    },
    stop,
  };
}

const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const bound = (name: string, role: string, subject: object) => ({
  ...rbac,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
});
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const rights = [
  {
    ...rbac,
    kind: 'ClusterRole',
    metadata: { name: 'too-much' },
    rules: [{ apiGroups: ['crownlabs.polito.it'], resources: ['tenants', 'instances'], verbs }],
  },
  bound('too-much', 'too-much', { kind: 'Group', name: 'system:authenticated' }),
  {
    ...rbac,
    kind: 'ClusterRole',
    metadata: { name: 'manage-tea' },
    rules: [
      { apiGroups: ['crownlabs.polito.it'], resources: ['workspaces'], resourceNames: ['tea'], verbs: ['manage'] },
    ],
  },
  bound('manage-tea', 'manage-tea', { kind: 'User', name: 'deputy' }),
  bound('administrator', 'cluster-admin', { kind: 'User', name: 'administrator' }),
];

/** What the API server answered; nothing where it did what it was asked. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return '';
  } catch (error) {
    if (!isApiError(error)) throw error;
    return error.message;
  }
}
