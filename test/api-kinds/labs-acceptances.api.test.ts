/** What the API server must accept of the labs' kinds, keep, and fill in: CrownLabs' manifests of both eras, and the edges of what is allowed. */
import { instanceKind, labsKinds, tenantKind, unknownFields } from '@podloom/api';
import type { Client } from '@podloom/kube';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  exposing,
  imageList,
  instance,
  quota,
  resources,
  sharedVolume,
  template,
  templateWith,
  tenant,
  workspace,
} from './labs-manifests.ts';
import { allFields, samples } from './labs-samples.ts';
import { connectWithKinds, isAcceptedByUs, type Manifest, mustKnow, namespace, refusalsOf } from './server.ts';

type Case = readonly [sentence: string, manifest: Manifest];

const edges: readonly Case[] = [
  ['a quota of one byte', workspace({ quota: quota({ memory: 1, cpu: '1n' }) })],
  ['a quota in powers of ten', workspace({ quota: quota({ memory: '16e9', cpu: '.5' }) })],
  ['a Workspace of 53 characters', workspace({}, 't'.repeat(53))],
  ['a Tenant of 55 characters', tenant({}, 'm'.repeat(55))],
  ['a Tenant who has all stopped', tenant({ quota: { cpu: 0, memory: '0', instances: 0 } })],
  ['a mail address within the house', tenant({ email: 'root@localhost' })],
  ['a key with a line end after it', tenant({ publicKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 mary@home\n'] })],
  ['a key without a comment, and tabs', tenant({ publicKeys: ['ecdsa-sha2-nistp256\tAAAA'] })],
  ['a key with a comment of many words', tenant({ publicKeys: ['ssh-rsa AAAA the one on my desk'] })],
  ['an image with port, tag and digest', template({ image: `localhost:5000/a/b__c-d:v1@sha256:${'a'.repeat(64)}` })],
  ['an image of one word', template({ image: 'debian' })],
  ['a disk of nothing', template({ resources: resources({ disk: 0 }) })],
  ['ten environments', template(...Array.from({ length: 10 }, (_, i) => ({ name: `e${i}` })))],
  ['an environment of 63 characters', template({ name: 'e'.repeat(63) })],
  ['both ways to say one age, alike', templateWith({ deleteAfter: '14d', cleanup: { deleteAfterCreation: '14d' } })],
  ['seconds', templateWith({ cleanup: { stopAfterInactivity: '30s' } })],
  ['an address that was left empty', instance({ customizationUrls: { statusCheck: '' } })],
  [
    'a namespace that was left empty',
    instance({ 'tenant.crownlabs.polito.it/TenantRef': { name: 'mary.major', namespace: '' } }),
  ],
  [
    'one port of two protocols by two names',
    exposing({ name: 'a', targetPort: 53, port: 0 }, { name: 'b', targetPort: 54, port: 0, protocol: 'UDP' }),
  ],
  ['a SharedVolume by bytes', sharedVolume({ size: 1073741824 })],
  [
    'a list of images with a project',
    imageList({ projectBaseName: 'teaching', images: [{ name: 'a/b', versions: ['1', 'v2.0'] }] }),
  ],
];

const groups = { 'manifests of CrownLabs': samples, 'all fields': allFields, edges };

let client: Client;
beforeAll(async () => {
  client = await connectWithKinds();
});
afterEach(async () => {
  for (const { resource, scope } of labsKinds)
    await client.deleteCollection(resource, scope === 'Namespaced' ? { namespace } : {});
});
afterAll(() => client.close());

const store = (manifest: Manifest) => client.create(mustKnow(manifest).resource, manifest);

/** Without what means nothing: a null, of which the server may keep the field or not. */
const said = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one: unknown) => one ?? undefined)) as unknown;

describe.each(Object.entries(groups))('the API server accepts, of %s,', (_, cases) => {
  it.each(cases)('%s', async (_sentence, manifest) => {
    expect(await refusalsOf(client, manifest)).toEqual([]);
    expect(isAcceptedByUs(manifest)).toBe(true);
  });
});

describe('what was accepted is kept', () => {
  it.each([...samples, ...allFields])('%s', async (_, manifest) => {
    expect(unknownFields(mustKnow(manifest), manifest)).toEqual([]);
    const stored = await store(manifest);
    expect(stored.spec).toMatchObject(said(manifest['spec']) as object);
    expect(said(mustKnow(manifest).parse(manifest).spec)).toEqual(said(stored.spec));
  });

  it('is the same after it was read and written again', async () => {
    for (const [, manifest] of [...samples, ...allFields]) {
      const stored = await store(manifest);
      const { resource } = mustKnow(manifest);
      const again = await client.update(resource, stored);
      expect(again.metadata.resourceVersion).toBe(stored.metadata.resourceVersion);
      await client.delete(resource, manifest.metadata.name);
    }
  });
});

describe('a Template', () => {
  it('is filled in as both eras do it', async () => {
    const { spec } = await store(templateWith({}));
    expect(spec).toMatchObject({
      deleteAfter: 'never',
      cleanup: { deleteAfterCreation: 'never', stopAfterInactivity: 'never', deleteAfterInactivity: 'never' },
      allowPublicExposure: false,
      environmentList: [
        {
          guiEnabled: true,
          persistent: false,
          mode: 'Standard',
          rewriteURL: false,
          disableControls: false,
          mountMyDriveVolume: true,
        },
      ],
    });
  });

  it('tells no selector of nodes from an empty one', async () => {
    const without = await store(templateWith({}, 'without'));
    const empty = await store(templateWith({ nodeSelector: {} }, 'empty'));
    expect(without.spec).not.toHaveProperty('nodeSelector');
    expect(empty.spec).toHaveProperty('nodeSelector', {});
  });
});

describe('the status', () => {
  const time = '2026-03-01T08:00:00Z';
  it('of an Instance is kept as both eras write it', async () => {
    await store(instance({}));
    const status = {
      phase: 'Ready',
      url: 'https://labs.example.com/instance/1/',
      ip: '10.0.0.7',
      initialReadyTime: '1m32s',
      automation: { lastCheckTime: time, terminationTime: time, submissionTime: time },
      nodeName: 'n1',
      nodeSelector: { disk: 'fast' },
      environments: [
        {
          name: 'green',
          phase: 'Ready',
          expositionAccepted: true,
          ip: '10.0.0.7',
          initialReadyTime: '1m32s',
          automation: { lastCheckTime: time },
        },
      ],
      publicExposure: {
        externalIP: '192.0.2.7',
        ports: [{ name: 'web', port: 49152, targetPort: 8080, protocol: 'TCP' }],
        phase: 'Ready',
        message: 'The ports are open',
      },
    };
    const stored = await client.patch(
      instanceKind.resource,
      'sample',
      { status },
      { type: 'merge', subresource: 'status' },
    );
    expect(stored.status).toEqual(status);
    const { items } = await client.list(instanceKind.resource, {
      namespace,
      fieldSelector: 'status.phase=Ready,spec.running=true',
    });
    expect(items).toHaveLength(1);
  });

  it('of a Tenant is kept as both eras write it', async () => {
    await store(tenant({}));
    const status = {
      personalNamespace: { name: 'tenant-mary-major', created: true },
      sandboxNamespace: { created: false },
      failingWorkspaces: ['personal-workspace'],
      subscriptions: { keycloak: 'Ok' },
      keycloak: { userCreated: { name: '5c0e', created: true }, userConfirmed: true, userSynchronized: true },
      ready: true,
      quota: { cpu: '8', memory: '16Gi', instances: 2 },
      personalWorkspaceCreated: false,
    };
    const stored = await client.patch(
      tenantKind.resource,
      'mary.major',
      { status },
      { type: 'merge', subresource: 'status' },
    );
    expect(stored.status).toEqual(status);
  });
});

describe('kubectl get', () => {
  it.each([
    ['workspaces', ['Name', 'Pretty Name', 'Namespace', 'Ready', 'Age']],
    ['tenants', ['Name', 'First Name', 'Last Name', 'Email', 'Namespace', 'Last Login', 'Created', 'Ready', 'Age']],
    ['templates', ['Name', 'Pretty Name', 'Image', 'Type', 'GUI', 'Persistent', 'Mode', 'Age']],
    [
      'instances',
      ['Name', 'Pretty Name', 'Running', 'Phase', 'URL', 'IP Address', 'Exposition Accepted', 'Ready In', 'Age'],
    ],
    ['instancesnapshots', ['Name', 'Phase', 'ImageName', 'Age']],
    ['sharedvolumes', ['Name', 'Pretty Name', 'Size', 'Phase', 'Age']],
    ['imagelists', ['Name', 'Registry Name', 'Age']],
  ])('shows %s', async (plural, titles) => {
    const { version } = labsKinds.find((kind) => kind.plural === plural) ?? {};
    const { text } = await client.request(`/apis/crownlabs.polito.it/${version}/${plural}`, {
      headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    });
    const table = JSON.parse(text) as { columnDefinitions: { name: string }[] };
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(titles);
  });
});

it('more than twenty good manifests are tried', () => {
  expect(Object.values(groups).flat().length).toBeGreaterThan(20);
});
