/** People of the labs on a real cluster: the product with its operator of the labs, and the manifests of the guide applied with kubectl. */
import type { KubeObject, Tenant, Workspace } from '@podloom/api';
import type { Namespace, NetworkPolicy, PersistentVolumeClaim, ResourceQuota, RoleBinding } from '@podloom/kube';
import { clusterUp } from '@podloom/local';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Commands, commandsFor, namespace } from '../chart/installed.ts';
import { ensureProduct } from '../chart/product.ts';
import { eventually } from '../setup/eventually.ts';

const manifest = `
apiVersion: crownlabs.polito.it/v1alpha1
kind: Workspace
metadata:
  name: people-tea
  labels: { crownlabs.polito.it/operator-selector: local }
spec:
  prettyName: Tea
  quota: { cpu: "4", memory: 8Gi, instances: 3 }
---
apiVersion: crownlabs.polito.it/v1alpha2
kind: Tenant
metadata:
  name: people.john
  labels: { crownlabs.polito.it/operator-selector: local }
spec:
  firstName: John
  lastName: Doe
  email: john.doe@example.com
  workspaces: [{ name: people-tea, role: user }]
  publicKeys: [type1 key1 comment1]
  createSandbox: true
`;

let cluster: Commands;

const tenant = () => cluster.get<Tenant>('tenant/people.john');
const personal = 'tenant-people-john';
const left = async (): Promise<string[]> => {
  const kinds = 'namespaces,clusterroles,clusterrolebindings,persistentvolumes';
  const { items } = await cluster.get<{ items: KubeObject[] }>(kinds, '-l', 'crownlabs.polito.it/managed-by');
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name}`).filter((name) => name.includes('people'));
};

const may = async (who: string[], ...what: string[]) =>
  (await cluster.kubectl(['auth', 'can-i', ...what, ...who])).stdout.trim();

const amount = { cpu: '50m', memory: '32Mi' };
/** A pod on each node, with the mirror of the drive. */
const writers = ['n1', 'n2'].map((node) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: node, namespace: personal },
  spec: {
    nodeName: node,
    securityContext: { runAsUser: 1010, runAsGroup: 1010 },
    containers: [
      {
        name: 'main',
        image: inject('toolsImage'),
        command: ['sleep', 'infinity'],
        resources: { requests: amount, limits: amount },
        volumeMounts: [{ name: 'drive', mountPath: '/media/mydrive' }],
      },
    ],
    volumes: [{ name: 'drive', persistentVolumeClaim: { claimName: 'people-john-drive-mirror' } }],
  },
}));

/** The image is on the nodes of a private cluster only. */
describe.skipIf(inject('clusterName') === '')('people', () => {
  beforeAll(async () => {
    cluster = await commandsFor(inject('kubeconfig'));
    await clusterUp({ name: inject('clusterName'), with: ['storage'] });
    await ensureProduct({
      'labs.tenants.enabled': true,
      'labs.tenants.provisionImage': inject('toolsImage'),
      'labs.tenants.mirrorProvisioners': ['rancher.io/local-path'],
      'labs.operator.flags': {
        'target-label': 'crownlabs.polito.it/operator-selector=local',
        'mydrive-pvcs-storage-class-name': 'podloom-shared',
      },
    });
  });
  afterAll(async () => {
    const people = ['tenant/people.john', 'workspace/people-tea'];
    await cluster?.kubectl(['delete', ...people, '--ignore-not-found', '--timeout=600s']);
    await cluster?.kubectl(['delete', 'namespace', 'mydrive-pvcs', '--ignore-not-found', '--timeout=600s']);
    await ensureProduct({ 'labs.tenants.enabled': false });
  });

  it('have what they should have, a moment after kubectl apply', async () => {
    // Policies know a kind a moment after it is served.
    await eventually(() => cluster.kube(['apply', '-f', '-'], manifest));
    await cluster.kube([
      'wait',
      'workspace/people-tea',
      'tenant/people.john',
      '--for=condition=Ready',
      '--timeout=300s',
    ]);
    expect((await tenant()).status).toMatchObject({
      ready: true,
      personalNamespace: { name: personal, created: true },
      quota: { cpu: '4', memory: '8Gi', instances: 3 },
      failingWorkspaces: [],
    });
    const quota = await cluster.get<ResourceQuota>('resourcequota/crownlabs-resource-quota', '-n', personal);
    // The quota controller of the cluster has counted by it.
    await eventually(async () =>
      expect(
        (await cluster.get<ResourceQuota>('resourcequota/crownlabs-resource-quota', '-n', personal)).status?.hard,
      ).toEqual(quota.spec?.hard),
    );
    const { items: bindings } = await cluster.get<{ items: RoleBinding[] }>('rolebindings', '-n', personal);
    expect(bindings.map(({ metadata }) => metadata.name ?? '').toSorted()).toEqual([
      'crownlabs-manage-instances',
      'crownlabs-manage-instances-people-tea',
    ]);
    const { items: policies } = await cluster.get<{ items: NetworkPolicy[] }>('networkpolicies', '-n', personal);
    expect(policies).toHaveLength(2);
    const workspace = await cluster.get<Workspace>('workspace/people-tea');
    expect(workspace.status).toMatchObject({ ready: true, namespace: { name: 'workspace-people-tea', created: true } });
  });

  it('may do what their roles say, and no more', async () => {
    const john = ['--as=people.john'];
    const manager = ['--as=someone', '--as-group=kubernetes:workspace-people-tea:manager'];
    const instances = ['create', 'instances.crownlabs.polito.it', '-n'];
    expect(await may(john, ...instances, personal)).toBe('yes');
    expect(await may(john, ...instances, 'default')).toBe('no');
    expect(await may(john, 'patch', 'tenants.crownlabs.polito.it/people.john')).toBe('yes');
    expect(await may(john, 'delete', 'tenants.crownlabs.polito.it/people.john')).toBe('no');
    expect(await may(john, 'create', 'deployments', '-n', 'sandbox-people-john')).toBe('yes');
    expect(await may(manager, ...instances, personal)).toBe('yes');
    expect(await may(manager, ...instances, 'default')).toBe('no');
    expect(await may(manager, 'create', 'templates.crownlabs.polito.it', '-n', 'workspace-people-tea')).toBe('yes');
  });

  it('have a drive that their pods write to, on every node, as the user of the labs', async () => {
    await cluster.kube(['wait', 'tenant/people.john', '--for=condition=Drive', '--timeout=300s']);
    await cluster.kube(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: writers }));
    const pods = writers.map(({ metadata }) => `pod/${metadata.name}`);
    await cluster.kube(['wait', ...pods, '-n', personal, '--for=condition=Ready', '--timeout=300s']);
    const inPod = (pod: string, script: string) =>
      cluster.kube(['exec', pod, '-n', personal, '--', 'sh', '-c', `cd /media/mydrive; ${script}`]);
    await inPod('n1', 'echo from n1 > note');
    expect(await inPod('n2', 'cat note; id -u')).toBe('from n1\n1010\n');
    await cluster.kube(['delete', ...pods, '-n', personal, '--grace-period=0', '--force']);
  });

  it('get back at once what somebody deletes', async () => {
    const mirror = () => cluster.get<PersistentVolumeClaim>('pvc/people-john-drive-mirror', '-n', personal);
    const before = (await mirror()).metadata.uid;
    await cluster.kube(['delete', 'pvc/people-john-drive-mirror', '-n', personal, '--timeout=300s']);
    const sandbox = () => cluster.get<Namespace>('namespace/sandbox-people-john');
    const { uid } = (await sandbox()).metadata;
    await cluster.kube(['delete', 'namespace', 'sandbox-people-john', '--wait=false']);
    await cluster.kube(['delete', 'networkpolicies', '--all', '-n', personal]);
    await eventually(async () => {
      const { items } = await cluster.get<{ items: NetworkPolicy[] }>('networkpolicies', '-n', personal);
      expect(items).toHaveLength(2);
      expect(await mirror()).toMatchObject({ status: { phase: 'Bound' } });
      expect((await mirror()).metadata.uid).not.toBe(before);
      expect((await sandbox()).metadata.uid).not.toBe(uid);
      const rights = await cluster.kubectl(['get', 'rolebinding/sandbox-editor', '-n', 'sandbox-people-john']);
      expect(rights.code).toBe(0);
    });
  });

  it('leave nothing behind, but for what is on their drives', async () => {
    await cluster.kube(['delete', 'workspace/people-tea', '--timeout=300s']);
    expect((await tenant()).spec.workspaces).toEqual([]);
    await cluster.kube(['delete', 'tenant/people.john', '--timeout=300s']);
    expect(await left()).toEqual([]);
    expect((await cluster.kubectl(['get', 'pvc/people-john-drive', '-n', 'mydrive-pvcs'])).code).toBe(0);
  });

  it('are served by a process that touches no node', async () => {
    const { stdout } = await cluster.kubectl([
      'get',
      'deployment/podloom-labs-operator',
      '-n',
      namespace,
      '-o',
      'yaml',
    ]);
    expect(stdout).not.toMatch(/hostNetwork|hostPath|privileged/);
  });
});
