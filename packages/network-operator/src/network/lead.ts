/** The network side of the operator while it leads: what it consists of, and who is told of what. No logic here. */
import {
  type Cache,
  type Client,
  type Clock,
  type Controller,
  type EventRecorder,
  type Knocks,
  type Log,
  type Metrics,
  type ObjectKey,
  type Outcome,
  type Pod,
  controller,
  keyOf,
  knocks,
  pods,
  telling,
} from '@podloom/kube';
import type { SourceObject } from '@podloom/network';
import { allocator } from './allocator.ts';
import { type Caches, type ServiceRange, podMatters } from './caches.ts';
import { claimsOf } from './claims.ts';
import type { NetworkContext } from './context.ts';
import { type Fresh, fresh } from './fresh.ts';
import { sourceHolds } from './holds.ts';
import { progress, tellNews } from './news.ts';
import { reconcileGonePod, reconcilePod } from './pod.ts';
import { pluginNews, tellPluginNews } from './plugin-news.ts';
import { startPoolCare } from './pools.ts';
import { type Reports, sourceReports } from './reports.ts';
import { type Told, reconcileSource } from './source.ts';
import { type SourceKey, keyOfSource } from './sources.ts';
import { podTriggers } from './triggers.ts';
import { verdictStore } from './verdicts.ts';
import { view } from './view.ts';
import { waitingList } from './waiting.ts';

export interface NetworkOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly sampleImage: string;
  readonly reservedCidrs: readonly string[];
  /** Absent where the server does not tell. */
  readonly serviceRanges: Cache<ServiceRange> | undefined;
}

/** Most of a reconcile is waiting for the server, and who waits for a pool shares its next write. */
const concurrency = 512;

export async function leadNetwork(options: NetworkOptions, signal: AbortSignal): Promise<void> {
  const { client, caches, log, metrics, clock, serviceRanges } = options;
  await using owned = new AsyncDisposableStack();
  const called = knocks(pods);
  const { context, reports } = assemble(options, called, owned, signal);
  const looking: Controller = controller<Pod>({
    name: 'pods',
    resource: telling(caches.pods, podMatters),
    client,
    log,
    metrics,
    clock,
    concurrency,
    reconcile: (pod, run) => reconcilePod(pod, context, run),
    reconcileAbsence: (name, run) => reconcileGonePod(name, context, run),
    watches: podTriggers({ context, reports, serviceRanges, called, isRunning: () => looking.isReady }),
  });
  owned.use(startPoolCare(context, { signal, metrics }));
  await looking.run(signal);
}

/** Who keeps what while this process leads. `owned` ends it all, the last first. */
function assemble(
  options: NetworkOptions,
  called: Knocks,
  owned: AsyncDisposableStack,
  signal: AbortSignal,
): { readonly context: NetworkContext; readonly reports: Reports } {
  const { client, caches, events, metrics, clock, log, sampleImage } = options;
  /** Also objects that no pod tells of, such as a Bridge without links. */
  const reportIn = (namespace: string): void =>
    look.sourcesIn(namespace).forEach((one) => reports.soon(keyOfSource(one)));
  const look = owned.adopt(view(caches, options.reservedCidrs, options.serviceRanges, reportIn), (one) => one.end());
  const podNetworks = owned.adopt(fresh(caches.podNetworks), (one) => one.end());
  const sources = owned.adopt(freshSources(caches), (all) => all.forEach((one) => one.end()));
  const lost = (pod: ObjectKey): void => called.knock(pod);
  const claims = claimsOf(caches.podNetworks, podNetworks);
  const addresses = owned.adopt(allocator({ client, pools: caches.pools, claims, clock, log, signal, lost }), (one) =>
    one.end(),
  );
  owned.defer(
    caches.podNetworks.subscribe(({ old, now }) => {
      const pod = caches.pods.getByKey(keyOf((now ?? old)!));
      if (pod && pod.metadata.uid === (now ?? old)?.spec.podUid) tellPluginNews(pod, pluginNews(old, now), events);
    }),
  );
  const told: Told = new Map();
  const report = (key: SourceKey): Promise<Outcome> => reconcileSource(key, context, told, signal);
  const reports = owned.adopt(sourceReports({ caches, report, clock, log, signal }), (one) => one.stop());
  const attaching = progress({ podNetworks, events, clock }, metrics);
  const verdicts = verdictStore({
    judged(pod, old, now) {
      tellNews(pod, old, now, { events, sources });
      attaching.follow(pod, now);
      reports.verdict(old);
      reports.verdict(now);
    },
    forgot(pod, old) {
      attaching.forget(pod);
      reports.verdict(old);
    },
  });
  const context: NetworkContext = {
    client,
    caches,
    view: look,
    allocator: addresses,
    podNetworks,
    sources,
    holds: sourceHolds({ client, sources, signal, released: (key) => reports.soon(key) }),
    verdicts,
    waiting: waitingList(),
    events,
    clock,
    log,
    sampleImage,
  };
  return { context, reports };
}

const freshSources = ({ sources }: Caches): ReadonlyMap<string, Fresh<SourceObject>> =>
  new Map([...sources].map(([kind, cache]) => [kind, fresh<SourceObject>(cache)]));
