/** How a volume reaches the namespaces that use it: by the address of its NFS server, or by a second volume that leads to the same storage. */
import { labels } from '../labels.ts';
import { mirrorClaimName } from '../names.ts';
import { type LabObject, type Labels, object } from '../object.ts';

/** What we read of a PersistentVolume. */
export interface VolumeLike {
  readonly metadata: { readonly name?: string | undefined; readonly annotations?: Labels | undefined };
  readonly spec?: {
    readonly accessModes?: readonly string[] | undefined;
    readonly volumeMode?: string | undefined;
    readonly mountOptions?: readonly string[] | undefined;
    readonly nodeAffinity?: unknown;
    readonly csi?: { readonly volumeAttributes?: Labels | undefined } | undefined;
    readonly nfs?: { readonly server: string; readonly path: string; readonly readOnly?: boolean } | undefined;
    readonly hostPath?: unknown;
    readonly local?: unknown;
  };
}

export interface NfsAddress {
  readonly server: string;
  readonly path: string;
}

/** The address, where the volume is NFS. A CSI driver says it in the attributes of the volume. */
export function nfsAddress({ spec = {} }: VolumeLike): NfsAddress | undefined {
  if (spec.nfs) return { server: spec.nfs.server, path: spec.nfs.path };
  const { server, clusterID, share } = spec.csi?.volumeAttributes ?? {};
  if (!server || !share) return undefined;
  return { server: clusterID ? `${server}.${clusterID}` : server, path: share };
}

/** Why no mirror can be made; nothing, where one can. Volumes without CSI only of provisioners that the administrator lists. */
export function mirrorProblem(volume: VolumeLike, provisioners: readonly string[]): string | undefined {
  const { spec = {}, metadata } = volume;
  if (!spec.accessModes?.includes('ReadWriteMany')) return `Volume ${metadata.name} is not ReadWriteMany`;
  if (spec.csi) return undefined;
  const provisioner = metadata.annotations?.['pv.kubernetes.io/provisioned-by'] ?? '';
  if ((spec.nfs ?? spec.hostPath ?? spec.local) && provisioners.includes(provisioner)) return undefined;
  return `Volume ${metadata.name} is neither NFS nor CSI, and its provisioner "${provisioner}" is not in --mirror-provisioners`;
}

export interface MirrorOrigin {
  readonly claim: { readonly name: string; readonly namespace: string };
  readonly volume: VolumeLike;
}

/** A volume that leads to the same storage, and a claim of it in another namespace. Deleting them does nothing to the data. */
export function mirrorObjects(
  { claim, volume: { metadata, spec = {} } }: MirrorOrigin,
  namespace: string,
  { storageClass, common }: { readonly storageClass: string; readonly common: Labels },
): LabObject[] {
  const name = mirrorClaimName(claim.name);
  const volumeName = `${namespace}-${name}`;
  const { mountOptions, nodeAffinity, csi, nfs, hostPath, local, volumeMode = 'Filesystem' } = spec;
  const marks: Labels = {
    ...common,
    [labels.mirroredVolume]: (metadata.name ?? '').slice(0, 63),
    [labels.mirroredClaim]: claim.name.slice(0, 63),
    [labels.mirroredClaimNamespace]: claim.namespace,
  };
  const shared = { accessModes: ['ReadWriteMany'], volumeMode, storageClassName: storageClass };
  return [
    object(
      'v1',
      'PersistentVolume',
      { name: volumeName, labels: marks },
      {
        spec: {
          ...shared,
          capacity: { storage: '1' },
          persistentVolumeReclaimPolicy: 'Retain',
          claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name },
          ...(mountOptions && { mountOptions }),
          ...(nodeAffinity !== undefined && { nodeAffinity }),
          ...(csi && { csi }),
          ...(nfs && { nfs }),
          ...(hostPath !== undefined && { hostPath }),
          ...(local !== undefined && { local }),
        },
      },
    ),
    object(
      'v1',
      'PersistentVolumeClaim',
      { name, namespace, labels: { ...marks, [labels.volumeType]: 'mirror' } },
      {
        spec: { ...shared, volumeName, resources: { requests: { storage: '1' } } },
      },
    ),
  ];
}
