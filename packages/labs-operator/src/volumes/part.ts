/** SharedVolumes as a part of the operator: copies of all that is read, and the controller upon them. */
import { type KubeObject, type SharedVolume, sharedVolumeKind, templateKind } from '@podloom/api';
import {
  type Part,
  controller,
  controllerIndex,
  controllerOf,
  dependsOn,
  jobs,
  namespaces,
  ownedObjects,
  owns,
  persistentVolumeClaims,
  persistentVolumes,
  startCache,
  telling,
} from '@podloom/kube';
import { type SharedVolumeOptions, mountsOf, sharedVolumeMark } from '@podloom/labs';
import { hasNews } from '../news.ts';
import { fieldManager } from '../settings.ts';
import { sharedVolumeReconciler } from './reconcile.ts';

export interface VolumesOptions extends SharedVolumeOptions {
  readonly concurrency: number;
  readonly again: { readonly minMs: number; readonly maxMs: number };
}

export const sharedVolumes = ({ concurrency, again, ...options }: VolumesOptions): Part => ({
  name: 'shared volumes',
  async start({ client, log, metrics, events, clock, signal, readiness }) {
    const over = new AbortController();
    const tools = { client, log, signal: AbortSignal.any([signal, over.signal]) };
    const ours = {
      ...tools,
      labelSelector: `${sharedVolumeMark.key}=${sharedVolumeMark.value}`,
      indexes: controllerIndex,
    };
    const claims = startCache({ ...ours, resource: persistentVolumeClaims });
    const preparing = startCache({ ...ours, resource: jobs });
    const objects = startCache({ ...tools, resource: sharedVolumeKind.resource });
    const templates = startCache({ ...tools, resource: templateKind.resource });
    const volumes = startCache({ ...tools, resource: persistentVolumes });
    const spaces = startCache({ ...tools, resource: namespaces });
    const caches = [claims, preparing, objects, templates, volumes, spaces];
    readiness(() => caches.every(({ isSynced }) => isSynced) || 'The caches are not filled yet');
    try {
      await Promise.all(caches.map((cache) => cache.waitForSync()));
      const owned = ownedObjects({ client, fieldManager, caches: [claims, preparing], clock });
      const context = { client, claims, jobs: preparing, volumes, templates, namespaces: spaces, owned };
      const inSpace = ({ metadata: { name } }: KubeObject) =>
        objects.list().filter(({ metadata }) => metadata.namespace === name);
      const one = controller<SharedVolume>({
        name: 'sharedvolume',
        resource: telling(objects, hasNews),
        reconcile: sharedVolumeReconciler({ ...context, events, clock, options, again }),
        concurrency,
        watches: [
          owns(claims, sharedVolumeKind.resource),
          owns(preparing, sharedVolumeKind.resource),
          dependsOn(telling(templates, hasNews), mountsOf),
          // A claim may show its volume before we have heard of that.
          dependsOn(volumes, ({ spec }) =>
            ownerOfClaim(claims.get(spec?.claimRef?.name ?? '', spec?.claimRef?.namespace)),
          ),
          dependsOn(telling(spaces, hasNews), (space) =>
            inSpace(space).map(({ metadata: { name = '', namespace } }) => ({ name, namespace })),
          ),
        ],
        client,
        log,
        metrics,
        clock,
      });
      await one.run(tools.signal);
    } finally {
      over.abort();
      await Promise.all(caches.map(({ ended }) => ended));
    }
  },
});

function ownerOfClaim(claim: KubeObject | undefined): { name: string; namespace: string | undefined }[] {
  const owner = claim && controllerOf(claim);
  return owner ? [{ name: owner.name, namespace: claim.metadata.namespace }] : [];
}
