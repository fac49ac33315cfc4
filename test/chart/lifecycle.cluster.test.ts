/** The life of an installation as an administrator sees it: install, grant, upgrade, go back, uninstall, install again; with pods that use it all the time. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PodConfig } from '@podloom/api';
import type { ClusterRole, CustomResourceDefinition, Node, Pod } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Archive, removeChart } from '../../tools/deploy.ts';
import { eventually } from '../setup/eventually.ts';
import { type Commands, chart, commandsFor, manifest, namespace } from './installed.ts';
import { ensureImage, ensureProduct } from './product.ts';

const mine = 'chart-life';
const oldText = 'Networks for running pods, as an older version said it.';
const crd = 'podconfigs.podconfig.opdev.io';

let cluster: Commands;
let image: Archive;
let olderChart: string;

const list = async <T>(...args: string[]): Promise<T[]> => (await cluster.get<{ items: T[] }>(...args)).items;
const samples = (): Promise<Pod[]> => list<Pod>('pods', '-n', mine, '-l', 'podconfig=sample');
const podConfig = (): Promise<PodConfig> => cluster.get<PodConfig>('podconfig/sample', '-n', mine);
/** As `3: life4711`: a link that was made anew has another number. */
const numberedLinksIn = async (pod: string): Promise<string[]> =>
  (await cluster.kube(['exec', '-n', mine, pod, '--', 'ip', '-o', 'link'])).match(/^\d+: [^@:]+/gm) ?? [];
const linksIn = async (pod: string): Promise<string[]> =>
  (await numberedLinksIn(pod)).map((link) => link.replace(/^\d+: /, ''));
const oursOnNode = async (): Promise<string[]> =>
  (await numberedLinksIn('node')).filter((link) => link.includes('life'));
const isConfigured = (): Promise<void> =>
  eventually(async () => expect((await podConfig()).status?.phase).toBe('configured'));
const crdText = async (): Promise<string | undefined> =>
  (await cluster.get<CustomResourceDefinition>(`crd/${crd}`)).spec?.versions[0]?.schema?.openAPIV3Schema?.description;

/** What an older version of the chart would be: another text in a kind. */
async function makeOlderChart(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'podloom-older-chart-'));
  await cp(chart, folder, { recursive: true });
  const file = join(folder, `templates/crds/${crd}.yaml`);
  const text = await readFile(file, 'utf8');
  const older = text.replace(/(openAPIV3Schema:\s+description: ).*/, `$1${oldText}`);
  expect(older).not.toBe(text);
  await writeFile(file, older);
  const about = join(folder, 'Chart.yaml');
  await writeFile(about, (await readFile(about, 'utf8')).replace(/^version: .*$/m, 'version: 0.0.9'));
  return folder;
}

async function install(folder: string): Promise<void> {
  const sets = [`image.digest=${image.digest}`, `sampleDeployment.image=${inject('toolsImage')}`].flatMap((one) => [
    '--set',
    one,
  ]);
  const place = ['-n', namespace, '--create-namespace', '--take-ownership', '--wait', '--timeout=10m'];
  const { code, stderr } = await cluster.helm(['upgrade', '--install', 'podloom', folder, ...place, ...sets]);
  expect(stderr).not.toMatch(/error/i);
  expect(code).toBe(0);
}

/** The image is on the nodes of a private cluster only. */
describe.skipIf(inject('clusterName') === '')('an installation', () => {
  beforeAll(async () => {
    cluster = await commandsFor(inject('kubeconfig'));
    [image, olderChart] = await Promise.all([ensureImage(), makeOlderChart()]);
    await removeChart({ kubeconfig: inject('kubeconfig') });
    await install(olderChart);
  });
  afterAll(async () => {
    if (olderChart) await rm(olderChart, { recursive: true, force: true });
    await cluster?.kubectl(['delete', 'namespace', mine, '--ignore-not-found', '--timeout=600s']);
  });

  let before: { readonly uids: (string | undefined)[]; readonly links: string[][]; readonly onNode: string[] };

  it('runs one agent a node and two operators, of which one leads', async () => {
    const nodes = await list<Node>('nodes');
    const lease = ['get', 'lease/podloom-network-operator', '-n', namespace, '-o', 'jsonpath={.spec.holderIdentity}'];
    // Those of an installation before may still be on their way out, and a leader is found after its pod is ready.
    await eventually(async () => {
      const agents = await list<Pod>('pods', '-n', namespace, '-l', 'app.kubernetes.io/component=agent');
      expect(agents.map(({ spec }) => spec?.nodeName ?? '').toSorted()).toEqual(
        nodes.map(({ metadata }) => metadata.name ?? '').toSorted(),
      );
      expect(
        await list<Pod>('pods', '-n', namespace, '-l', 'app.kubernetes.io/component=network-operator'),
      ).toHaveLength(2);
      expect(await cluster.kube(lease)).toMatch(/^podloom-network-operator-/);
    });
  });

  it('gathers the roles of all kinds for tenants', async () => {
    await eventually(async () => {
      const { rules } = await cluster.get<ClusterRole>('clusterrole/podloom-tenant');
      const granted = (rules ?? [])
        .filter(({ verbs }) => verbs.includes('create'))
        .flatMap(({ resources }) => resources ?? []);
      expect(granted.toSorted()).toEqual([
        'additionalnetworks',
        'bridges',
        'podconfigs',
        'podnetworkconfigs',
        'primarynetworks',
      ]);
    });
    const can = async (verb: string, kind: string, as: string) =>
      (
        await cluster.kubectl(['auth', 'can-i', verb, kind, '-n', mine, `--as=system:serviceaccount:${mine}:${as}`])
      ).stdout.trim();
    await cluster.kube(['create', 'namespace', mine]);
    await cluster.kube([
      'create',
      'rolebinding',
      'all',
      '-n',
      mine,
      '--clusterrole=podloom-tenant',
      `--serviceaccount=${mine}:tenant`,
    ]);
    await cluster.kube([
      'create',
      'rolebinding',
      'edit',
      '-n',
      mine,
      '--clusterrole=edit',
      `--serviceaccount=${mine}:editor`,
    ]);
    await eventually(async () => expect(await can('create', 'bridges.podnetwork.opdev.io', 'tenant')).toBe('yes'));
    expect(await can('create', 'networkgrants.podnetwork.opdev.io', 'tenant')).toBe('no');
    expect(await can('update', 'podnetworks.podnetwork.opdev.io', 'tenant')).toBe('no');
    expect(await can('create', 'bridges.podnetwork.opdev.io', 'editor')).toBe('no');
    expect(await can('get', 'podnetworks.podnetwork.opdev.io', 'editor')).toBe('yes');
  });

  it('configures pods', async () => {
    const attachment = { name: 'life', linkType: 'veth', master: 'lifebr0', cidr: '172.31.9.0/24' };
    await cluster.kube(
      ['create', '-f', '-'],
      manifest({
        apiVersion: 'podconfig.opdev.io/v1alpha1',
        kind: 'PodConfig',
        metadata: { name: 'sample', namespace: mine },
        spec: { sampleDeployment: { create: true, name: 'sample' }, networkAttachments: [attachment] },
      }),
    );
    await isConfigured();
    const pods = await samples();
    expect(pods).toHaveLength(2);
    const links = await Promise.all(pods.map(({ metadata }) => linksIn(metadata.name ?? '')));
    for (const names of links) expect(names).toEqual(['lo', 'eth0', expect.stringMatching(/^life\d+$/)]);
    // A window into the node: its links are those of its network.
    await cluster.kube(
      ['create', '-f', '-'],
      manifest({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'node', namespace: mine },
        spec: {
          nodeName: pods[0]?.spec?.nodeName,
          hostNetwork: true,
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'node', image: inject('toolsImage') }],
        },
      }),
    );
    await cluster.kube(['wait', 'pod/node', '-n', mine, '--for=condition=Ready', '--timeout=300s']);
    const onNode = await oursOnNode();
    expect(onNode.join()).toContain('lifebr0');
    expect(onNode.filter((link) => link.includes(' hlife'))).toHaveLength(2);
    const numbered = await Promise.all(pods.map(({ metadata }) => numberedLinksIn(metadata.name ?? '')));
    before = { uids: pods.map(({ metadata }) => metadata.uid), links: numbered, onNode };
  });

  async function expectUntouched(): Promise<void> {
    const pods = await samples();
    expect(pods.map(({ metadata }) => metadata.uid)).toEqual(before.uids);
    expect(pods.flatMap(({ status }) => status?.containerStatuses?.map(({ restartCount }) => restartCount))).toEqual([
      0, 0,
    ]);
    expect(await Promise.all(pods.map(({ metadata }) => numberedLinksIn(metadata.name ?? '')))).toEqual(before.links);
    expect(await oursOnNode()).toEqual(before.onNode);
    await isConfigured();
  }

  it('is upgraded with its kinds, and no pod notices', async () => {
    expect(await crdText()).toBe(oldText);
    await ensureProduct({
      'agent.resources.requests.memory': '97Mi',
      'networkOperator.resources.requests.memory': '129Mi',
    });
    expect(await crdText()).not.toBe(oldText);
    await expectUntouched();
  });

  it('goes back to the version before, kinds included, and no pod notices', async () => {
    const { code, stderr } = await cluster.helm(['rollback', 'podloom', '-n', namespace, '--wait', '--timeout=10m']);
    // On a loaded machine it also says there that it was made to wait.
    expect(stderr).not.toMatch(/error/i);
    expect(code).toBe(0);
    expect(await crdText()).toBe(oldText);
    await expectUntouched();
  });

  it('takes everything back before it is uninstalled, and leaves what people wrote', async () => {
    expect(await removeChart({ kubeconfig: inject('kubeconfig') })).toBe('withdrawn');
    expect(await list('podnetworks', '-A')).toEqual([]);
    expect(await list('ippools', '-A')).toEqual([]);
    const { metadata, status } = await podConfig();
    expect(metadata.finalizers ?? []).toEqual([]);
    expect(status).toMatchObject({
      phase: 'unset',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Withdrawn' }],
    });
    const pods = await samples();
    expect(pods.map(({ metadata }) => metadata.uid)).toEqual(before.uids);
    for (const { metadata } of pods) expect(await linksIn(metadata.name ?? '')).toEqual(['lo', 'eth0']);
    expect(await oursOnNode()).toEqual([]);
    for (const kind of [
      'clusterroles',
      'clusterrolebindings',
      'validatingadmissionpolicies',
      'validatingadmissionpolicybindings',
    ]) {
      const left = await list<{ metadata: { name: string } }>(kind);
      const names = left.map((one) => `${kind}/${one.metadata.name}`);
      expect(names.filter((name) => name.includes('/podloom-'))).toEqual([]);
    }
    expect(await removeChart({ kubeconfig: inject('kubeconfig') })).toBe('nothing');
  });

  it('carries out again what people wrote when it is installed again', async () => {
    await ensureProduct();
    await isConfigured();
    for (const { metadata } of await samples()) {
      expect(await linksIn(metadata.name ?? '')).toEqual(['lo', 'eth0', expect.stringMatching(/^life\d+$/)]);
    }
    await cluster.kube(['delete', 'podconfig/sample', '-n', mine, '--timeout=300s']);
  });
});
