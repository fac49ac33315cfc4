/** The sample Deployment of a PodConfig: two pods without any privilege, to try networks with. It belongs to the PodConfig and goes with it. */
import { type PodConfig, podConfigKind, podConfigLabel } from '@podloom/api';
import { type Deployment, applyObject, deployments, isAlreadyExists, ownerReference, unlessGone } from '@podloom/kube';
import { type Problem, type SourceObject, refOf } from '@podloom/network';
import { type NetworkContext, fieldManager } from './context.ts';
import { isRefusal } from './problems.ts';

export interface Sample {
  readonly deployment?: Deployment | undefined;
  readonly problems: readonly Problem[];
}

export async function reconcileSample(
  source: SourceObject,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<Sample> {
  if (!isPodConfig(source)) return { problems: [] };
  const config = source;
  const { client, caches, sampleImage } = context;
  const { create, name } = config.spec.sampleDeployment ?? {};
  const wanted = create === true && name !== undefined ? sampleDeployment(config, name, sampleImage) : undefined;
  const owned = caches.deployments.by('owner', config.metadata.uid ?? '');
  const ref = refOf(config);
  const refusal = (message: string): Problem => ({ ref, reason: 'SampleRefused', message });
  const problems: Problem[] = [];
  for (const { metadata } of owned) {
    if (wanted && metadata.name === name) continue;
    try {
      await unlessGone(() =>
        client.delete(deployments, metadata.name ?? '', {
          namespace: metadata.namespace,
          uid: metadata.uid,
          propagationPolicy: 'Background',
          signal,
        }),
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      problems.push(refusal(`The sample Deployment ${metadata.name} cannot be deleted: ${error.message}`));
    }
  }
  if (!wanted) return { problems };
  const mine = owned.find(({ metadata }) => metadata.name === name);
  const image = mine?.spec?.template.spec?.containers[0]?.image;
  if (image === sampleImage && mine?.spec?.replicas === wanted.spec?.replicas) return { deployment: mine, problems };
  const namespace = config.metadata.namespace;
  try {
    const deployment = mine
      ? await applyObject(client, deployments, wanted, { fieldManager, signal })
      : await client.create(deployments, wanted, { namespace, fieldManager, signal });
    return { deployment, problems };
  } catch (error) {
    if (isRefusal(error)) {
      problems.push(refusal(`The sample Deployment ${name} cannot be made: ${error.message}`));
      return { deployment: mine, problems };
    }
    if (!isAlreadyExists(error)) throw error;
    const there = await client.get(deployments, name ?? '', { namespace, signal });
    if (there.metadata.ownerReferences?.some(({ uid }) => uid === config.metadata.uid))
      return { deployment: there, problems };
    const message = `There is another Deployment ${name}, which is not touched; choose another name for the sample`;
    return { problems: [...problems, { ref, reason: 'SampleNameTaken', message }] };
  }
}

const isPodConfig = (source: SourceObject): source is PodConfig => source.kind === podConfigKind.kind;

/** Both on one node, because until networks reach across nodes they could not meet otherwise. */
export function sampleDeployment(config: PodConfig, name: string, image: string) {
  const labels = { [podConfigLabel]: config.metadata.name ?? '' };
  return {
    metadata: { name, namespace: config.metadata.namespace, labels, ownerReferences: [ownerReference(config)] },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 1,
          securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { labelSelector: { matchLabels: labels }, topologyKey: 'kubernetes.io/hostname' },
              ],
            },
          },
          containers: [
            {
              name: 'sample',
              image,
              imagePullPolicy: 'IfNotPresent',
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              resources: { requests: { cpu: '1m', memory: '8Mi' }, limits: { memory: '64Mi' } },
            },
          ],
        },
      },
    },
  };
}
