/**
 * Reports back on one object that asks for networks, and lets it go when nothing of it is left. It never touches pods: pod.ts does, and calls for this
 * when it has found something.
 */
import { type Outcome, applyStatus, hasFinalizer, isSameJson, keyOf, objectKey, removeFinalizer } from '@podloom/kube';
import { type KubeObject, type PodNetwork, podNetworkKind } from '@podloom/api';
import {
  type Problem,
  type SourceObject,
  type SourceType,
  describedBridge,
  namingKey,
  problemsOf,
  sourceTypeOf,
} from '@podloom/network';
import { type NetworkContext, fieldManager } from './context.ts';
import { bridgesOf, holders, isObserved } from './pod-network.ts';
import { isServed } from './served.ts';
import { type Sample, reconcileSample } from './sample.ts';
import { type PodState, type Report, removalReport, reportOf } from './source-status.ts';
import { editionOf } from './verdicts.ts';
import { type SourceKey, isRef, keyOfSource, parseSourceKey } from './sources.ts';

/** Again after so long, where nothing tells when a sample Deployment could be made. */
const sampleRetryMs = 30_000;

/** Which problems of its own an object was told of in an Event, and in which edition of it. */
export type Told = Map<SourceKey, { readonly edition: string; readonly reasons: readonly string[] }>;

export async function reconcileSource(
  key: SourceKey,
  context: NetworkContext,
  told: Told,
  signal: AbortSignal,
): Promise<Outcome> {
  const { namespace, kind, name } = parseSourceKey(key);
  const type = sourceTypeOf(kind);
  const source = context.sources.get(kind)?.get(objectKey(name, namespace));
  if (!type || !source) {
    told.delete(key);
    return 'done';
  }
  if (source.metadata.deletionTimestamp) return await letGo(key, source, type, context, signal);
  // Without a status, what is wrong is told by Events when its pods are looked at.
  if (!type.report) return 'done';

  const sample: Sample = await reconcileSample(source, context, signal);
  const pods = podsOf(source, context);
  if (!pods) return 'done';
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
  await write(source, type, report, context, signal);
  tellProblems(source, problems, told, context);
  // The Deployment of that name is someone else's, or the server would not have ours, and nothing tells when that is over.
  return sample.problems.length > 0 ? { retryAfterMs: sampleRetryMs } : 'done';
}

/** Problems of the object itself: those of its pods are told where they are found. Only the first of several is in the conditions. */
function tellProblems(
  source: SourceObject,
  problems: readonly Problem[],
  told: Told,
  { events }: NetworkContext,
): void {
  const [key, edition] = [keyOfSource(source), editionOf(source)];
  const before = told.get(key);
  const known = before?.edition === edition ? before.reasons : [];
  for (const { reason, message } of problems) {
    if (!known.includes(reason) && !source.status?.conditions?.some((one) => one.reason === reason))
      events.warning(source, reason, message);
  }
  told.set(key, { edition, reasons: problems.map(({ reason }) => reason) });
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
    const verdict = context.verdicts.of(pod);
    const isCurrent = bridge !== undefined || verdict?.seen.get(keyOfSource(source)) === editionOf(source);
    if (verdict?.podUid !== uid || !verdict || !isCurrent) return undefined;
    states.push({ name, isEnding: deletionTimestamp !== undefined, verdict, network });
  }
  return states;
}

async function write(
  source: SourceObject,
  { kind }: SourceType,
  report: Report,
  { client, sources, events }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  if (isSameJson(report.status, source.status ?? {})) return;
  const before = source.status?.conditions?.map(({ reason }) => reason) ?? [];
  const status = report.status as unknown as NonNullable<SourceObject['status']>;
  const written = await applyStatus<KubeObject>(client, kind.resource, source, status, { fieldManager, signal });
  sources.get(kind.kind)?.wrote(written as SourceObject);
  // A Bridge without pods is ready, too, and no news.
  const [ready] = report.status.conditions;
  if (ready?.reason === 'Configured' && !before.includes('Configured'))
    events.normal(source, 'Configured', ready.message);
  if (ready?.reason === 'Removing') events.warning(source, 'Removing', ready.message);
}

async function letGo(
  key: SourceKey,
  source: SourceObject,
  type: SourceType,
  context: NetworkContext,
  signal: AbortSignal,
): Promise<Outcome> {
  const { client, caches, clock, holds } = context;
  const { finalizer } = type;
  // Whoever uses it calls for this again.
  if (finalizer === undefined || !hasFinalizer(source, finalizer) || holds.isUsed(key)) return 'done';
  const { namespace } = source.metadata;
  const known = stillThere(source, key, caches.podNetworks.by('namespace', namespace ?? ''), context);
  // A PodNetwork that a leader before us made may be on its way to our cache.
  const left = known.length > 0 ? known : stillThere(source, key, await listPodNetworks(namespace), context);
  if (left.length === 0) await removeFinalizer(client, type.kind.resource, source, finalizer, { signal });
  else await write(source, type, removalReport(source, type, left, clock.now()), context, signal);
  return 'done';

  async function listPodNetworks(namespace: string | undefined): Promise<readonly PodNetwork[]> {
    return (await client.list(podNetworkKind.resource, { namespace, signal })).items;
  }
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
