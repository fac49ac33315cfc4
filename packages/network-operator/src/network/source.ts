/**
 * Reports back on one object that asks for networks, and lets it go when nothing of it is left. It never touches pods: pod.ts does, and calls for this
 * when it has found something.
 */
import { type Outcome, applyStatus, hasFinalizer, isSameJson, keyOf, objectKey, removeFinalizer } from '@podloom/kube';
import type { KubeObject, PodNetwork } from '@podloom/api';
import {
  type SourceObject,
  type SourceType,
  describedBridge,
  namingKey,
  problemsOf,
  sourceTypeOf,
} from '@podloom/network';
import { type NetworkContext, fieldManager } from './context.ts';
import { bridgesOf, holders, isObserved } from './pod-network.ts';
import { isServed } from './pod.ts';
import { type Sample, reconcileSample } from './sample.ts';
import { type PodState, type Report, removalReport, reportOf } from './source-status.ts';
import { editionOf } from './verdicts.ts';
import { type SourceKey, isRef, keyOfSource, parseSourceKey } from './sources.ts';

/** For so long a status that only waits for agents is held back: they mostly answer within a few milliseconds, and the last of many later. */
const holdMs = (pods: number): number => 400 + 5 * Math.min(pods, 500);
/** An object that goes says why it is still there only when that takes longer than people notice. */
const removalHoldMs = 1_000;
const sampleRetryMs = 30_000;

export type Pace = Map<SourceKey, ObjectPace>;

interface ObjectPace {
  /** When the object is looked at again at the earliest. On the monotonic clock, as the next one. */
  nextMs?: number;
  /** Since when its status is held back. */
  heldSinceMs?: number | undefined;
  /** Of which generation it was told that it is configured. */
  configured?: number | undefined;
  /** Which problems of its own the last look found, and in which edition. */
  told?: { readonly edition: string; readonly reasons: readonly string[] };
}

export async function reconcileSource(
  key: SourceKey,
  context: NetworkContext,
  pace: Pace,
  signal: AbortSignal,
): Promise<Outcome> {
  const { namespace, kind, name } = parseSourceKey(key);
  const type = sourceTypeOf(kind);
  const source = context.sources.get(kind)?.get(objectKey(name, namespace));
  if (!type || !source) {
    pace.delete(key);
    return 'done';
  }
  const my = pace.get(key) ?? {};
  pace.set(key, my);
  if (source.metadata.deletionTimestamp) return await letGo(key, source, type, { context, my, signal });
  // Without a status, what is wrong is told by Events when its pods are looked at.
  if (!type.report) return 'done';

  const nowMs = context.clock.monotonicMs();
  if (my.nextMs !== undefined && my.nextMs > nowMs) return { retryAfterMs: my.nextMs - nowMs };
  const sample: Sample = await reconcileSample(source, context, signal);
  const pods = podsOf(source, context);
  if (!pods) return 'done';
  // Many pods make a long status that takes long to make: it is made less often, so that nobody waits for it.
  my.nextMs = nowMs + pods.length / 2;
  const settled = context.view.settledIn(namespace);
  const problems = [...sample.problems, ...problemsOf(source, settled)];
  const bridge = describedBridge(source);
  const report = reportOf(
    {
      source,
      pods,
      type,
      conflicts: [...settled.conflicts.values()].filter(
        ({ loser, winner }) => isRef(loser, source) || isRef(winner, source),
      ),
      expectedPods: Math.max(0, (sample.deployment?.spec?.replicas ?? 0) - pods.length),
      problems,
      device: bridge === undefined ? undefined : context.view.deviceOf(namespace, bridge),
    },
    context.clock.now(),
  );
  const outcome = await write(source, type, report, { context, my, howMany: pods.length, signal });
  // Problems of the object itself: those of its pods are told where they are found. Only the first of several is in the conditions.
  const edition = editionOf(source);
  const told = my.told?.edition === edition ? my.told.reasons : [];
  for (const { reason, message } of problems) {
    if (!told.includes(reason) && !source.status?.conditions?.some((one) => one.reason === reason))
      context.events.warning(source, reason, message);
  }
  my.told = { edition, reasons: problems.map(({ reason }) => reason) };
  // The Deployment of that name is someone else's, or the server would not have ours, and nothing tells when that is over.
  return outcome === 'done' && sample.problems.length > 0 ? { retryAfterMs: sampleRetryMs } : outcome;
}

/** Undefined while one of them has not been looked at: its verdict will bring us back. */
function podsOf(source: SourceObject, context: NetworkContext): PodState[] | undefined {
  const { caches, podNetworks } = context;
  const states: PodState[] = [];
  const bridge = describedBridge(source);
  const mine =
    bridge === undefined
      ? context.view.chosenBy(source)
      : caches.podNetworks
          .by('bridge', namingKey(source.metadata.namespace ?? '', bridge))
          .flatMap((network) => caches.pods.getByKey(keyOf(network)) ?? []);
  for (const pod of mine) {
    const { name = '', uid, deletionTimestamp } = pod.metadata;
    const network = podNetworks.get(keyOf(pod));
    if (!isServed(pod, network)) continue;
    if (!network && (bridge !== undefined || !caches.nodes.get(pod.spec?.nodeName ?? ''))) continue;
    const verdict = context.verdictOf(pod);
    const isCurrent = bridge !== undefined || verdict?.seen.get(keyOfSource(source)) === editionOf(source);
    if (verdict?.podUid !== uid || !verdict || !isCurrent) return undefined;
    states.push({ name, isEnding: deletionTimestamp !== undefined, verdict, network });
  }
  return states;
}

interface Writing {
  readonly context: NetworkContext;
  readonly my: ObjectPace;
  readonly howMany: number;
  readonly signal: AbortSignal;
}

async function write(
  source: SourceObject,
  { kind }: SourceType,
  report: Report,
  { context, my, howMany, signal }: Writing,
): Promise<Outcome> {
  const { client, clock, sources, events } = context;
  if (isSameJson(report.status, source.status ?? {})) {
    my.heldSinceMs = undefined;
    return 'done';
  }
  const nowMs = clock.monotonicMs();
  my.heldSinceMs = report.isInProgress ? (my.heldSinceMs ?? nowMs) : undefined;
  const dueMs = (my.heldSinceMs ?? -Infinity) + holdMs(howMany);
  if (dueMs > nowMs) return { retryAfterMs: dueMs - nowMs };

  const { generation } = source.metadata;
  const wasConfigured = source.status?.conditions?.some(({ reason }) => reason === 'Configured');
  const status = report.status as unknown as NonNullable<SourceObject['status']>;
  const written = await applyStatus<KubeObject>(client, kind.resource, source, status, { fieldManager, signal });
  sources.get(kind.kind)?.wrote(written as SourceObject);
  my.heldSinceMs = undefined;
  // Once, not for every pod that comes: the pods have Events of their own. A Bridge without pods is configured, too, and no news.
  const [ready] = report.status.conditions;
  if (ready?.reason === 'Configured' && !wasConfigured && my.configured !== generation) {
    my.configured = generation;
    events.normal(source, 'Configured', ready.message);
  }
  if (ready?.reason === 'Removing') events.warning(source, 'Removing', ready.message);
  return 'done';
}

async function letGo(
  key: SourceKey,
  source: SourceObject,
  type: SourceType,
  { context, my, signal }: Omit<Writing, 'howMany'>,
): Promise<Outcome> {
  const { client, caches, clock } = context;
  const { finalizer } = type;
  if (finalizer === undefined || !hasFinalizer(source, finalizer) || context.isUsed(key)) return 'done';
  const { namespace = '' } = source.metadata;
  const left = stillThere(source, key, caches.podNetworks.by('namespace', namespace), context);
  if (left.length === 0) {
    // A PodNetwork that a leader before us made may be on its way to our cache.
    const networks = await context.listPodNetworks(namespace);
    if (stillThere(source, key, networks, context).length > 0) return { retryAfterMs: removalHoldMs };
    await removeFinalizer(client, type.kind.resource, source, finalizer, { signal });
    return 'done';
  }
  const sinceMs = clock.now() - Date.parse(source.metadata.deletionTimestamp ?? '');
  if (sinceMs < removalHoldMs) return { retryAfterMs: removalHoldMs };
  const report = removalReport(source, type, left, clock.now());
  return await write(source, type, report, { context, my, howMany: left.length, signal });
}

/** PodNetworks on living nodes that hold something of the object. */
function stillThere(
  source: SourceObject,
  key: SourceKey,
  networks: readonly PodNetwork[],
  context: NetworkContext,
): PodNetwork[] {
  const bridge = describedBridge(source);
  return networks.filter((network) => {
    if (!context.caches.nodes.get(network.spec.nodeName)) return false;
    if (bridge === undefined) return holders(network).includes(key);
    if (!bridgesOf(network).includes(namingKey(source.metadata.namespace ?? '', bridge))) return false;
    // Others may go on using the bridge; it is theirs once they are composed without this object and the agent has seen it.
    return !isObserved(network) || !isComposedWithout(bridge, network, context);
  });
}

function isComposedWithout(bridge: string, network: PodNetwork, { caches, view }: NetworkContext): boolean {
  const pod = caches.pods.get(network.metadata.name ?? '', network.metadata.namespace);
  if (!pod) return true;
  const links = view.compose(pod).interfaces.map((one) => one.interface);
  return network.spec.interfaces
    .filter((link) => link.bridge?.name === bridge)
    .every((link) => isSameJson(links.find(({ key }) => key === link.key)?.bridge, link.bridge));
}
