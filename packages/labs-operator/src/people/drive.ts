/** The personal drive: makes its claim, lets it grow, and finds out what can lead there from the Tenant's namespace. */
import { Conflict, type Tenant, Unavailable } from '@podloom/api';
import {
  type PersistentVolumeClaim,
  isAlreadyExists,
  isNotFound,
  namespaces,
  persistentVolumeClaims,
  unlessGone,
} from '@podloom/kube';
import {
  type ClaimLike,
  type LabObject,
  driveClaim,
  driveLabels,
  drivePlan,
  driveClaimName,
  isBound,
  isDriveOf,
  isProvisioned,
  jobOutcome,
  provisioningJobName,
  sizeChange,
} from '@podloom/labs';
import { fieldManager } from '../settings.ts';
import type { PeopleContext } from './context.ts';
import type { Failures } from '../failures.ts';

export interface Drive {
  /** What the Tenant has besides, to be applied with the rest. */
  readonly objects: readonly LabObject[];
  readonly isReady: boolean;
  /** For the Tenant's status. */
  readonly message: string;
}

export const noDrive: Drive = { objects: [], isReady: false, message: 'There is no drive without a namespace' };
const failedDrive: Drive = { objects: [], isReady: false, message: 'The claim of the drive could not be made' };

export async function ensureDrive(
  tenant: Tenant,
  context: PeopleContext,
  failures: Failures,
  signal: AbortSignal,
): Promise<Drive> {
  const { caches, options } = context;
  const name = tenant.metadata.name ?? '';
  const claimName = driveClaimName(name);
  const { namespace } = options.drive;
  const what = `PersistentVolumeClaim ${namespace}/${claimName}`;
  const claim = await failures.attempt(what, () => ensureClaim(name, context, signal));
  if (!claim) return failedDrive;
  const job = caches.jobs.get(provisioningJobName(claimName), namespace);
  const outcome = jobOutcome(job);
  await failures.attempt(what, () => changeClaim(claim, name, outcome === 'complete', context, signal));
  if (outcome === 'failed' && !isProvisioned(claim)) {
    const error = new Unavailable(
      'DRIVE_PROVISION',
      `Job ${namespace}/${job?.metadata.name} failed; look at its pods, and delete it to try again`,
    );
    failures.add([{ object: what, error }]);
  }
  const volume = isBound(claim) ? caches.volumes.get(claim.spec?.volumeName ?? '') : undefined;
  const plan = drivePlan(name, { claim, volume, hasJob: job !== undefined }, options.drive);
  const shrinks = sizeChange(claim, options.drive.size) === 'shrinks';
  const kept = shrinks ? `It keeps its size, because a volume cannot shrink to ${options.drive.size}. ` : '';
  const isReady =
    volume !== undefined && plan.problem === undefined && (isProvisioned(claim) || outcome === 'complete');
  const waits = volume === undefined ? `${what} is not bound yet` : `Job ${job?.metadata.name ?? ''} prepares it`;
  return {
    objects: plan.objects.filter((one) => !isReleased(one, context)),
    isReady,
    message: `${kept}${plan.problem ?? (isReady ? 'The drive is ready' : waits)}`,
  };
}

/** The claim of the mirror was deleted: this volume can be bound to no other, so it goes, and is made again when it has gone. */
const isReleased = ({ kind, metadata }: LabObject, { caches }: PeopleContext): boolean =>
  kind === 'PersistentVolume' && caches.volumes.get(metadata.name)?.status?.phase === 'Released';

async function ensureClaim(tenant: string, context: PeopleContext, signal: AbortSignal): Promise<ClaimLike> {
  const { client, caches, options } = context;
  const { namespace } = options.drive;
  const found = caches.claims.get(driveClaimName(tenant), namespace);
  if (found) {
    if (isDriveOf(found, tenant)) return found;
    const owner = found.metadata.labels?.['crownlabs.polito.it/name'];
    throw new Conflict(
      'DRIVE_OF_ANOTHER',
      `The drive belongs to Tenant ${owner}, whose name differs only by dots and dashes`,
    );
  }
  const wanted = driveClaim(tenant, options.drive);
  const make = () =>
    client.create(persistentVolumeClaims, wanted, {
      namespace,
      fieldManager,
      signal,
    });
  try {
    return await make();
  } catch (error) {
    if (isAlreadyExists(error)) return readClaim(tenant, context, signal);
    if (!isNotFound(error)) throw error;
    await unlessExists(() =>
      client.create(
        namespaces,
        { metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } },
        { fieldManager, signal },
      ),
    );
    return await make();
  }
}

/** The cache does not show it yet, or it lacks our labels. */
async function readClaim(tenant: string, { client, options }: PeopleContext, signal: AbortSignal): Promise<ClaimLike> {
  const { namespace } = options.drive;
  const claim = await client.get(persistentVolumeClaims, driveClaimName(tenant), { namespace, signal });
  if (isDriveOf(claim, tenant)) return claim;
  throw new Conflict('DRIVE_OF_ANOTHER', 'The drive belongs to a Tenant whose name differs only by dots and dashes');
}

/** Labels, a larger size, and no controller: the claim of an earlier program would go with its Tenant. */
async function changeClaim(
  claim: ClaimLike,
  tenant: string,
  isComplete: boolean,
  { client, options }: PeopleContext,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, size } = options.drive;
  const { labels: has = {}, ownerReferences = [] } = (claim as PersistentVolumeClaim).metadata;
  const wanted = driveLabels(tenant, options.drive, isComplete || isProvisioned(claim) ? 'completed' : 'pending');
  const labels = Object.entries(wanted).filter(([key, value]) => has[key] !== value);
  const grows = sizeChange(claim, size) === 'grows';
  if (labels.length === 0 && !grows && ownerReferences.length === 0) return;
  const patch = {
    metadata: { labels: Object.fromEntries(labels), ...(ownerReferences.length > 0 && { ownerReferences: null }) },
    ...(grows && { spec: { resources: { requests: { storage: size } } } }),
  };
  await client.patch(persistentVolumeClaims, driveClaimName(tenant), patch, {
    type: 'merge',
    namespace,
    fieldManager,
    signal,
  });
}

/** With what is on it. */
export async function deleteDrive(tenant: Tenant, context: PeopleContext, signal: AbortSignal): Promise<void> {
  const { client, options } = context;
  const name = tenant.metadata.name ?? '';
  const { namespace } = options.drive;
  const claim = await unlessGone(() => client.get(persistentVolumeClaims, driveClaimName(name), { namespace, signal }));
  if (!claim || !isDriveOf(claim, name)) return;
  const { uid } = claim.metadata;
  await unlessGone(() => client.delete(persistentVolumeClaims, driveClaimName(name), { namespace, uid, signal }));
}

async function unlessExists(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
