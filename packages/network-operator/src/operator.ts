/**
 * The operator as a process: a Lease that decides who works, and the work. Who stands by watches the Lease and nothing else. It never touches a node; what
 * it wants done there it writes into PodNetworks.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { InvalidInput, isCidr } from '@podloom/api';
import {
  type Cache,
  type Client,
  type Clock,
  type Log,
  type Metrics,
  backoffMs,
  counted,
  delay,
  isForbidden,
  isNotFound,
  runAsLeader,
  serviceCidrs,
  startCache,
  startEvents,
  startServer,
  systemClock,
} from '@podloom/kube';
import { type Caches, type ServiceRange, startCaches } from './network/caches.ts';
import { leadNetwork } from './network/lead.ts';
import { measureAttachments } from './network/metrics.ts';
import type { NetworkOperatorSettings } from './settings.ts';

export interface NetworkOperatorOptions {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics: Metrics;
  /** For pools, Events and statuses; leadership is by the machine's own clock. */
  readonly clock?: Clock | undefined;
  /** Called when the work outlives the lease; ends the process where nothing else is said. */
  readonly force?: (() => void) | undefined;
}

/** Runs until the signal aborts; resolves when nothing of it runs any more and the Lease is free. */
export async function runNetworkOperator(
  settings: NetworkOperatorSettings,
  options: NetworkOperatorOptions,
): Promise<void> {
  const { log, metrics, clock = systemClock, force } = options;
  const reservedCidrs = parseCidrs(settings.reservedCidrs);
  const client = counted(options.client, metrics);
  // What was started here ends here, also when something fails half-way.
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const events = startEvents({ client, component: 'podloom-network-operator', log, signal, metrics, clock });
  let caches: Caches | undefined;
  try {
    if (settings.port > 0) {
      const synced = () => (caches?.isSynced ?? true) || 'The caches are not filled yet';
      await startServer({ port: settings.port, ready: { caches: synced }, metrics, log, signal });
    }
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
        async lead(leading) {
          const { sampleImage, onlyNamespace } = settings;
          const over = new AbortController();
          const term = AbortSignal.any([leading, over.signal]);
          const held = startCaches({ client, log, signal: term, onlyNamespace });
          caches = held;
          const endMeasuring = measureAttachments(held, metrics);
          let serviceRanges: Cache<ServiceRange> | undefined;
          try {
            serviceRanges = await watchServiceRanges({ client, log }, term);
            await held.waitForSync();
            await leadNetwork(
              { client, caches: held, serviceRanges, events, log, metrics, clock, sampleImage, reservedCidrs },
              leading,
            );
          } catch (error) {
            if (!leading.aborted) throw error;
            log.info({ err: error }, 'Leadership ended in the middle of work');
          } finally {
            endMeasuring();
            caches = undefined;
            over.abort();
            await held.ended;
            await serviceRanges?.ended;
          }
        },
      },
      signal,
    );
  } finally {
    own.abort();
    await events.ended;
  }
}

/**
 * The ranges of Services, from now on. Without them a network could take an address of a Service from a whole node, so nothing is handed out before they
 * are read. Servers before 1.33 do not tell.
 */
async function watchServiceRanges(
  { client, log }: Pick<NetworkOperatorOptions, 'client' | 'log'>,
  signal: AbortSignal,
): Promise<Cache<ServiceRange> | undefined> {
  for (let failures = 1; ; failures += 1) {
    try {
      await client.list(serviceCidrs, { limit: 1, signal });
      break;
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) return undefined;
      if (isForbidden(error)) {
        log.warn({ err: error }, 'May not read the ranges of Services, only RESERVED_CIDRS protects them');
        return undefined;
      }
      log.warn({ err: error }, 'Could not read the ranges of Services, will retry');
      await delay(systemClock, backoffMs(failures, { minMs: 100, maxMs: 10_000 }), signal);
    }
  }
  const cache = startCache({ client, resource: serviceCidrs, log, signal });
  await cache.waitForSync();
  return cache;
}

function parseCidrs(text: string): string[] {
  const cidrs = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const bad = cidrs.find((cidr) => !isCidr(cidr));
  if (bad !== undefined)
    throw new InvalidInput('RESERVED_CIDRS', `"${bad}" in reservedCidrs is no range such as 10.96.0.0/12`);
  return cidrs;
}
