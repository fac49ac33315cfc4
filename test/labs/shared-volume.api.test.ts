/** What a SharedVolume comes to on a real API server. */
import { type SharedVolume, sharedVolumeKind, templateKind } from '@podloom/api';
import { coreEvents, namespaces, persistentVolumeClaims, resourceQuotas, unlessGone } from '@podloom/kube';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { bind, complete, growingClass } from './storage.ts';
import { type LabsWorld, labsWorld } from './world.ts';

const { resource } = sharedVolumeKind;

interface Scene {
  readonly world: LabsWorld;
  readonly namespace: string;
  readonly claim: { readonly name: string; readonly namespace: string };
  readonly volume: () => Promise<SharedVolume | undefined>;
  readonly ask: (size: string) => Promise<unknown>;
  readonly untilPhase: (phase: string) => Promise<void>;
  readonly eventsOf: () => Promise<string[]>;
}

/** A namespace as a Workspace has it, and a SharedVolume in it. */
async function scene(size: string): Promise<Scene> {
  const world = await labsWorld();
  const { client, id, labels } = world;
  const namespace = `course-${id}`;
  await client.create(namespaces, { metadata: { name: namespace, labels } });
  const storageClass = await growingClass(client, `growing-${id}`);
  await world.operator([`--shared-volume-storage-class=${storageClass}`]);
  const ask = (wanted: string) =>
    client.apply(
      resource,
      { metadata: { name: 'lemon', namespace }, spec: { prettyName: 'Lemon', size: wanted } },
      { fieldManager: 'teacher', namespace, force: true },
    );
  const volume = () => unlessGone(() => client.get(resource, 'lemon', { namespace }));
  onTestFinished(async () => {
    const free = { metadata: { finalizers: null } };
    await unlessGone(() => client.patch(resource, 'lemon', free, { type: 'merge', namespace }));
    await unlessGone(() => client.delete(resource, 'lemon', { namespace }));
  });
  await ask(size);
  return {
    world,
    namespace,
    claim: { name: 'shvol-lemon', namespace },
    volume,
    ask,
    untilPhase: (phase) => eventually(async () => expect((await volume())?.status?.phase).toBe(phase)),
    eventsOf: async () => {
      const { items } = await client.list(coreEvents, { namespace, fieldSelector: 'involvedObject.name=lemon' });
      return items.map(({ reason = '' }) => reason);
    },
  };
}

describe('a SharedVolume', () => {
  it('is bound, prepared and then ready, grows, and refuses to shrink', async () => {
    const { world, namespace, claim, volume, ask, untilPhase, eventsOf } = await scene('1Gi');
    const { client } = world;
    await untilPhase('Pending');
    const made = await client.get(persistentVolumeClaims, claim.name, { namespace });
    expect(made.metadata).toMatchObject({
      labels: {
        ...world.labels,
        'crownlabs.polito.it/managed-by': 'sharedvolume',
        'crownlabs.polito.it/volume-type': 'sharedvolume',
      },
      ownerReferences: [{ kind: 'SharedVolume', name: 'lemon', controller: true }],
    });
    const pvName = await bind(client, claim, { nfs: { server: 'nfs.example.org', path: '/lemon' } });
    await untilPhase('Provisioning');
    await complete(client, { name: 'shvol-lemon-provision', namespace });
    await untilPhase('Ready');
    expect((await volume())?.status).toMatchObject({ pvName, serverAddress: 'nfs.example.org', exportPath: '/lemon' });
    expect((await volume())?.metadata.finalizers).toEqual(['crownlabs.polito.it/shvolctrl-volume-protection']);

    const sizeOf = async () =>
      (await client.get(persistentVolumeClaims, claim.name, { namespace })).spec?.resources?.requests;
    await ask('2Gi');
    await eventually(async () => expect(await sizeOf()).toEqual({ storage: '2Gi' }));
    await ask('1Gi');
    await untilPhase('Error');
    expect((await volume())?.status?.conditions?.[0]?.message).toContain('cannot shrink from 2Gi to 1Gi');
    await eventually(async () => expect(await eventsOf()).toContain('InvalidSize'));
    expect(await sizeOf()).toEqual({ storage: '2Gi' });
    await ask('2Gi');
    await untilPhase('Ready');
  });

  it('stays while a Template mounts it', async () => {
    const { world, namespace, claim, volume, untilPhase, eventsOf } = await scene('1Gi');
    const { client } = world;
    await untilPhase('Pending');
    await bind(client, claim, { csi: { driver: 'd', volumeHandle: 'h' } });
    await untilPhase('Provisioning');
    await complete(client, { name: 'shvol-lemon-provision', namespace });
    await untilPhase('Ready');
    const environment = {
      name: 'main',
      image: 'example.org/tea:1',
      environmentType: 'Container',
      resources: { cpu: 1, reservedCPUPercentage: 10, memory: '1Gi' },
      sharedVolumeMounts: [{ sharedVolume: { name: 'lemon' }, mountPath: '/lemon', readOnly: true }],
    };
    await client.apply(
      templateKind.resource,
      {
        metadata: { name: 'green', namespace },
        spec: { prettyName: 'Green', description: 'Tea', environmentList: [environment] },
      } as never,
      { fieldManager: 'teacher', namespace },
    );
    await client.delete(resource, 'lemon', { namespace });
    await untilPhase('Deleting');
    await eventually(async () => expect(await eventsOf()).toContain('DeletionBlocked'));
    expect((await volume())?.status?.conditions?.[0]?.message).toContain(`${namespace}/green`);
    await client.delete(templateKind.resource, 'green', { namespace });
    await eventually(async () => expect(await volume()).toBeUndefined());
    expect(await world.objects()).toEqual([`Namespace ${namespace}`]);
  });

  it('says when the quota has no room for it, and tries again when it changes', async () => {
    const world = await labsWorld();
    const namespace = `course-${world.id}`;
    const { client } = world;
    await client.create(namespaces, { metadata: { name: namespace, labels: world.labels } });
    const quota = { metadata: { name: 'small', namespace }, spec: { hard: { 'requests.storage': '1Gi' } } };
    await client.create(resourceQuotas, quota);
    const status = { status: { hard: quota.spec.hard, used: { 'requests.storage': '0' } } };
    await client.patch(resourceQuotas, 'small', status, { type: 'merge', namespace, subresource: 'status' });
    await world.operator();
    const ask = (size: string) =>
      client.apply(
        resource,
        { metadata: { name: 'lemon', namespace }, spec: { prettyName: 'Lemon', size } },
        { fieldManager: 'teacher', namespace, force: true },
      );
    onTestFinished(() => client.delete(resource, 'lemon', { namespace }));
    const phase = async () => (await client.get(resource, 'lemon', { namespace })).status?.phase;
    await ask('2Gi');
    await eventually(async () => expect(await phase()).toBe('ResourceQuotaExceeded'));
    await ask('1Gi');
    await eventually(async () => expect(await phase()).toBe('Pending'));
  });
});
