/** The personal drive of a Tenant on a real API server: its claim, the Job that prepares it, and what leads there. */
import { tenantKind } from '@podloom/api';
import { jobs, persistentVolumeClaims, persistentVolumes, secrets } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { bind, complete, growingClass } from './storage.ts';
import { type LabsWorld, labsWorld, untilReady } from './world.ts';

const tenants = tenantKind.resource;

async function withDrive(args: string[] = []) {
  const world = await labsWorld();
  const john = `john-${world.id}`;
  await world.operator(args);
  await world.tenant(john);
  await untilReady(world, john);
  const claim = { name: `${john}-drive`, namespace: world.driveNamespace };
  return { world, john, claim, namespace: claim.namespace };
}

const driveCondition = async (world: LabsWorld, name: string) =>
  (await world.getTenant(name))?.status?.conditions?.find(({ type }) => type === 'Drive');

describe('a drive', () => {
  it('is prepared by a Job, and found by its address where the volume is NFS', async () => {
    const { world, john, claim, namespace } = await withDrive();
    await bind(world.client, claim, {
      csi: { driver: 'd', volumeHandle: 'h', volumeAttributes: { server: 'nfs', clusterID: 'rook', share: '/vol' } },
    });
    await eventually(async () => {
      const { data } = await world.client.get(secrets, 'mydrive-info', { namespace: `tenant-${john}` });
      expect(data).toEqual({ 'server-name': btoa('nfs.rook'), path: btoa('/vol') });
    });
    const job = await world.client.get(jobs, `${claim.name}-provision`, { namespace });
    expect(job.spec?.template.spec?.containers[0]).toMatchObject({
      name: 'chown-container',
      command: ['chown', '-R', '1010:1010', '/media/mydrive'],
    });
    await complete(world.client, { name: `${claim.name}-provision`, namespace });
    await eventually(async () => {
      const { metadata } = await world.client.get(persistentVolumeClaims, claim.name, { namespace });
      expect(metadata.labels).toMatchObject({ 'crownlabs.polito.it/volume-provisioning': 'completed' });
      expect(await driveCondition(world, john)).toMatchObject({ status: 'True' });
    });
  });

  it('is mirrored into the namespace of its Tenant where the volume has no address', async () => {
    const { world, john, claim } = await withDrive(['--mirror-provisioners=example.org/local']);
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'example.org/local' };
    await bind(world.client, claim, { hostPath: { path: '/drives/john' } }, annotations);
    await eventually(async () => {
      const mirror = await world.client.get(persistentVolumeClaims, `${claim.name}-mirror`, {
        namespace: `tenant-${john}`,
      });
      expect(mirror.spec).toMatchObject({
        volumeName: `tenant-${john}-${claim.name}-mirror`,
        storageClassName: 'pvc-mirror',
      });
      const volume = await world.client.get(persistentVolumes, `tenant-${john}-${claim.name}-mirror`);
      expect(volume.spec).toMatchObject({
        hostPath: { path: '/drives/john' },
        claimRef: { namespace: `tenant-${john}`, name: `${claim.name}-mirror` },
        persistentVolumeReclaimPolicy: 'Retain',
      });
    });
    await world.client.delete(tenants, john);
    await eventually(async () => expect(await world.getTenant(john)).toBeUndefined());
    expect(await world.objects()).toEqual([`PersistentVolumeClaim ${world.driveNamespace}/${claim.name}`]);
  });

  it('says why nothing leads to a volume of another kind, and that it does not shrink', async () => {
    const { world, john, claim } = await withDrive();
    await bind(world.client, claim, { hostPath: { path: '/drives/john' } });
    await eventually(async () =>
      expect(await driveCondition(world, john)).toMatchObject({
        status: 'False',
        message: expect.stringContaining('--mirror-provisioners') as string,
      }),
    );
  });

  it('keeps its size where less is asked for, and says so', async () => {
    const { world, john, claim, namespace } = await withDrive(['--mydrive-pvcs-size=2Gi']);
    const smaller = await world.operator(['--mydrive-pvcs-size=1Gi', `--lease-name=other-${world.id}`]);
    await eventually(async () =>
      expect(await driveCondition(world, john)).toMatchObject({
        message: expect.stringContaining('a volume cannot shrink to 1Gi') as string,
      }),
    );
    await smaller.stop();
    const { spec } = await world.client.get(persistentVolumeClaims, claim.name, { namespace });
    expect(spec?.resources?.requests).toEqual({ storage: '2Gi' });
  });

  it('grows where more is asked for', async () => {
    const world = await labsWorld();
    const john = `john-${world.id}`;
    const claim = { name: `${john}-drive`, namespace: world.driveNamespace };
    const growing = `--mydrive-pvcs-storage-class-name=${await growingClass(world.client, `growing-${world.id}`)}`;
    const first = await world.operator([growing]);
    await world.tenant(john);
    await untilReady(world, john);
    await bind(world.client, claim, { hostPath: { path: '/drives/john' } });
    await first.stop();
    await world.operator([growing, '--mydrive-pvcs-size=3Gi']);
    await eventually(async () => {
      const { spec } = await world.client.get(persistentVolumeClaims, claim.name, { namespace: claim.namespace });
      expect(spec?.resources?.requests).toEqual({ storage: '3Gi' });
    });
  });
});
