/**
 * An operator as a process: a Lease that decides which replica works, and the parts that do the work. A replica that stands by watches the Lease and
 * nothing else; it answers for its health and figures all the time.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Client } from '../client/client.ts';
import { counted } from '../client/counted.ts';
import { systemClock } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import { startEvents } from '../events/recorder.ts';
import { runAsLeader } from '../leader/election.ts';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { startServer } from '../process/server.ts';
import { runnable } from './parts.ts';
import type { Part } from './parts.ts';
import type { OperatorSettings } from './settings.ts';

/** What a process hands to an operator. */
export interface OperatorTools {
  readonly client: Client;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Ends the operator. */
  readonly signal: AbortSignal;
  /** For parts and Events; leadership is by the machine's own clock. */
  readonly clock?: Clock | undefined;
  /** Called when the work outlives the lease; ends the process where nothing else is said. */
  readonly force?: (() => void) | undefined;
}

export interface OperatorOptions extends OperatorTools {
  /** As people see it: who tells Events. */
  readonly name: string;
  readonly settings: OperatorSettings;
  /** Run by the leader. */
  readonly parts: readonly Part[];
  /** Further places at which health and figures are served, beside the port of the settings. */
  readonly addresses?: readonly { readonly host?: string | undefined; readonly port: number }[] | undefined;
}

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runOperator(options: OperatorOptions): Promise<void> {
  const { name, settings, log, metrics, force, clock = systemClock } = options;
  const client = counted(options.client, metrics);
  // Stops everything started here, also after a failure.
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const events = startEvents({ client, component: name, log, signal, metrics, clock });
  const parts = runnable(options.parts, { client, log, metrics, events, clock });
  const places = [...(settings.port > 0 ? [{ port: settings.port }] : []), ...(options.addresses ?? [])];
  try {
    for (const place of places) await startServer({ ...place, ready: parts.checks, metrics, log, signal });
    await runAsLeader(
      {
        client,
        name: settings.leaseName,
        namespace: settings.namespace,
        identity: `${settings.identity ?? hostname()}-${randomUUID().slice(0, 8)}`,
        leaseMs: settings.leaseDuration,
        log,
        metrics,
        force,
        lead: (leading) => parts.run(leading),
      },
      signal,
    );
  } finally {
    own.abort();
    await events.ended;
  }
}
