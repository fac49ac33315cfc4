/** People of the labs on a real cluster: the product with its operator of the labs, and the manifests of the guide applied with kubectl. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject, Tenant, Workspace } from '@podloom/api';
import type { Namespace, NetworkPolicy, PersistentVolumeClaim, ResourceQuota, RoleBinding } from '@podloom/kube';
import { clusterUp } from '@podloom/local';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Commands, commandsFor, namespace } from '../chart/installed.ts';
import { ensureProduct } from '../chart/product.ts';
import { eventually } from '../setup/eventually.ts';

/** The course and the student of the guide. */
const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/labs.md'), 'utf8');
const manifest = /```yaml\n(apiVersion: crownlabs[\s\S]*?)```/.exec(guide)?.[1] ?? '';

let cluster: Commands;

const tenant = () => cluster.get<Tenant>('tenant/john.doe');
const personal = 'tenant-john-doe';
const left = async (): Promise<string[]> => {
  const kinds = 'namespaces,clusterroles,clusterrolebindings,persistentvolumes';
  const { items } = await cluster.get<{ items: KubeObject[] }>(kinds, '-l', 'crownlabs.polito.it/managed-by');
  return items.map(({ kind, metadata }) => `${kind} ${metadata.name}`).filter((name) => /john-doe|-tea\b/.test(name));
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
    volumes: [{ name: 'drive', persistentVolumeClaim: { claimName: 'john-doe-drive-mirror' } }],
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
        'mydrive-pvcs-storage-class-name': 'podloom-shared',
      },
    });
  });
  afterAll(async () => {
    const people = ['tenant/john.doe', 'workspace/tea'];
    await cluster?.kubectl(['delete', ...people, '--ignore-not-found', '--timeout=600s']);
    await cluster?.kubectl(['delete', 'namespace', 'mydrive-pvcs', '--ignore-not-found', '--timeout=600s']);
    await ensureProduct({ 'labs.tenants.enabled': false });
  });

  it('have what they should have, a moment after kubectl apply', async () => {
    // Policies know a kind a moment after it is served.
    await eventually(() => cluster.kube(['apply', '-f', '-'], manifest));
    await cluster.kube(['wait', 'workspace/tea', 'tenant/john.doe', '--for=condition=Ready', '--timeout=300s']);
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
      'crownlabs-manage-instances-tea',
    ]);
    const { items: policies } = await cluster.get<{ items: NetworkPolicy[] }>('networkpolicies', '-n', personal);
    expect(policies).toHaveLength(2);
    const workspace = await cluster.get<Workspace>('workspace/tea');
    expect(workspace.status).toMatchObject({ ready: true, namespace: { name: 'workspace-tea', created: true } });
  });

  it('may do what their roles say, and no more', async () => {
    const john = ['--as=john.doe'];
    const manager = ['--as=someone', '--as-group=kubernetes:workspace-tea:manager'];
    const instances = ['create', 'instances.crownlabs.polito.it', '-n'];
    expect(await may(john, ...instances, personal)).toBe('yes');
    expect(await may(john, ...instances, 'default')).toBe('no');
    expect(await may(john, 'patch', 'tenants.crownlabs.polito.it/john.doe')).toBe('yes');
    expect(await may(john, 'delete', 'tenants.crownlabs.polito.it/john.doe')).toBe('no');
    expect(await may(john, 'create', 'deployments', '-n', 'sandbox-john-doe')).toBe('yes');
    expect(await may(manager, ...instances, personal)).toBe('yes');
    expect(await may(manager, ...instances, 'default')).toBe('no');
    expect(await may(manager, 'create', 'templates.crownlabs.polito.it', '-n', 'workspace-tea')).toBe('yes');
  });

  it('have a drive that their pods write to, on every node, as the user of the labs', async () => {
    await cluster.kube(['wait', 'tenant/john.doe', '--for=condition=Drive', '--timeout=300s']);
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
    const mirror = () => cluster.get<PersistentVolumeClaim>('pvc/john-doe-drive-mirror', '-n', personal);
    const before = (await mirror()).metadata.uid;
    await cluster.kube(['delete', 'pvc/john-doe-drive-mirror', '-n', personal, '--timeout=300s']);
    const sandbox = () => cluster.get<Namespace>('namespace/sandbox-john-doe');
    const { uid } = (await sandbox()).metadata;
    await cluster.kube(['delete', 'namespace', 'sandbox-john-doe', '--wait=false']);
    await cluster.kube(['delete', 'networkpolicies', '--all', '-n', personal]);
    await eventually(async () => {
      const { items } = await cluster.get<{ items: NetworkPolicy[] }>('networkpolicies', '-n', personal);
      expect(items).toHaveLength(2);
      expect(await mirror()).toMatchObject({ status: { phase: 'Bound' } });
      expect((await mirror()).metadata.uid).not.toBe(before);
      expect((await sandbox()).metadata.uid).not.toBe(uid);
      const rights = await cluster.kubectl(['get', 'rolebinding/sandbox-editor', '-n', 'sandbox-john-doe']);
      expect(rights.code).toBe(0);
    });
  });

  it('leave nothing behind, but for what is on their drives', async () => {
    await cluster.kube(['delete', 'workspace/tea', '--timeout=300s']);
    expect((await tenant()).spec.workspaces).toEqual([]);
    await cluster.kube(['delete', 'tenant/john.doe', '--timeout=300s']);
    expect(await left()).toEqual([]);
    expect((await cluster.kubectl(['get', 'pvc/john-doe-drive', '-n', 'mydrive-pvcs'])).code).toBe(0);
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
