/** A SharedVolume: its claim and the Job that prepares it, how far it is, and who still mounts it. */
import type { SharedVolume, SharedVolumeStatus, Template } from '@podloom/api';
import { type VolumeLike, nfsAddress } from '../drive/access.ts';
import { type ClaimLike, isBound, isProvisioned, sharedClaim, sizeChange } from '../drive/claim.ts';
import { type JobLike, jobOutcome, provisioningJob, provisioningJobName } from '../drive/provision.ts';
import { labels } from '../labels.ts';
import type { LabObject, Labels } from '../object.ts';

export const sharedVolumeMark = { key: labels.managedBy, value: 'sharedvolume' } as const;
export const sharedVolumeFinalizer = 'crownlabs.polito.it/shvolctrl-volume-protection';

export interface SharedVolumeOptions {
  readonly storageClass: string;
  readonly targetLabels: Labels;
  readonly provisionImage: string;
}

export const sharedVolumeClaimName = (volume: string): string => `shvol-${volume}`;
export const sharedVolumeJobName = (volume: string): string => provisioningJobName(sharedVolumeClaimName(volume));

export interface SharedVolumeSeen {
  readonly claim?: (ClaimLike & { readonly spec?: { readonly storageClassName?: string | undefined } }) | undefined;
  readonly job?: JobLike | undefined;
  /** Of the claim, once it is bound. */
  readonly volume?: VolumeLike | undefined;
}

/** A claim keeps the class that it was made with, and never shrinks. */
export function sharedVolumeObjects(
  volume: SharedVolume,
  { claim, job }: SharedVolumeSeen,
  { storageClass, targetLabels, provisionImage }: SharedVolumeOptions,
): LabObject[] {
  const { name = '', namespace = '' } = volume.metadata;
  const common: Labels = {
    ...targetLabels,
    [sharedVolumeMark.key]: sharedVolumeMark.value,
    [labels.volumeType]: 'sharedvolume',
  };
  const isDone = jobOutcome(job) === 'complete' || (claim !== undefined && isProvisioned(claim));
  const place = {
    name: sharedVolumeClaimName(name),
    namespace,
    labels: { ...common, [labels.volumeProvisioning]: isDone ? 'completed' : 'pending' },
  };
  const has = claim?.spec?.resources?.requests?.['storage'];
  const size = claim && has !== undefined && sizeChange(claim, volume.spec.size) === 'shrinks' ? has : volume.spec.size;
  const request = { size, storageClass: claim?.spec?.storageClassName ?? storageClass };
  const jobs = claim && (!isDone || job) ? [provisioningJob(place, provisionImage, common)] : [];
  return [sharedClaim(place, request), ...jobs];
}

export interface SharedVolumeState {
  readonly phase: NonNullable<SharedVolumeStatus['phase']>;
  readonly message: string;
  /** Why the size is not what it should be. */
  readonly shrinks?: boolean;
}

export function sharedVolumeState(volume: SharedVolume, { claim, job }: SharedVolumeSeen): SharedVolumeState {
  if (claim && sizeChange(claim, volume.spec.size) === 'shrinks') {
    const has = claim.spec?.resources?.requests?.['storage'];
    return { phase: 'Error', message: `A volume cannot shrink from ${has} to ${volume.spec.size}`, shrinks: true };
  }
  if (!claim || !isBound(claim)) return { phase: 'Pending', message: 'The claim is not bound to a volume yet' };
  const outcome = jobOutcome(job);
  if (isProvisioned(claim) || outcome === 'complete') return { phase: 'Ready', message: 'Environments can mount it' };
  if (outcome === 'failed') {
    return { phase: 'Error', message: 'The Job that prepares it failed; look at its pods, and delete it to try again' };
  }
  return { phase: 'Provisioning', message: 'A Job prepares it' };
}

/** Where it is: for containers that mount NFS themselves, and the volume for all others. */
export function sharedVolumePlace({
  claim,
  volume,
}: SharedVolumeSeen): Pick<SharedVolumeStatus, 'serverAddress' | 'exportPath' | 'pvName'> {
  const pvName = claim && isBound(claim) ? claim.spec?.volumeName : undefined;
  const address = volume && nfsAddress(volume);
  return {
    ...(pvName !== undefined && { pvName }),
    ...(address && { serverAddress: address.server, exportPath: address.path }),
  };
}

/** `namespace/name` of each Template that mounts it. */
export function mountedBy(volume: SharedVolume, templates: readonly Template[]): string[] {
  const { name, namespace } = volume.metadata;
  return templates
    .filter(({ metadata, spec }) =>
      spec.environmentList.some(({ sharedVolumeMounts = [] }) =>
        sharedVolumeMounts.some(
          ({ sharedVolume }) =>
            sharedVolume.name === name && (sharedVolume.namespace ?? metadata.namespace) === namespace,
        ),
      ),
    )
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .toSorted();
}

/** The volumes that a Template mounts. */
export const mountsOf = ({ metadata, spec }: Template): { name: string; namespace: string | undefined }[] =>
  spec.environmentList.flatMap(({ sharedVolumeMounts = [] }) =>
    sharedVolumeMounts.map(({ sharedVolume: { name, namespace } }) => ({
      name,
      namespace: namespace ?? metadata.namespace,
    })),
  );
