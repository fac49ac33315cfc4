/**
 * What the caches keep of objects of which a cluster has many: what is read of them, and nothing else. Whoever needs more of one asks the server for it.
 */
import type { KubeObject, PodInterfaceStatus, PodNetwork } from '@podloom/api';
import type { Node, Pod } from '@podloom/kube';
import { annotationsRead } from '@podloom/network';
import { leavingAnnotation } from './pod-network.ts';

type Metadata = KubeObject['metadata'];

function keepMetadata(metadata: Metadata, annotations: readonly string[]): Metadata {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const read = Object.entries(metadata.annotations ?? {}).filter(([key]) => annotations.includes(key));
  return {
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(namespace !== undefined && { namespace }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(read.length > 0 && { annotations: Object.fromEntries(read) }),
  };
}

/** Of its annotations those that a source reads. */
export const keepPod = ({ apiVersion, kind, metadata, spec, status }: Pod): Pod => ({
  apiVersion,
  kind,
  metadata: { ...keepMetadata(metadata, annotationsRead), ...(metadata.labels && { labels: metadata.labels }) },
  spec: {
    containers: [],
    ...(spec?.nodeName && { nodeName: spec.nodeName }),
    ...(spec?.hostNetwork && { hostNetwork: true }),
  },
  status: { ...(status?.phase && { phase: status.phase }) },
});

/** The spec is kept whole: it is compared with what the pod is to have now. */
export function keepPodNetwork({ apiVersion, kind, metadata, spec, status }: PodNetwork): PodNetwork {
  const { generation } = metadata;
  const kept = { ...keepMetadata(metadata, [leavingAnnotation]), ...(generation !== undefined && { generation }) };
  if (!status) return { apiVersion, kind, metadata: kept, spec };
  const { observedGeneration, interfaces, primary } = status;
  const ready = status.conditions?.filter(({ type }) => type === 'Ready');
  return {
    apiVersion,
    kind,
    metadata: kept,
    spec,
    status: {
      ...(observedGeneration !== undefined && { observedGeneration }),
      ...(ready && ready.length > 0 && { conditions: ready }),
      ...(interfaces && { interfaces: interfaces.map(keepInterface) }),
      ...(primary && { primary }),
    },
  };
}

const keepInterface = ({
  key,
  name,
  hostName,
  addresses,
  bridgeDevice,
  state,
  reason,
  message,
}: PodInterfaceStatus): PodInterfaceStatus => ({
  key,
  state,
  ...(name !== undefined && { name }),
  ...(hostName !== undefined && { hostName }),
  ...(addresses && { addresses }),
  ...(bridgeDevice !== undefined && { bridgeDevice }),
  ...(reason !== undefined && { reason }),
  ...(message !== undefined && { message }),
});

export const keepNode = ({ apiVersion, kind, metadata, spec = {}, status }: Node): Node => ({
  apiVersion,
  kind,
  metadata: { ...keepMetadata(metadata, []), ...(metadata.labels && { labels: metadata.labels }) },
  spec,
  status: { ...(status?.addresses && { addresses: status.addresses }) },
});
