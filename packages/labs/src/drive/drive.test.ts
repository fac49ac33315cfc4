import { describe, expect, it } from 'vitest';
import { type ClaimLike, sizeChange } from './claim.ts';
import { type DriveOptions, driveClaim, drivePlan, isDriveOf } from './drive.ts';
import type { VolumeLike } from './access.ts';

const options: DriveOptions = {
  namespace: 'mydrive-pvcs',
  size: '1Gi',
  storageClass: 'rook-nfs',
  targetLabels: {},
  provisionImage: 'busybox',
  mirrorClass: 'pvc-mirror',
  mirrorProvisioners: ['rancher.io/local-path'],
};
const claim = driveClaim('john.doe', options) as unknown as ClaimLike;
const volume = (spec: object, provisioner = ''): VolumeLike => ({
  metadata: { name: 'pv', annotations: { 'pv.kubernetes.io/provisioned-by': provisioner } },
  spec: { accessModes: ['ReadWriteMany'], ...spec },
});
const planFor = (found?: VolumeLike, more: object = {}) =>
  drivePlan('john.doe', { claim, volume: found, hasJob: false, ...more }, options);
const kinds = (found?: VolumeLike) => planFor(found).objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

describe('the drive', () => {
  const job = 'Job john-doe-drive-provision';
  const mirror = [
    'PersistentVolume tenant-john-doe-john-doe-drive-mirror',
    'PersistentVolumeClaim john-doe-drive-mirror',
  ];

  it.each([
    ['is prepared first', undefined, [job]],
    [
      'is found by its address where it is NFS',
      volume({ nfs: { server: 's', path: '/p' } }),
      [job, 'Secret mydrive-info'],
    ],
    [
      'is found by the address that a CSI driver says',
      volume({ csi: { volumeAttributes: { server: 's', clusterID: 'ns', share: '/p' } } }),
      [job, 'Secret mydrive-info'],
    ],
    ['is mirrored where CSI says no address', volume({ csi: { driver: 'd' } }), [job, ...mirror]],
    [
      'is mirrored where the provisioner is listed',
      volume({ hostPath: {} }, 'rancher.io/local-path'),
      [job, ...mirror],
    ],
    [
      'is both for NFS of a provisioner that is listed',
      volume({ nfs: { server: 's', path: '/p' } }, 'rancher.io/local-path'),
      [job, 'Secret mydrive-info', ...mirror],
    ],
    ['is left alone where nothing can lead there', volume({ hostPath: {} }, 'example.org/other'), [job]],
  ] as const)('%s', (_, found, expected) => {
    expect(kinds(found)).toEqual(expected);
  });

  it('says why nothing leads there', () => {
    expect(planFor(volume({ hostPath: {} }, 'example.org/other')).problem).toContain('example.org/other');
    expect(planFor(volume({ csi: {}, accessModes: ['ReadWriteOnce'] })).problem).toContain('not ReadWriteMany');
  });

  it('has server and path in the Secret, as the seed names them', () => {
    const attributes = { server: 'nfs', clusterID: 'rook', share: '/vol/1' };
    const secret = planFor(volume({ csi: { volumeAttributes: attributes } })).objects.at(-1);
    expect(secret?.['data']).toEqual({ 'server-name': btoa('nfs.rook'), path: btoa('/vol/1') });
  });

  it('is prepared once, but a finished Job stays as long as it is there', () => {
    const ready = { ...claim, metadata: { labels: { 'crownlabs.polito.it/volume-provisioning': 'completed' } } };
    expect(planFor(undefined, { claim: ready }).objects).toEqual([]);
    expect(planFor(undefined, { claim: ready, hasJob: true }).objects).toHaveLength(1);
  });

  it('belongs to one Tenant, though two names can come to the same', () => {
    expect(isDriveOf(claim, 'john.doe')).toBe(true);
    expect(isDriveOf(claim, 'john-doe')).toBe(false);
    expect(isDriveOf({ metadata: {} }, 'john-doe')).toBe(true);
  });

  it.each([
    ['1Gi', 'same'],
    ['1024Mi', 'same'],
    ['2Gi', 'grows'],
    ['1G', 'shrinks'],
  ])('of 1Gi, asked for as %s, %s', (size, expected) => {
    expect(sizeChange(claim, size)).toBe(expected);
  });
});
