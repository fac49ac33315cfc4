/** The networks as a part of the operator: copies of all that is read, filled before anything is written, and the work upon them. */
import {
  type Cache,
  type Part,
  type PartContext,
  backoffMs,
  delay,
  isForbidden,
  isNotFound,
  serviceCidrs,
  startCache,
} from '@podloom/kube';
import { type ServiceRange, startCaches } from './caches.ts';
import { type NetworkOptions, leadNetwork } from './lead.ts';
import { measureAttachments } from './metrics.ts';

export interface NetworksOptions extends Pick<NetworkOptions, 'sampleImage' | 'reservedCidrs'> {
  /** Left out, all namespaces. */
  readonly onlyNamespace: string | undefined;
}

export const networks = ({ onlyNamespace, sampleImage, reservedCidrs }: NetworksOptions): Part => ({
  name: 'networks',
  async start({ client, log, metrics, events, clock, signal, readiness }) {
    const over = new AbortController();
    const term = AbortSignal.any([signal, over.signal]);
    const caches = startCaches({ client, log, signal: term, onlyNamespace });
    readiness(() => caches.isSynced || 'The caches are not filled yet');
    const endMeasuring = measureAttachments(caches, metrics);
    let serviceRanges: Cache<ServiceRange> | undefined;
    try {
      serviceRanges = await watchServiceRanges({ client, log, clock }, term);
      await caches.waitForSync();
      const work = { client, caches, serviceRanges, events, log, metrics, clock, sampleImage, reservedCidrs };
      await leadNetwork(work, signal);
    } finally {
      endMeasuring();
      over.abort();
      await caches.ended;
      await serviceRanges?.ended;
    }
  },
});

/**
 * The ranges of Services, from now on. Without them a network could take an address of a Service from a whole node, so nothing is handed out before they
 * are read. Servers before 1.33 do not tell.
 */
async function watchServiceRanges(
  { client, log, clock }: Pick<PartContext, 'client' | 'log' | 'clock'>,
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
      await delay(clock, backoffMs(failures, { minMs: 100, maxMs: 10_000 }), signal);
    }
  }
  const cache = startCache({ client, resource: serviceCidrs, log, signal });
  await cache.waitForSync();
  return cache;
}
