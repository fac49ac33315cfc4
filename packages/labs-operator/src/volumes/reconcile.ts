/** Keeps what a SharedVolume has, protects it while a Template mounts it, and lets it go afterwards. */
import { type SharedVolume, type SharedVolumeStatus, type Template, sharedVolumeKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type EventRecorder,
  type Job,
  type Namespace,
  type OwnedFailure,
  type OwnedObjects,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Reconciler,
  type Result,
  applyStatus,
  done,
  ensureFinalizer,
  isForbidden,
  isSameJson,
  removeFinalizer,
  retryAfter,
} from '@podloom/kube';
import {
  type SharedVolumeOptions,
  type SharedVolumeSeen,
  type SharedVolumeState,
  hasLabels,
  mountedBy,
  sharedVolumeClaimName,
  sharedVolumeFinalizer,
  sharedVolumeJobName,
  sharedVolumeMark,
  sharedVolumeObjects,
  sharedVolumePlace,
  sharedVolumeState,
} from '@podloom/labs';
import { messageOf, resultOf, summaryOf } from '../failures.ts';
import { fieldManager } from '../settings.ts';
import { withConditions } from '../conditions.ts';

const { resource } = sharedVolumeKind;

export interface VolumeContext {
  readonly client: Client;
  readonly claims: Cache<PersistentVolumeClaim>;
  readonly jobs: Cache<Job>;
  readonly volumes: Cache<PersistentVolume>;
  readonly templates: Cache<Template>;
  readonly namespaces: Cache<Namespace>;
  readonly owned: OwnedObjects;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly options: SharedVolumeOptions;
  readonly again: { readonly minMs: number; readonly maxMs: number };
}

export function sharedVolumeReconciler(context: VolumeContext): Reconciler<SharedVolume> {
  const { client, owned, namespaces, events, options, again } = context;
  return async (volume, { signal }) => {
    const { namespace } = volume.metadata;
    const space = namespaces.get(namespace ?? '');
    if (!space || !hasLabels(space, options.targetLabels)) return done;
    if (volume.metadata.deletionTimestamp) return release(volume, context, signal);
    const seen = seenOf(volume, context);
    const objects = sharedVolumeObjects(volume, seen, options);
    const { failures } = await owned.apply(volume, objects, sharedVolumeMark, { signal });
    const state = stateOf(volume, seen, failures);
    const guarded =
      state.phase === 'Ready'
        ? await ensureFinalizer(client, resource, volume, sharedVolumeFinalizer, { signal })
        : volume;
    if (state.phase === 'ResourceQuotaExceeded') events.warning(volume, 'ResourceQuotaExceeded', state.message);
    else if (state.shrinks) events.warning(volume, 'InvalidSize', state.message);
    else if (state.phase === 'Error') events.warning(volume, 'Failed', state.message);
    await report(guarded, state, sharedVolumePlace(seen), context, signal);
    // A quota that is used up is no reason to ask again and again.
    return resultOf(state.phase === 'ResourceQuotaExceeded' ? [] : failures, again);
  };
}

function seenOf({ metadata: { name = '', namespace } }: SharedVolume, context: VolumeContext): SharedVolumeSeen {
  const claim = context.claims.get(sharedVolumeClaimName(name), namespace);
  const volumeName = claim?.spec?.volumeName;
  return {
    claim,
    job: context.jobs.get(sharedVolumeJobName(name), namespace),
    volume: volumeName === undefined ? undefined : context.volumes.get(volumeName),
  };
}

function stateOf(volume: SharedVolume, seen: SharedVolumeSeen, failures: readonly OwnedFailure[]): SharedVolumeState {
  if (failures.length === 0) return sharedVolumeState(volume, seen);
  const isOverQuota = failures.some(({ error }) => isForbidden(error) && messageOf(error).includes('exceeded quota'));
  return { phase: isOverQuota ? 'ResourceQuotaExceeded' : 'Error', message: summaryOf(failures) };
}

async function report(
  volume: SharedVolume,
  { phase, message }: SharedVolumeState,
  place: object,
  { client, clock }: VolumeContext,
  signal: AbortSignal,
): Promise<void> {
  const status = phase === 'Ready' ? ('True' as const) : ('False' as const);
  const wanted: SharedVolumeStatus = {
    phase,
    ...place,
    observedGeneration: volume.metadata.generation,
    conditions: withConditions(volume, [{ type: 'Ready', status, reason: phase || 'Unknown', message }], clock.now()),
  };
  if (isSameJson(volume.status, wanted)) return;
  await applyStatus(client, resource, volume, wanted, { fieldManager, signal });
}

async function release(volume: SharedVolume, context: VolumeContext, signal: AbortSignal): Promise<Result> {
  const { client, owned, events, templates, again } = context;
  const by = mountedBy(volume, templates.list());
  const place = sharedVolumePlace(seenOf(volume, context));
  if (by.length > 0) {
    const message = `It is mounted by ${by.join(', ')}; change or delete those first`;
    events.warning(volume, 'DeletionBlocked', message);
    await report(volume, { phase: 'Deleting', message }, place, context, signal);
    return resultOf([], again);
  }
  const { pruned, leaving, failures } = await owned.apply(volume, [], sharedVolumeMark, { signal });
  const left = [...pruned, ...leaving];
  if (left.length === 0 && failures.length === 0) {
    await removeFinalizer(client, resource, volume, sharedVolumeFinalizer, { signal });
    return done;
  }
  const message = failures.length > 0 ? summaryOf(failures) : `Waits until this is gone: ${left.join(', ')}`;
  await report(volume, { phase: 'Deleting', message }, place, context, signal);
  return failures.length > 0 ? resultOf(failures, again) : retryAfter(2_000, 'Waits for what is leaving');
}
