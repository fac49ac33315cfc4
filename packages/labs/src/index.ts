/** The door of the package. It runs in the browser: no Node built-ins behind it. */
export { type Labels, type LabObject } from './object.ts';
export { hasLabels, labels, parseLabels, tenantFinalizer } from './labels.ts';
export { knownNames, knownNamesName } from './known-names.ts';
export {
  canonicalName,
  driveClaimName,
  sandboxNamespace,
  tenantNamespace,
  workspaceGroup,
  workspaceNamespace,
} from './names.ts';
export { workspaceLabels, workspaceMark, workspaceObjects } from './workspace/objects.ts';
export { settledCandidates, withoutWorkspace } from './workspace/enrol.ts';
export { type RosterEntry, rosterName, rosterObjects } from './workspace/roster.ts';
export {
  type CountedEnrolment,
  type Enrolments,
  enrolmentsOf,
  missingBaseWorkspaces,
  tenantLabels,
} from './tenant/enrolment.ts';
export { type QuotaCaps, tenantQuota } from './tenant/quota.ts';
export { type TenantObjectOptions, tenantMark, tenantObjects } from './tenant/objects.ts';
export {
  type SharedVolumeOptions,
  type SharedVolumeSeen,
  type SharedVolumeState,
  mountedBy,
  mountsOf,
  sharedVolumeClaimName,
  sharedVolumeFinalizer,
  sharedVolumeJobName,
  sharedVolumeMark,
  sharedVolumeObjects,
  sharedVolumePlace,
  sharedVolumeState,
} from './shared-volume/volume.ts';
export { keepAlive } from './tenant/keep-alive.ts';
export { type ClaimLike, isBound, isProvisioned, sizeChange } from './drive/claim.ts';
export { jobOutcome, provisioningJobName } from './drive/provision.ts';
export { type VolumeLike } from './drive/access.ts';
export { type DriveOptions, driveClaim, driveLabels, drivePlan, isDriveOf } from './drive/drive.ts';
