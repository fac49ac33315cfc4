/** The personal drive of a Tenant: a claim in a namespace of its own, where it outlives the Tenant, and what leads there from the Tenant's namespace. */
import { labels } from '../labels.ts';
import { driveClaimName, tenantNamespace } from '../names.ts';
import { type LabObject, type Labels, object } from '../object.ts';
import { type ClaimLike, type ClaimRequest, isProvisioned, sharedClaim } from './claim.ts';
import { type NfsAddress, type VolumeLike, mirrorObjects, mirrorProblem, nfsAddress } from './access.ts';
import { provisioningJob } from './provision.ts';

export const driveInfoName = 'mydrive-info';

export interface DriveOptions extends ClaimRequest {
  readonly namespace: string;
  readonly targetLabels: Labels;
  readonly provisionImage: string;
  readonly mirrorClass: string;
  readonly mirrorProvisioners: readonly string[];
}

/** Without a controller: it stays when the Tenant goes. */
export function driveClaim(tenant: string, options: DriveOptions): LabObject {
  return sharedClaim(
    {
      name: driveClaimName(tenant),
      namespace: options.namespace,
      labels: driveLabels(tenant, options, 'pending'),
      annotations: {
        'pmp.crownlabs.polito.it/required-target-ns-labels': `${labels.type}=tenant,${labels.name}=${tenant}`,
      },
    },
    options,
  );
}

export const driveLabels = (
  tenant: string,
  { targetLabels }: DriveOptions,
  provisioning: 'pending' | 'completed',
): Labels => ({
  ...targetLabels,
  [labels.managedBy]: 'tenant',
  [labels.name]: tenant,
  [labels.volumeProvisioning]: provisioning,
});

/** Two Tenants whose names differ by a dot only have one name for their drives: the data belongs to the first. */
export const isDriveOf = (claim: ClaimLike, tenant: string): boolean =>
  (claim.metadata.labels?.[labels.name] ?? tenant) === tenant;

export interface DriveSeen {
  readonly claim: ClaimLike;
  /** Of the claim, once it is bound. */
  readonly volume?: VolumeLike | undefined;
  readonly hasJob: boolean;
}

export interface DrivePlan {
  readonly objects: readonly LabObject[];
  /** Why nothing leads to the drive, although it is there. */
  readonly problem?: string | undefined;
}

export function drivePlan(tenant: string, { claim, volume, hasJob }: DriveSeen, options: DriveOptions): DrivePlan {
  const common: Labels = { ...options.targetLabels, [labels.managedBy]: 'tenant' };
  const origin = { name: driveClaimName(tenant), namespace: options.namespace };
  // A finished Job stays until Kubernetes removes it, so that people can look at it.
  const jobs = !isProvisioned(claim) || hasJob ? [provisioningJob(origin, options.provisionImage, common)] : [];
  if (!volume) return { objects: jobs };
  const namespace = tenantNamespace(tenant);
  const address = nfsAddress(volume);
  const infos = address ? [driveInfo(address, namespace, common)] : [];
  const problem = mirrorProblem(volume, options.mirrorProvisioners);
  const isMirrored = problem === undefined && (!address || volume.spec?.nfs !== undefined);
  const mirrors = isMirrored
    ? mirrorObjects({ claim: origin, volume }, namespace, { storageClass: options.mirrorClass, common })
    : [];
  const leadsNowhere = infos.length + mirrors.length === 0;
  return { objects: [...jobs, ...infos, ...mirrors], ...(leadsNowhere && { problem }) };
}

const driveInfo = ({ server, path }: NfsAddress, namespace: string, common: Labels): LabObject =>
  object(
    'v1',
    'Secret',
    { name: driveInfoName, namespace, labels: common },
    {
      type: 'Opaque',
      data: { 'server-name': base64(server), path: base64(path) },
    },
  );

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
