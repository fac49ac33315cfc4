/** Objects with all that a server, kubelet and agent write into them, as text and back, so that nothing is shared between two of them. */
import type { PodNetwork } from '@podloom/api';
import type { Node, Pod } from '@podloom/kube';

const since = '2030-01-01T00:00:00Z';
const uid = (kind: number, i: number): string => `0000000${kind}-4a56-4d06-9c1b-${String(i).padStart(12, '0')}`;
const node = (i: number): string => `node-${i % 400}`;
const anew = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const metadata = (kind: number, i: number) => ({
  name: `pod-${i}`,
  namespace: `team-${i % 100}`,
  uid: uid(kind, i),
  resourceVersion: String(100_000 + i),
  generation: 1,
  creationTimestamp: since,
  deletionTimestamp: since,
  ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: `owner-${i}`, uid: uid(3, i), controller: true }],
  finalizers: ['example.org/keep'],
  managedFields: [
    {
      manager: 'someone',
      operation: 'Update' as const,
      time: since,
      fieldsV1: Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`f:field-${n}`, { '.': {} }])),
    },
  ],
});

export const clutteredPodNetwork = (i: number): PodNetwork => {
  const links = [0, 1].map((n) => ({
    key: `PodConfig/lab/net${n}`,
    address: `10.${n}.${(i >> 8) & 255}.${i & 255}/16`,
    name: `net${n}${10_000 + i}`,
  }));
  return anew({
    apiVersion: 'podnetwork.opdev.io/v1alpha1',
    kind: 'PodNetwork',
    metadata: {
      ...metadata(1, i),
      labels: { 'podnetwork.opdev.io/node': node(i) },
      annotations: { 'podnetwork.opdev.io/leaving': 'PodConfig/old', 'example.org/note': 'not read' },
    },
    spec: {
      podUid: uid(2, i),
      nodeName: node(i),
      interfaces: links.map(({ key, address }, n) => ({
        key,
        namePrefix: `net${n}`,
        source: {
          apiVersion: 'podconfig.opdev.io/v1alpha1',
          kind: 'PodConfig',
          namespace: `team-${i % 100}`,
          name: 'lab',
        },
        link: { type: 'veth' as const },
        bridge: { name: `br${n}`, device: `br${n}`, gateways: [`10.${n}.0.1/16`], home: 'node' as const },
        addresses: [address],
        routes: [],
      })),
    },
    status: {
      observedGeneration: 1,
      podPid: 10_000 + i,
      networks: links.map(({ name }) => name).join(),
      conditions: ['Ready', 'Other'].map((type) => ({
        type,
        status: 'True' as const,
        reason: 'Attached',
        message: 'All interfaces are attached',
        lastTransitionTime: since,
        observedGeneration: 1,
      })),
      interfaces: links.map(({ key, address, name }, n) => ({
        key,
        name,
        hostName: `h${name}`,
        macAddress: '02:00:00:00:00:01',
        mtuBytes: 1500,
        addresses: [address],
        bridgeDevice: `br${n}`,
        state: 'Attached' as const,
        reason: 'Attached',
        message: 'As declared',
        since,
      })),
      primary: { interfaceName: 'eth0', before: { mtuBytes: 1500 } },
    },
  });
};

export const clutteredPod = (i: number): Pod =>
  anew({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata(2, i), labels: { podconfig: 'lab' }, annotations: { 'example.org/note': 'not read' } },
    spec: {
      nodeName: node(i),
      hostNetwork: true,
      containers: [0, 1].map((n) => ({
        name: `c${n}`,
        image: 'example.org/image:1',
        env: Array.from({ length: 10 }, (_, e) => ({ name: `NAME_${e}`, value: `value ${e}` })),
        volumeMounts: Array.from({ length: 4 }, (_, v) => ({ name: `v${v}`, mountPath: `/v${v}` })),
      })),
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      conditions: Array.from({ length: 5 }, (_, n) => ({ type: `C${n}`, status: 'True', lastTransitionTime: since })),
      containerStatuses: [0, 1].map((n) => ({ name: `c${n}`, ready: true, restartCount: 0, imageID: 'x'.repeat(80) })),
    },
  }) as unknown as Pod;

export const clutteredNode = (): Node => {
  const { namespace: _none, deletionTimestamp: _no, ...rest } = metadata(4, 1);
  return anew({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...rest, labels: { 'kubernetes.io/os': 'linux' }, annotations: { 'example.org/note': 'not read' } },
    spec: { podCIDR: '10.244.0.0/24' },
    status: {
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      images: [{ names: ['example.org/image:1'], sizeBytes: 1 }],
    },
  });
};
