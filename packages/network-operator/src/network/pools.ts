/**
 * Pools that nobody needs any more go after a rest in which every address in them has cooled down: who declares the same network again a moment later
 * does not get the addresses that others had just now. How full the others are is measured.
 */
import { type IPPool, ipPoolKind } from '@podloom/api';
import { type Metrics, type ObjectKey, isNotFound, isStale, keyOf, workQueue } from '@podloom/kube';
import { coolDownMs, declaredNetworks } from '@podloom/network';
import { asksOtherwise } from './caches.ts';
import type { NetworkContext } from './context.ts';

export interface PoolCareOptions {
  readonly signal: AbortSignal;
  readonly metrics: Metrics;
}

export function startPoolCare(
  { caches, view, client, clock, log }: NetworkContext,
  { signal, metrics }: PoolCareOptions,
): AsyncDisposable {
  const used = metrics.gauge('podloom_addresses_used', 'How many addresses of a pool are in use?', [
    'namespace',
    'network',
    'pool',
  ]);
  const free = metrics.gauge('podloom_addresses_free', 'How many addresses of a pool can be handed out?', [
    'namespace',
    'network',
    'pool',
  ]);
  /** Since when nobody has needed a pool, and nothing in it has changed. */
  const restsSinceMs = new Map<ObjectKey, number>();
  const queue = workQueue<ObjectKey>({
    clock,
    concurrency: 4,
    async run(key) {
      const pool = caches.pools.getByKey(key);
      if (!pool || isNeeded(pool) || signal.aborted) {
        restsSinceMs.delete(key);
        return 'done';
      }
      const nowMs = clock.monotonicMs();
      const sinceMs = restsSinceMs.get(key) ?? nowMs;
      restsSinceMs.set(key, sinceMs);
      if (nowMs - sinceMs < coolDownMs) return { retryAfterMs: sinceMs + coolDownMs - nowMs };
      const { name = '', namespace, uid, resourceVersion } = pool.metadata;
      try {
        // The very pool that we saw empty: one that was just given an address from stays.
        await client.delete(ipPoolKind.resource, name, { namespace, uid, resourceVersion, signal });
      } catch (error) {
        if (signal.aborted || isNotFound(error) || isStale(error)) return 'done';
        log.warn({ pool: key, err: error }, 'Could not remove IPPool, will retry');
        return 'failed';
      }
      return 'done';
    },
  });

  function isNeeded({ metadata: { namespace = '' }, spec, status }: IPPool): boolean {
    if (status?.allocations?.some(({ releasedAt }) => releasedAt === undefined)) return true;
    return declaredNetworks(view.settledIn(namespace)).some(
      ({ network, cidr }) => network === spec.network && cidr === spec.cidr,
    );
  }

  const forget = (pool: IPPool): void => {
    used.remove(labelsOf(pool));
    free.remove(labelsOf(pool));
  };
  const undo = [
    caches.pools.subscribe(({ key, old, now }) => {
      restsSinceMs.delete(key);
      if (now) {
        used.set(labelsOf(now), now.status?.used ?? 0);
        free.set(labelsOf(now), now.status?.free ?? 0);
        queue.add(key);
      } else if (old) forget(old);
    }),
    ...[...caches.sources.values()].map((cache) =>
      cache.subscribe(({ old, now }) => {
        if (old && now && !asksOtherwise(old, now)) return;
        for (const pool of caches.pools.by('namespace', (now ?? old)?.metadata.namespace ?? '')) queue.add(keyOf(pool));
      }),
    ),
  ];
  return {
    async [Symbol.asyncDispose]() {
      undo.forEach((step) => step());
      // Whoever leads next has the figures.
      caches.pools.list().forEach(forget);
      await queue.stop();
    },
  };
}

const labelsOf = ({ metadata, spec }: IPPool) => ({
  namespace: metadata.namespace ?? '',
  network: spec.network,
  pool: metadata.name ?? '',
});
