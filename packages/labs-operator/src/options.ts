/** The settings of people, read once from their texts. */
import { InvalidInput, isQuantity } from '@podloom/api';
import { type DriveOptions, type Labels, type QuotaCaps, parseLabels } from '@podloom/labs';
import type { ImageListsOptions } from './image-list/part.ts';
import type { LabsOperatorSettings } from './settings.ts';
import type { VolumesOptions } from './volumes/part.ts';

export interface PeopleOptions {
  /** Namespace of the operator itself. */
  readonly namespace: string;
  readonly serves: { readonly tenants: boolean; readonly workspaces: boolean };
  readonly targetLabels: Labels;
  readonly namespaceLabels: Labels;
  readonly sandboxClusterRole: string;
  readonly baseWorkspaces: readonly string[];
  readonly caps: QuotaCaps;
  readonly keepAliveMs: number;
  readonly waitsForVerification: boolean;
  readonly concurrency: number;
  readonly again: { readonly minMs: number; readonly maxMs: number };
  readonly drive: DriveOptions;
  readonly deletesDrives: boolean;
}

export function peopleOptions(settings: LabsOperatorSettings): PeopleOptions {
  const targetLabels = parseLabels(settings.targetLabel);
  const { mydrivePvcsSize: size } = settings;
  if (!isQuantity(size))
    throw new InvalidInput('MYDRIVE_SIZE', `--mydrive-pvcs-size: "${size}" is no size such as 1Gi`);
  return {
    namespace: settings.namespace,
    serves: { tenants: settings.enableTenant, workspaces: settings.enableWorkspace },
    targetLabels,
    namespaceLabels: parseLabels(settings.tenantNamespaceCommonLabels),
    sandboxClusterRole: settings.sandboxClusterRole,
    baseWorkspaces: listed(settings.baseWorkspaces),
    caps: { cpu: settings.capCpu, memoryGiga: settings.capMemoryGiga, instances: settings.capInstance },
    keepAliveMs: settings.tenantNsKeepAlive,
    waitsForVerification: settings.waitUserVerification,
    concurrency: settings.maxConcurrentReconciles,
    again: againOptions(settings),
    deletesDrives: settings.mydrivePvcsDelete,
    drive: {
      namespace: settings.mydrivePvcsNamespace,
      storageClass: settings.mydrivePvcsStorageClassName,
      size,
      targetLabels,
      provisionImage: settings.mydriveProvisionImage,
      mirrorClass: settings.mirrorStorageClass,
      mirrorProvisioners: listed(settings.mirrorProvisioners),
    },
  };
}

export function volumesOptions(settings: LabsOperatorSettings): VolumesOptions {
  return {
    storageClass: settings.sharedVolumeStorageClass,
    targetLabels: parseLabels(settings.targetLabel),
    provisionImage: settings.mydriveProvisionImage,
    concurrency: settings.maxConcurrentReconcilesShvol,
    again: againOptions(settings),
  };
}

export function imageListsOptions(settings: LabsOperatorSettings): ImageListsOptions {
  const seconds = settings.imageListUpdateInterval || 300;
  return { file: settings.imageListConfigFile, intervalMs: seconds * 1_000 };
}

/** Between which times an object is looked at again. */
function againOptions({ rescheduleMin: minMs, rescheduleMax: maxMs }: LabsOperatorSettings) {
  if (maxMs < minMs) throw new InvalidInput('RESCHEDULE', '--reschedule-max is less than --reschedule-min');
  return { minMs, maxMs };
}

const listed = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
