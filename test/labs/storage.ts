/** What a provisioner, the volume controllers and the Job controller would do: there are none beside an API server alone. */
import { type Client, jobs, persistentVolumeClaims, persistentVolumes, storageClasses } from '@podloom/kube';
import { onTestFinished } from 'vitest';

interface Place {
  readonly name: string;
  readonly namespace: string;
}

/** A volume of this source, bound to the claim. */
export async function bind(
  client: Client,
  { name, namespace }: Place,
  source: object,
  annotations: Record<string, string> = {},
): Promise<string> {
  const volume = `${namespace}-${name}`;
  const { spec } = await client.get(persistentVolumeClaims, name, { namespace });
  const storageClassName = spec?.storageClassName ?? '';
  await client.create(persistentVolumes, {
    metadata: { name: volume, annotations },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteMany'],
      storageClassName,
      persistentVolumeReclaimPolicy: 'Retain',
      ...source,
    },
  });
  onTestFinished(async () => {
    await client.patch(persistentVolumes, volume, { metadata: { finalizers: null } }, { type: 'merge' });
    await client.delete(persistentVolumes, volume);
  });
  await client.patch(persistentVolumeClaims, name, { spec: { volumeName: volume } }, { type: 'merge', namespace });
  const status = { phase: 'Bound', capacity: { storage: '1Gi' } };
  await client.patch(persistentVolumeClaims, name, { status }, { type: 'merge', namespace, subresource: 'status' });
  return volume;
}

export async function complete(client: Client, { name, namespace }: Place): Promise<void> {
  const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:00:01Z' };
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: times.completionTime });
  const status = { ...times, succeeded: 1, conditions: [condition('SuccessCriteriaMet'), condition('Complete')] };
  await client.patch(jobs, name, { status }, { type: 'merge', namespace, subresource: 'status' });
}

/** A class whose volumes can grow. */
export async function growingClass(client: Client, name: string): Promise<string> {
  await client.create(storageClasses, {
    metadata: { name },
    provisioner: 'example.org/growing',
    allowVolumeExpansion: true,
  });
  onTestFinished(() => client.delete(storageClasses, name));
  return name;
}
