/**
 * Lets one of many processes work at a time. Candidates watch the Lease and wait for its time to run out; nobody polls. A leader that
 * cannot renew stops its work well before another may begin, and ends the process if the work does not stop.
 */
import type { Lease } from '../client/builtin.ts';
import { leases } from '../client/builtin.ts';
import type { Client } from '../client/client.ts';
import { isNotFound, isStale } from '../client/errors.ts';
import { startCache } from '../cache/cache.ts';
import { aborted, delay, systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { forceAfterMs, releasedSpec, renewEveryMs, retryEveryMs, stopAfterMs, takenSpec, waitMs } from './lease.ts';

export interface LeadershipOptions {
  readonly client: Client;
  /** Of the Lease: the same for all that compete. */
  readonly name: string;
  readonly namespace: string;
  /** Of this process, different for each that ever lives: host name and a random part. */
  readonly identity: string;
  /** What only the leader does. It must end soon after its signal aborts. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly leaseMs?: number | undefined;
  /** Called when the work outlives the lease. The only safe answer is to end the process. */
  readonly force?: (() => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

/** A Lease that we hold, with the time (on our clock) at which its last renewal was sent. */
interface Held {
  readonly lease: Lease;
  readonly renewedMs: number;
}

/** Competes until the signal aborts or the work has ended by itself; resolves once nothing runs and the Lease is free. Rejects if the work fails. */
export async function runAsLeader(options: LeadershipOptions, signal: AbortSignal): Promise<void> {
  const { client, name, namespace, identity, metrics, clock = systemClock, random = Math.random } = options;
  const { leaseMs = 15_000, force = endProcess } = options;
  const terms = { leaseMs };
  const log = options.log.child({ lease: `${namespace}/${name}`, identity });
  let isLeader = false;
  const forgetMetric = metrics?.sampled('podloom_leader', 'Is this process the leader?', { lease: name }, () =>
    Number(isLeader),
  );

  try {
    for (let isDone = false; !isDone;) {
      const held = await acquire();
      if (!held) break;
      log.info({ transitions: held.lease.spec?.leaseTransitions }, 'Became leader');
      isDone = await leadFrom(held);
    }
  } finally {
    forgetMetric?.();
  }

  async function acquire(): Promise<Held | undefined> {
    const watching = new AbortController();
    const stop = AbortSignal.any([signal, watching.signal]);
    let seenMs = clock.monotonicMs();
    let last: Lease | undefined;
    let changed = Promise.withResolvers<void>();
    const cache = startCache({
      client,
      resource: leases,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      log,
      clock,
      random,
      signal: stop,
    });
    cache.subscribe(({ old, now }) => {
      // Who deletes the record does not end the work of its holder, who learns of it at its next renewal.
      last = now ?? old;
      seenMs = clock.monotonicMs();
      changed.resolve();
      changed = Promise.withResolvers();
    });
    try {
      await Promise.race([cache.waitForSync(), aborted(signal)]);
      while (!signal.aborted) {
        const next = changed.promise;
        const lease = cache.get(name, namespace);
        const leftMs = waitMs(last, identity, seenMs, clock.monotonicMs(), terms);
        if (leftMs > 0) {
          await firstOf(next, leftMs);
          continue;
        }
        try {
          return await take(lease);
        } catch (error) {
          if (signal.aborted) break;
          log.debug({ err: error }, 'Could not take the lease');
          await firstOf(next, retryEveryMs(terms) * (0.5 + random()));
        }
      }
      return undefined;
    } finally {
      watching.abort();
      await cache.ended;
    }
  }

  /** Writes us into the very record that we saw unchanged: if it has changed since, the server refuses. */
  async function take(lease: Lease | undefined): Promise<Held> {
    const renewedMs = clock.monotonicMs();
    const spec = takenSpec(lease, identity, clock.now(), terms);
    const written = await within(renewedMs + stopAfterMs(terms), (late) => {
      const call = { namespace, signal: AbortSignal.any([signal, late]) };
      if (lease) return client.update(leases, { ...lease, spec }, call);
      return client.create(leases, { metadata: { name, namespace }, spec }, call);
    });
    return { lease: written, renewedMs };
  }

  /** Whether the work ended while the lease was ours: by itself, or because it was told to stop. */
  async function leadFrom(first: Held): Promise<boolean> {
    let held: Held | undefined = first;
    let renewedMs = first.renewedMs;
    const working = new AbortController();
    isLeader = true;
    const work = (async () => options.lead(AbortSignal.any([signal, working.signal])))();
    const workEnds = work.then(
      () => undefined,
      () => undefined,
    );
    const over = new AbortController();
    void workEnds.then(() => over.abort());

    // Renewing goes on while the work stops, so that a slow stop is no loss.
    while (held && !over.signal.aborted) {
      renewedMs = held.renewedMs;
      await delay(clock, renewedMs + renewEveryMs(terms) - clock.monotonicMs(), over.signal);
      if (!over.signal.aborted) held = await renew(held, over.signal);
    }
    if (!held) {
      log.error({}, 'Lost leadership, stopping work');
      working.abort();
      const cancelForce = clock.after(renewedMs + forceAfterMs(terms) - clock.monotonicMs(), force);
      await workEnds;
      cancelForce();
    }
    isLeader = false;
    if (held) await release(held);
    await work;
    return held !== undefined;
  }

  /** Undefined: the lease is lost, because another has it or because time is up. */
  async function renew(held: Held, over: AbortSignal): Promise<Held | undefined> {
    const deadlineMs = held.renewedMs + stopAfterMs(terms);
    let { lease } = held;
    for (;;) {
      const renewedMs = clock.monotonicMs();
      if (renewedMs >= deadlineMs) return undefined;
      try {
        const spec = takenSpec(lease, identity, clock.now(), terms);
        const current = lease;
        lease = await within(halfway(deadlineMs), (signal) =>
          client.update(leases, { ...current, spec }, { namespace, signal }),
        );
        return { lease, renewedMs };
      } catch (error) {
        if (over.aborted) return held;
        log.warn({ err: error }, 'Could not renew the lease, will retry');
        // Someone touched the record, or our own write arrived though its answer did not: what counts is who is in it.
        if (isStale(error) || isNotFound(error)) {
          const now = await look(deadlineMs);
          if (now === 'gone' || (now && now.spec?.holderIdentity !== identity)) return undefined;
          if (now) {
            lease = now;
            continue;
          }
        }
        const againMs = Math.min(renewedMs + retryEveryMs(terms), deadlineMs);
        await delay(clock, againMs - clock.monotonicMs(), over);
        if (over.aborted) return held;
      }
    }
  }

  async function look(deadlineMs: number): Promise<Lease | 'gone' | undefined> {
    try {
      return await within(halfway(deadlineMs), (signal) => client.get(leases, name, { namespace, signal }));
    } catch (error) {
      return isNotFound(error) ? 'gone' : undefined;
    }
  }

  async function release({ lease, renewedMs }: Held): Promise<void> {
    try {
      const spec = releasedSpec(lease, clock.now());
      await within(renewedMs + forceAfterMs(terms), (signal) =>
        client.update(leases, { ...lease, spec }, { namespace, signal }),
      );
      log.info({}, 'Released leadership');
    } catch (error) {
      log.warn({ err: error }, 'Could not release the lease, it will run out');
    }
  }

  /** One try may take half of the time that is left: long enough for a slow server, and another try remains if the answer got lost. */
  function halfway(deadlineMs: number): number {
    return (clock.monotonicMs() + deadlineMs) / 2;
  }

  /** Gives up on a call at a moment of our clock, whether or not the call itself notices. */
  async function within<R>(deadlineMs: number, call: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const late = new AbortController();
    const cancel = clock.after(deadlineMs - clock.monotonicMs(), () => late.abort(new Error('Took too long')));
    try {
      return await Promise.race([
        call(late.signal),
        aborted(late.signal).then(() => Promise.reject(late.signal.reason)),
      ]);
    } finally {
      cancel();
    }
  }

  async function firstOf(event: Promise<void>, ms: number): Promise<void> {
    const waited = new AbortController();
    await Promise.race([event, delay(clock, ms, AbortSignal.any([signal, waited.signal]))]);
    waited.abort();
  }
}

function endProcess(): void {
  process.exit(70);
}
