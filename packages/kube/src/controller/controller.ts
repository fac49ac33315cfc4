/**
 * Runs a reconciler for each object of a resource: at the start, whenever the object or something that it depends on changes, and again when a
 * run asked for that or failed. The reconciler is told which object, never what happened.
 *
 * What is deliberately missing: a periodic resync. A controller watches what it reads; if that is not enough, a watch is missing.
 */
import type { KubeObject } from '@podloom/api';
import { startCache } from '../cache/cache.ts';
import type { Cache } from '../cache/cache.ts';
import { keyOf, parseObjectKey } from '../cache/store.ts';
import type { ObjectKey } from '../cache/store.ts';
import type { Client, Resource } from '../client/client.ts';
import { aborted, systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import type { Backoff } from '../queue/backoff.ts';
import { workQueue } from '../queue/queue.ts';
import type { Outcome } from '../queue/queue.ts';
import { judge } from './judge.ts';
import { controllerMetrics } from './metrics.ts';
import { done } from './result.ts';
import type { Result } from './result.ts';

export interface ReconcileContext {
  /** Carries controller, object and reconcileId. */
  readonly log: Log;
  /** Aborts when the controller stops, or is no longer the leader: leave as soon as you can. */
  readonly signal: AbortSignal;
}

/** Gets the object as the cache has it: frozen, and perhaps a moment old. */
export type Reconciler<T> = (object: T, context: ReconcileContext) => Promise<Result> | Result;

export interface ObjectName {
  readonly name: string;
  readonly namespace: string | undefined;
}

/** An own copy of the resource, or a cache that is used elsewhere, too. */
export type Source<T extends KubeObject> = Resource<T> | Cache<T>;

/** Another resource on which the outcome depends, with the objects to look at when one of it comes, goes or changes. */
export interface Dependency {
  readonly source: Source<KubeObject>;
  readonly map: (object: KubeObject) => Iterable<ObjectName>;
}

/** Declares a dependency with its own type: `watches: [dependsOn(pods, (pod) => …)]`. */
export function dependsOn<D extends KubeObject>(
  source: Source<D>,
  map: (object: D) => Iterable<{ readonly name: string; readonly namespace?: string | undefined }>,
): Dependency {
  return { source, map } as unknown as Dependency;
}

export interface ControllerOptions<T extends KubeObject> {
  /** For logs and metrics. */
  readonly name: string;
  readonly resource: Source<T>;
  readonly reconcile: Reconciler<T>;
  /** Runs when an object is not there (any more). Rarely needed: what must be undone needs a finalizer. */
  readonly reconcileAbsence?: Reconciler<ObjectName> | undefined;
  readonly watches?: readonly Dependency[] | undefined;
  readonly concurrency?: number | undefined;
  readonly backoff?: Backoff | undefined;
  readonly client: Client;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
}

export interface Controller {
  readonly name: string;
  /** Works until the signal aborts; resolves when the last run has ended. Can be called again after that. */
  run(signal: AbortSignal): Promise<void>;
  /** All caches are filled and reconciling has begun. */
  readonly isReady: boolean;
}

export function controller<T extends KubeObject>(options: ControllerOptions<T>): Controller {
  const { name, client, clock = systemClock, reconcileAbsence = () => done } = options;
  const log = options.log.child({ controller: name });
  let isReady = false;

  async function run(signal: AbortSignal): Promise<void> {
    // What was started here must end here, also when the start fails half-way.
    const own = new AbortController();
    const stopped = AbortSignal.any([signal, own.signal]);
    const ownCaches: Promise<void>[] = [];
    const undo: (() => unknown)[] = [];
    const open = <D extends KubeObject>(source: Source<D>): Cache<D> => {
      if ('subscribe' in source) return source;
      const cache = startCache({ client, resource: source, log, clock, signal: stopped });
      ownCaches.push(cache.ended);
      return cache;
    };

    const objects = open(options.resource);
    const dependencies = (options.watches ?? []).map(({ source, map }) => ({ cache: open(source), map }));
    const measure = controllerMetrics(options.metrics, name, () => queue.depth);
    let reconcileId = 0;
    const queue = workQueue<ObjectKey>({
      concurrency: options.concurrency ?? 1,
      backoff: options.backoff,
      clock,
      async run(key): Promise<Outcome> {
        reconcileId += 1;
        const context = { log: log.child({ object: key, reconcileId }), signal: stopped };
        const startedMs = clock.monotonicMs();
        const object = objects.getByKey(key);
        let result: Result;
        try {
          result = await (object ? options.reconcile(object, context) : reconcileAbsence(parseObjectKey(key), context));
        } catch (error) {
          result = { kind: 'failed', error };
        }
        const { outcome, label } = judge(result, stopped, context.log);
        measure.ran(label, (clock.monotonicMs() - startedMs) / 1_000);
        return outcome;
      },
    });

    try {
      await untilSynced([objects, ...dependencies.map(({ cache }) => cache)], stopped);
      if (stopped.aborted) return;
      undo.push(objects.subscribe(({ key }) => queue.add(key)));
      for (const { cache, map } of dependencies) {
        const addAll = (object: KubeObject | undefined) => {
          for (const wanted of object ? map(object) : []) queue.add(keyOf({ metadata: wanted }));
        };
        undo.push(
          cache.subscribe(({ old, now }) => {
            // Both, because a change may have moved the dependency from one object to another.
            addAll(old);
            addAll(now);
          }),
        );
      }
      isReady = true;
      log.info({ objects: objects.size }, 'Started controller');
      await aborted(stopped);
    } finally {
      isReady = false;
      for (const step of undo) step();
      await queue.stop();
      measure.end();
      own.abort();
      await Promise.all(ownCaches);
      log.info({}, 'Stopped controller');
    }
  }

  return {
    name,
    run,
    get isReady() {
      return isReady;
    },
  };
}

async function untilSynced(caches: readonly Cache<KubeObject>[], signal: AbortSignal): Promise<void> {
  try {
    await Promise.race([Promise.all(caches.map((cache) => cache.waitForSync())), aborted(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
