/**
 * Keeps a store equal to what the server has: lists in pages, then watches from there on, for as long as the signal allows.
 *
 * A watch that ends or breaks is resumed at the last resourceVersion seen (bookmarks keep that one fresh), so nothing is missed and nothing told
 * twice. Only when the server no longer knows that version (410) is everything listed again, and then the store finds the difference.
 * Whether a silent connection is still alive is the transport's business: it pings, and breaks the watch when no answer comes. A watch that the
 * server does not end in time is ended here.
 */
import type { KubeObject } from '@podloom/api';
import type { Client, Resource } from '../client/client.ts';
import { isApiError, isGone } from '../client/errors.ts';
import { delay } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../process/log.ts';
import { backoffMs } from '../queue/backoff.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Client;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly pageSize?: number | undefined;
  /** What is kept of an object. Of a list it is taken page by page: the whole of many objects would be held at once otherwise. */
  readonly trim?: ((object: T) => T) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: (() => number) | undefined;
}

/** Told in the order in which things happened on the server. */
export interface ReflectorTarget<T> {
  /** All there is, after each list. */
  replace(objects: T[]): void;
  put(object: T): void;
  remove(object: T): void;
}

/** A proxy may hold a watch, and answer pings, when what is behind it has vanished: who should end the watch is not there any more. */
const overdueMs = 30_000;
const backoff = { minMs: 250, maxMs: 10_000 };

export async function reflect<T extends KubeObject>(
  options: ReflectorOptions<T>,
  target: ReflectorTarget<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, resource, clock, log, pageSize = 500, random = Math.random, trim = (object) => object } = options;
  const { namespace, labelSelector, fieldSelector } = options;
  const select = { namespace, labelSelector, fieldSelector, signal };
  let resourceVersion: string | undefined;
  let failures = 0;

  while (!signal.aborted) {
    let askedToWaitMs = 0;
    try {
      if (resourceVersion === undefined) {
        const listed = await listAll();
        target.replace(listed.items);
        resourceVersion = listed.resourceVersion;
      }
      // A server that ends watches at once must not make us ask for the next one at once.
      failures = (await watch()) ? 0 : failures + 1;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      if (isGone(error)) {
        resourceVersion = undefined;
        log.info({ resource: resource.plural }, 'Watch was too far behind, will list again');
      } else {
        log.warn({ resource: resource.plural, err: error, failures }, 'Lost watch, will resume');
        askedToWaitMs = (isApiError(error) && error.api.retryAfterMs) || 0;
      }
    }
    if (failures > 0) await delay(clock, Math.max(askedToWaitMs, backoffMs(failures, backoff, random)), signal);
  }

  async function listAll(): Promise<{ items: T[]; resourceVersion: string | undefined }> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page = await client.list(resource, { ...select, limit: pageSize, continue: next });
      for (const item of page.items) items.push(trim(item));
      next = page.metadata.continue || undefined;
      if (!next) return { items, resourceVersion: page.metadata.resourceVersion };
    } while (!signal.aborted);
    signal.throwIfAborted();
    return { items, resourceVersion: undefined };
  }

  /** Whether it was worth having: it told something, or stood for a while. */
  async function watch(): Promise<boolean> {
    // The server ends the watch in its own time; a random length keeps many watchers from all coming back in one moment.
    const timeoutSeconds = Math.round(300 * (1 + random()));
    const overdue = new AbortController();
    const cancel = clock.after(timeoutSeconds * 1_000 + overdueMs, () => overdue.abort());
    const until = { ...select, signal: AbortSignal.any([signal, overdue.signal]) };
    const openedMs = clock.monotonicMs();
    let heard = false;
    try {
      for await (const event of client.watch(resource, { ...until, resourceVersion, timeoutSeconds })) {
        if (signal.aborted) break;
        heard = true;
        failures = 0;
        if (event.type === 'DELETED') target.remove(event.object);
        else if (event.type !== 'BOOKMARK') target.put(trim(event.object));
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      }
    } finally {
      cancel();
    }
    return heard || clock.monotonicMs() - openedMs > 1_000;
  }
}
