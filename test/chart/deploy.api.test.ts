/** `make deploy` and `make undeploy` over an installation that is there: what an administrator chose stays, a removal that failed is no end, and what is left is said. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonSet } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installChart, privateValues, removeChart } from '../../tools/deploy.ts';
import { eventually } from '../setup/eventually.ts';
import { type Installed, chart, chartOnApiServer, manifest, namespace } from './installed.ts';

const there = ['-n', namespace, '-o', 'json'];
const image = 'podloom.local/podloom:0.1.0';
let installed: Installed;
let folder: string;

beforeAll(async () => {
  installed = await chartOnApiServer();
  folder = await mkdtemp(join(tmpdir(), 'podloom-values-'));
  await pretendReady();
});
afterAll(async () => {
  await installed?.stop();
  if (folder) await rm(folder, { recursive: true });
});

const pretend = (what: string, status: object) =>
  installed.kube(['patch', what, '-n', namespace, '--subresource=status', `-p=${JSON.stringify({ status })}`]);
/** As the controllers would say, which are not there: everything that will ever be asked for runs. */
async function pretendReady(): Promise<void> {
  const observed = {
    observedGeneration: 1000,
    replicas: 2,
    updatedReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 2,
  };
  await pretend('deployment/podloom-network-operator', observed);
  await pretend('daemonset/podloom-agent', { observedGeneration: 1000 });
}
const deploy = (values?: string, set?: Record<string, unknown>) =>
  installChart({ kubeconfig: installed.kubeconfig, image, values, set });
const helmJson = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { code, stdout, stderr } = await installed.helm([...args, ...there]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
};

const withdrawals = async (): Promise<object[]> =>
  (await installed.get<{ items: object[] }>('jobs', '-n', namespace)).items;

const chosen = (sample: string) => ({
  sampleDeployment: { image: sample },
  networkOperator: { reservedCidrs: ['10.7.0.0/16'] },
});

describe('on a private cluster', () => {
  const there = { sample: 'podloom.local/tools:2', range: '10.90.0.0/16' };

  it.each([
    ['nothing was chosen', null, null, there.sample, []],
    ['it was made here before', null, chosen('podloom.local/tools:1'), there.sample, ['10.7.0.0/16']],
    ['it was chosen before', null, chosen('own/tools:3'), 'own/tools:3', ['10.7.0.0/16']],
    ['it is chosen now', chosen('own/tools:4'), chosen('own/tools:3'), 'own/tools:4', ['10.7.0.0/16']],
  ])('has its own range reserved, and the sample image that is there where %s', (_, written, kept, image, reserved) => {
    expect(privateValues({ written, kept, ...there })).toEqual({
      'networkOperator.reservedCidrs': [...reserved, there.range],
      'sampleDeployment.image': image,
    });
  });
});

describe('make deploy', () => {
  it('takes values from a file, and keeps them when it is run without', async () => {
    const file = join(folder, 'values.yaml');
    await writeFile(file, 'networkOperator: { reservedCidrs: [10.90.0.0/16] }\nwithdraw: { timeout: 7m }\n');
    await deploy(file);
    await deploy();
    expect(await helmJson('get', 'values', 'podloom')).toMatchObject({
      networkOperator: { reservedCidrs: ['10.90.0.0/16'] },
      withdraw: { timeout: '7m' },
    });
  });

  it('has the nodes pull the very image that a digest names', async () => {
    const name = `example.com:5000/podloom:1.0@sha256:${'ab'.repeat(32)}`;
    await installChart({ kubeconfig: installed.kubeconfig, image: name });
    const { spec } = await installed.get<DaemonSet>('daemonset/podloom-agent', '-n', namespace);
    expect(spec?.template.spec?.containers[0]?.image).toBe(name);
    const nameless = installChart({ kubeconfig: installed.kubeconfig, image: 'example.com:5000/podloom' });
    await expect(nameless).rejects.toThrow('has no tag: write NAME:TAG or NAME:TAG@sha256:DIGEST');
  });

  it('carries on where uninstalling has failed', async () => {
    const failed = await installed.helm(['uninstall', 'podloom', '-n', namespace, '--timeout=1s']);
    expect(failed.code).not.toBe(0);
    // As withdrawing leaves it that was killed.
    await installed.kube(['scale', 'deployment/podloom-network-operator', '-n', namespace, '--replicas=0']);
    expect(await helmJson('status', 'podloom')).toMatchObject({ info: { status: 'uninstalling' } });
    expect(await withdrawals()).toHaveLength(1);
    await deploy();
    // It had not begun yet. Later it would take everything from a product that was kept.
    expect(await withdrawals()).toEqual([]);
    expect(await helmJson('status', 'podloom')).toMatchObject({ info: { status: 'deployed' } });
    expect(await helmJson('get', 'values', 'podloom')).toMatchObject({ withdraw: { timeout: '7m' } });
    expect(await installed.get('deployment/podloom-network-operator', '-n', namespace)).toMatchObject({
      spec: { replicas: 2 },
    });
  });
});

// There is nobody who would run the withdrawal.
const withoutHook = { 'withdraw.onUninstall': false };
const own = 'podconfigs.podconfig.opdev.io';
const podConfig = (finalizers: string[]): string =>
  manifest({
    apiVersion: 'podconfig.opdev.io/v1alpha1',
    kind: 'PodConfig',
    metadata: { name: 'sample', namespace: 'default', finalizers },
    spec: {},
  });
const crds = async (): Promise<string[]> =>
  (await installed.kube(['get', 'crd', '-o', 'name'])).split('\n').filter(Boolean);
const remove = (tell?: (step: string) => void) =>
  removeChart({ kubeconfig: installed.kubeconfig, crds: tell !== undefined, tell });

describe('make undeploy', () => {
  it('says why nothing was uninstalled, and leaves nothing that could begin later', async () => {
    await deploy();
    const removing = remove();
    const time = new Date().toISOString();
    const failed = { status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: time };
    // As the controllers would say, when the withdrawal has failed.
    const status = {
      startTime: time,
      failed: 1,
      conditions: [
        { type: 'FailureTarget', ...failed },
        { type: 'Failed', ...failed },
      ],
    };
    await Promise.all([
      expect(removing).rejects.toThrow(/Nothing was uninstalled.*make undeploy.*make deploy/s),
      eventually(() => pretend('job/podloom-withdraw', status)),
    ]);
    expect(await withdrawals()).toEqual([]);
  });

  it('says how to go on where some of it could not be deleted', async () => {
    await deploy(undefined, withoutHook);
    await installed.kube(['create', '-f', '-'], manifest(...keepsServices));
    await eventually(async () => {
      const { stderr } = await installed.kubectl(['delete', 'service', '--all', '-n', namespace, '--dry-run=server']);
      expect(stderr).toContain('stays here');
    });
    await expect(remove()).rejects.toThrow(
      /failed to delete release.*Some of the chart may be gone already.*make deploy.*make undeploy/s,
    );
    await installed.kube(['delete', '-f', '-'], manifest(...keepsServices));
    await Promise.all([deploy(), eventually(pretendReady)]);
    expect(await helmJson('status', 'podloom')).toMatchObject({ info: { status: 'deployed' } });
  });

  it('does not claim to have taken back what it was told to leave, and leaves the kinds', async () => {
    await deploy(undefined, withoutHook);
    expect(await remove()).toBe('left');
    expect(await crds()).toContain(`customresourcedefinition.apiextensions.k8s.io/${own}`);
    expect(await remove()).toBe('nothing');
  });

  it('deletes a namespace that make deploy has made, also where the release is gone already', async () => {
    await installed.kube(['label', 'namespace', namespace, 'app.kubernetes.io/part-of=podloom']);
    // There is nobody who would empty it.
    const removing = remove();
    await eventually(async () => {
      const { metadata } = await installed.get<Crd>(`namespace/${namespace}`);
      expect(metadata).toHaveProperty('deletionTimestamp');
    });
    await installed.kube(
      ['replace', '--raw', `/api/v1/namespaces/${namespace}/finalize`, '-f', '-'],
      manifestOf(namespace),
    );
    expect(await removing).toBe('nothing');
    await installed.kube(['create', 'namespace', namespace]);
  });

  it('deletes no kind of which objects wait for Podloom, and says how they go', async () => {
    await installed.kube(['create', '-f', '-'], podConfig(['podconfig.finalizers.opdev.io']));
    const before = await crds();
    await expect(remove(() => undefined)).rejects.toThrow(
      /No kind was deleted.*podconfigs.podconfig.opdev.io default\/sample.*install again.*then uninstall/s,
    );
    expect(await crds()).toEqual(before);
    const free = ['--type=merge', '-p={"metadata":{"finalizers":[]}}'];
    await installed.kube(['patch', 'podconfig/sample', '-n', 'default', ...free]);
  });

  it('tells what it deletes with CRDS=1, and leaves a kind of another project alone', async () => {
    const theirs = 'network-attachment-definitions.k8s.cni.cncf.io';
    await installed.kube(['delete', 'crd', theirs]);
    await installed.kube(['create', '-f', '-'], manifest(foreignKind));
    const { metadata, spec } = await installed.get<Crd>(`crd/${theirs}`);
    await installed.helm(['install', 'podloom', chart, '-n', namespace, '--set=withdraw.onUninstall=false']);
    const told: string[] = [];
    expect(await remove((step) => told.push(step))).toBe('left');
    expect(told).toContain(`Deleting the kind ${own} and 1 of it`);
    expect(told.join()).not.toContain(theirs);
    expect(await crds()).toEqual([`customresourcedefinition.apiextensions.k8s.io/${theirs}`]);
    expect(await installed.get<Crd>(`crd/${theirs}`)).toMatchObject({
      metadata: { uid: metadata.uid, generation: metadata.generation },
      spec,
    });
  });
});

/** An empty one without what keeps it until it is empty. */
const manifestOf = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } });

/** No Service can be deleted. */
const keepsServices = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'keeps-services' },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['services'] }],
      },
      validations: [{ expression: 'false', message: 'stays here' }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'keeps-services' },
    spec: { policyName: 'keeps-services', validationActions: ['Deny'] },
  },
];

interface Crd {
  readonly metadata: { readonly uid: string; readonly generation: number };
  readonly spec: object;
}

/** As another project brings it. */
const foreignKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'network-attachment-definitions.k8s.cni.cncf.io' },
  spec: {
    group: 'k8s.cni.cncf.io',
    scope: 'Namespaced',
    names: {
      kind: 'NetworkAttachmentDefinition',
      plural: 'network-attachment-definitions',
      singular: 'network-attachment-definition',
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
