/** Claims of drives and shared volumes: how they are asked for, and what becomes of a change of size. */
import { type Quantity, quantityInNanos } from '@podloom/api';
import { labels } from '../labels.ts';
import { type LabObject, type Labels, type ObjectPlace, object } from '../object.ts';

/** What we read of a PersistentVolumeClaim. */
export interface ClaimLike {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly labels?: Labels | undefined;
  };
  readonly spec?: {
    readonly resources?: { readonly requests?: Readonly<Record<string, Quantity>> | undefined } | undefined;
    readonly volumeName?: string | undefined;
    readonly volumeMode?: string | undefined;
    readonly accessModes?: readonly string[] | undefined;
  };
  readonly status?: { readonly phase?: string | undefined };
}

export interface ClaimRequest {
  readonly storageClass: string;
  readonly size: Quantity;
}

/** Many pods on many nodes use it at the same time, and as files. */
export const sharedClaim = (place: ObjectPlace, request: ClaimRequest): LabObject =>
  object('v1', 'PersistentVolumeClaim', place, {
    spec: {
      accessModes: ['ReadWriteMany'],
      volumeMode: 'Filesystem',
      storageClassName: request.storageClass,
      resources: { requests: { storage: String(request.size) } },
    },
  });

export type SizeChange = 'same' | 'grows' | 'shrinks';

export function sizeChange(claim: ClaimLike, wanted: Quantity): SizeChange {
  const has = quantityInNanos(claim.spec?.resources?.requests?.['storage'] ?? 0);
  const wants = quantityInNanos(wanted);
  if (wants === has) return 'same';
  return wants > has ? 'grows' : 'shrinks';
}

export const isBound = (claim: ClaimLike): boolean => claim.status?.phase === 'Bound';
export const isProvisioned = (claim: ClaimLike): boolean =>
  claim.metadata.labels?.[labels.volumeProvisioning] === 'completed';
