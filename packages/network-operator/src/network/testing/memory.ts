/**
 * Prints how many megabytes of the heap the caches hold of pods and their PodNetworks, 20,000 of each, and how many the process has had at most: `whole` as the
 * server sends them, `kept` as the operator keeps them. Needs --expose-gc.
 * Another number of them may follow.
 */
import { podNetworkKind } from '@podloom/api';
import { type Client, pods, silentLog, startCache } from '@podloom/kube';
import { startCaches } from '../caches.ts';
import { clutteredPod, clutteredPodNetwork } from './cluttered.ts';

const count = Number(process.argv[3] ?? 20_000);
const makers = new Map<string, (i: number) => unknown>([
  [pods.plural, clutteredPod],
  [podNetworkKind.resource.plural, clutteredPodNetwork],
]);

/** Lists what the makers make, in pages, and never has news. */
const client = {
  list({ plural }: { plural: string }, { limit, continue: from = '0' }: { limit: number; continue?: string }) {
    const make = makers.get(plural);
    const first = Number(from);
    const items = make ? Array.from({ length: limit }, (_, i) => make(first + i)) : [];
    const next = first + limit;
    return Promise.resolve({ items, metadata: make && next < count ? { continue: String(next) } : {} });
  },
  watch: (_: unknown, { signal }: { signal: AbortSignal }) => ({
    [Symbol.asyncIterator]: () => ({
      next: () =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ done: true, value: undefined }))),
    }),
  }),
} as unknown as Client;

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const stop = new AbortController();
const context = { client, log: silentLog, signal: stop.signal };
const before = heapMb();
const caches =
  process.argv[2] === 'whole'
    ? [
        startCache({ ...context, resource: pods, keepManagedFields: true }),
        startCache({ ...context, resource: podNetworkKind.resource, keepManagedFields: true }),
      ]
    : [startCaches(context)];
await Promise.all(caches.map((cache) => cache.waitForSync()));
const heap = heapMb() - before;
console.log(`${heap.toFixed(0)} ${(process.resourceUsage().maxRSS / 1024).toFixed(0)}`);
stop.abort();
await Promise.all(caches.map(({ ended }) => ended));
