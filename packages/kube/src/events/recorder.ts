/**
 * Tells the owner of an object what happened to it, as Events (core/v1, whose count and times `kubectl describe` and `kubectl get events` both show).
 *
 * Recording never waits and never fails: it is put down, and written a moment later, when what it tells of need not share the server with it. What is said again about the same object for the same
 * reason is one Event whose count grows, written at most every few seconds; what the server refuses is dropped and counted.
 */
import { PodloomError } from '@podloom/api';
import type { KubeObject } from '@podloom/api';
import { coreEvents } from '../client/builtin.ts';
import type { CoreEvent } from '../client/builtin.ts';
import type { Client } from '../client/client.ts';
import { isNotFound } from '../client/errors.ts';
import { systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import { toTime } from '../objects/conditions.ts';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { workQueue } from '../queue/queue.ts';
import type { Outcome } from '../queue/queue.ts';

export interface EventRecorder {
  /** `reason` is a word in CamelCase, the same each time; `message` is a sentence, the newest of which is shown. */
  normal(object: KubeObject, reason: string, message: string): void;
  warning(object: KubeObject, reason: string, message: string): void;
  /** Resolves when the signal has stopped it. What is not written by then is lost. */
  readonly ended: Promise<void>;
}

export interface EventOptions {
  readonly client: Client;
  /** Who speaks: shown in the column "From". */
  readonly component: string;
  /** Where, if that matters: the node. */
  readonly host?: string | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
}

interface Entry {
  /** And not the object, which may be large, and be kept for half an hour. */
  readonly involved: CoreEvent['involvedObject'];
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly firstMs: number;
  message: string;
  count: number;
  lastMs: number;
  /** Of the Event that shows this, once it is written. */
  name?: string | undefined;
  writtenMs?: number | undefined;
  failures: number;
}

/** People read Events; nothing waits for them. */
const firstAfterMs = 500;
/** An Event is updated at most this often. */
const intervalMs = 10_000;
/** What was not said for so long starts anew. Servers keep Events for an hour. */
const forgetMs = 30 * 60_000;
const mostEntries = 2_000;
const mostFailures = 5;

export function startEvents(options: EventOptions): EventRecorder {
  const { client, component, host, log, signal, metrics, clock = systemClock } = options;
  const entries = new Map<string, Entry>(); // the least recently used is first
  const dropped = metrics?.counter('podloom_events_dropped_total', 'How many events could not be told?');
  let made = 0;

  function record(type: Entry['type'], object: KubeObject, reason: string, message: string): void {
    if (signal.aborted) return;
    const key = `${object.metadata.uid}|${type}|${reason}`;
    const nowMs = clock.now();
    let entry = entries.get(key);
    if (!entry || nowMs - entry.lastMs > forgetMs) {
      entry = {
        involved: referenceTo(object),
        type,
        reason,
        message,
        count: 0,
        firstMs: nowMs,
        lastMs: nowMs,
        failures: 0,
      };
    }
    entry.count += 1;
    entry.lastMs = nowMs;
    entry.message = message;
    entries.delete(key);
    entries.set(key, entry);
    makeRoom();
    if (entry.writtenMs === undefined) queue.addAfter(key, firstAfterMs);
    else queue.addAfter(key, Math.max(0, entry.writtenMs + intervalMs - clock.monotonicMs()));
  }

  function makeRoom(): void {
    for (const [key, entry] of entries) {
      if (entries.size <= mostEntries) return;
      entries.delete(key);
      if (entry.writtenMs === undefined) dropped?.add({});
    }
  }

  const queue = workQueue<string>({
    clock,
    concurrency: 2,
    async run(key): Promise<Outcome> {
      const entry = entries.get(key);
      if (!entry) return 'done';
      try {
        await write(entry);
        entry.writtenMs = clock.monotonicMs();
        entry.failures = 0;
        return 'done';
      } catch (error) {
        entry.failures += 1;
        const hopeless = error instanceof PodloomError && error.retry !== 'backoff';
        if (!signal.aborted && !hopeless && entry.failures < mostFailures) return 'failed';
        dropped?.add({});
        entries.delete(key);
        log.debug({ err: error, reason: entry.reason }, 'Could not tell an event');
        return 'done';
      }
    },
  });

  async function write(entry: Entry): Promise<void> {
    const namespace = entry.involved.namespace ?? 'default';
    const changing = {
      count: entry.count,
      lastTimestamp: toTime(entry.lastMs),
      message: entry.message.slice(0, 1_024),
    };
    if (entry.name) {
      try {
        await client.patch(coreEvents, entry.name, changing, { namespace, type: 'merge', signal });
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error; // the server has forgotten it: tell it anew
      }
    }
    made += 1;
    const { involved } = entry;
    const name = `${involved.name?.slice(0, 220)}.${Math.trunc(clock.now()).toString(16)}${made.toString(16)}`;
    await client.create(
      coreEvents,
      {
        metadata: { name, namespace },
        involvedObject: involved,
        type: entry.type,
        reason: entry.reason,
        firstTimestamp: toTime(entry.firstMs),
        source: { component, ...(host && { host }) },
        reportingComponent: component,
        reportingInstance: host ?? component,
        ...changing,
      },
      { namespace, signal },
    );
    entry.name = name;
  }

  const ended = new Promise<void>((resolve) => {
    const end = () => void queue.stop().then(resolve);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });

  return {
    normal: (object, reason, message) => record('Normal', object, reason, message),
    warning: (object, reason, message) => record('Warning', object, reason, message),
    ended,
  };
}

const referenceTo = ({ apiVersion, kind, metadata }: KubeObject): Entry['involved'] => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  ...(metadata.namespace && { namespace: metadata.namespace }),
  ...(metadata.uid && { uid: metadata.uid }),
  ...(metadata.resourceVersion && { resourceVersion: metadata.resourceVersion }),
});
