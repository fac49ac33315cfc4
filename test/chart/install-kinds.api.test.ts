/** `make install`: the kinds without the product, which Helm takes over later. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kinds, labsKinds } from '@podloom/api';
import { startControlPlane } from '@podloom/local';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installKinds } from '../../tools/install-kinds.ts';
import { eventually } from '../setup/eventually.ts';
import { type Commands, chart, commandsFor, manifest, namespace } from './installed.ts';

interface Definition {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly names: { readonly categories?: readonly string[] } };
}

let dir: string;
let controlPlane: Awaited<ReturnType<typeof startControlPlane>>;
let commands: Commands;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-kinds-'));
  controlPlane = await startControlPlane({ dir });
  commands = await commandsFor(controlPlane.kubeconfig);
});
afterAll(async () => {
  await controlPlane?.stop();
  if (dir) await rm(dir, { recursive: true, force: true });
});

const install = () => installKinds({ kubeconfig: controlPlane.kubeconfig });
const definition = (name: string) => commands.get<Definition>('customresourcedefinition', name);
const helm = async (...args: string[]): Promise<void> => {
  const { code, stderr } = await commands.helm([...args, '--namespace', namespace]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
};

const foreign = 'network-attachment-definitions.k8s.cni.cncf.io';
const theirs = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: foreign },
  spec: {
    group: 'k8s.cni.cncf.io',
    scope: 'Namespaced',
    names: { plural: 'network-attachment-definitions', singular: 'nad', kind: 'NetworkAttachmentDefinition' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const workspace = {
  apiVersion: 'crownlabs.polito.it/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'tea' },
  spec: { prettyName: 'Tea', quota: { cpu: 1, memory: '1Gi', instances: 1 } },
};

it('installs every kind, leaves what others installed, and is taken over and kept by Helm', async () => {
  await commands.kube(['create', '-f', '-'], manifest(theirs));
  expect(await install()).toEqual([foreign]);
  expect((await definition(foreign)).spec.names.categories).toBeUndefined();
  const { items } = await commands.get<{ items: Definition[] }>('customresourcedefinitions');
  expect(items).toHaveLength(kinds.length);
  await eventually(() => commands.kube(['create', '-f', '-'], manifest(workspace)));
  expect(await install()).toEqual([foreign]);

  const off = [
    '--set=network.enabled=false',
    '--set=labs.imageList.enabled=true',
    '--set=labs.imageList.registriesSecret=registries',
  ];
  await helm('install', 'podloom', chart, '--create-namespace', '--take-ownership', ...off);
  for (const { plural, group } of labsKinds) {
    const { metadata } = await definition(`${plural}.${group}`);
    expect(metadata.annotations).toMatchObject({ 'meta.helm.sh/release-name': 'podloom' });
    expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'podloom' });
  }
  expect(await install()).toEqual([foreign]);
  await helm('upgrade', 'podloom', chart, '--take-ownership', ...off);
  await helm('uninstall', 'podloom');
  expect(await commands.kube(['get', 'workspace/tea', '--output=name'])).toContain('tea');
});
