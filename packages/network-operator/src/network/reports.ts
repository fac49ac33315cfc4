/**
 * Which objects have something new to report. Each is looked at a short time after the first news: whatever comes until then is one status. Every object
 * is treated alike, so a status is never later than that, nor more often written.
 */
import { type PodNetwork, PodloomError } from '@podloom/api';
import { type Clock, type Log, type Outcome, workQueue } from '@podloom/kube';
import { describedBridge, namingKey } from '@podloom/network';
import type { Caches } from './caches.ts';
import { bridgesOf, holders } from './pod-network.ts';
import { type SourceKey, keyOfRef, keyOfSource } from './sources.ts';
import type { Verdict } from './verdicts.ts';

export interface Reports {
  /** Something of the object may have changed. */
  soon(source: SourceKey): void;
  /** What was found for a pod concerns all objects that it names. */
  verdict(verdict: Verdict | undefined): void;
  stop(): Promise<void>;
}

export interface ReportsOptions {
  readonly caches: Caches;
  /** Looks at the object. */
  readonly report: (source: SourceKey) => Promise<Outcome>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export const reportAfterMs = 200;

export function sourceReports({ caches, report, clock, log, signal }: ReportsOptions): Reports {
  const queue = workQueue<SourceKey>({
    concurrency: 16,
    clock,
    async run(key) {
      try {
        return await report(key);
      } catch (error) {
        if (signal.aborted) return 'done';
        log.warn({ source: key, err: error }, 'Could not report on object, will retry');
        return error instanceof PodloomError && error.retry === 'whenChanged' ? 'done' : 'failed';
      }
    },
  });
  const soon = (key: SourceKey): void => queue.addAfter(key, reportAfterMs);
  const undo = listen(caches, soon);
  return {
    soon,
    verdict(verdict) {
      if (verdict) concerned(verdict).forEach(soon);
    },
    stop() {
      for (const step of undo) step();
      return queue.stop();
    },
  };
}

/** What happens to an object itself, to the PodNetworks that hold something of it, to their nodes, and to its sample Deployment. */
function listen(caches: Caches, soon: (source: SourceKey) => void): (() => void)[] {
  const both = (change: { readonly old?: PodNetwork | undefined; readonly now?: PodNetwork | undefined }): void => {
    for (const network of [change.old, change.now]) if (network) holdersOf(network, caches).forEach(soon);
  };
  return [
    ...[...caches.sources.values()].map((cache) =>
      cache.subscribe(({ old, now }) => {
        const source = now ?? old;
        if (source) soon(keyOfSource(source));
      }),
    ),
    caches.podNetworks.subscribe(both),
    caches.nodes.subscribe(({ old, now }) => {
      if (old && now) return;
      const name = (now ?? old)?.metadata.name ?? '';
      for (const network of caches.podNetworks.by('node', name)) both({ now: network });
    }),
    caches.deployments.subscribe(({ old, now }) => {
      const { ownerReferences = [], namespace = '' } = (now ?? old)?.metadata ?? {};
      for (const { kind, name } of ownerReferences) soon(keyOfRef({ namespace, kind, name }));
    }),
  ];
}

/** The objects that have something in this pod, and those that describe a bridge that it is on. */
function holdersOf(network: PodNetwork, caches: Caches): SourceKey[] {
  const namespace = network.metadata.namespace ?? '';
  const bridges = new Set(bridgesOf(network));
  const describing = [...caches.sources.values()]
    .flatMap((cache) => cache.by('namespace', namespace))
    .filter((source) => bridges.has(namingKey(namespace, describedBridge(source) ?? '')));
  return [...holders(network), ...describing.map(keyOfSource)];
}

function concerned({ composed, problems, seen }: Verdict): SourceKey[] {
  const refs = [
    ...composed.conflicts.flatMap(({ loser, winner }) => [loser, winner]),
    ...problems.map(({ ref }) => ref),
  ];
  return [...refs.map(keyOfRef), ...seen.keys(), ...composed.sources];
}
