/** What links of ours each pod has, from nothing but the kernel's own messages. A link counts when it has an IPv4 address, is up and has a carrier. */
import type { MonitorEvent } from '@podloom/netlink';

export interface KernelWatch {
  readonly hear: (event: MonitorEvent<string>) => void;
  /** Resolves with the moment at which the last of the pods had exactly so many links that can be used. */
  until(pods: readonly string[], links: number): Promise<number>;
}

interface Waiter {
  readonly left: Set<string>;
  readonly links: number;
  readonly resolve: (atMs: number) => void;
  readonly reject: (error: Error) => void;
}

const lowerUp = 0x1_0000;
const patienceMs = 300_000;

export function kernelWatch(prefix: string): KernelWatch {
  const ours = new Map<string, Map<number, boolean>>();
  const addressed = new Map<string, Set<number>>();
  const waiters = new Set<Waiter>();

  const usable = (pod: string): number => {
    const links = [...(ours.get(pod) ?? [])];
    return links.filter(([index, isUp]) => isUp && addressed.get(pod)?.has(index)).length;
  };
  const isThere = (pod: string, links: number): boolean =>
    links === 0 ? (ours.get(pod)?.size ?? 0) === 0 : usable(pod) === links;

  function note(event: MonitorEvent<string>): void {
    const pod = event.in;
    if (event.kind === 'link' && event.link.name.startsWith(prefix)) {
      const links = part(ours, pod, () => new Map<number, boolean>());
      if (event.change === 'new') links.set(event.link.index, event.link.up && (event.link.flags & lowerUp) !== 0);
      else {
        links.delete(event.link.index);
        addressed.get(pod)?.delete(event.link.index);
      }
    } else if (event.kind === 'address' && !event.address.prefix.includes(':')) {
      const indexes = part(addressed, pod, () => new Set<number>());
      if (event.change === 'new') indexes.add(event.address.index);
      else indexes.delete(event.address.index);
    }
  }

  return {
    hear(event) {
      if (event.kind === 'overflow' || event.kind === 'gone') {
        const error = new Error(`Listening in pod ${event.in} ended with ${event.kind}`);
        for (const { reject } of waiters) reject(error);
        return;
      }
      note(event);
      for (const waiter of waiters) {
        if (!waiter.left.has(event.in) || !isThere(event.in, waiter.links)) continue;
        waiter.left.delete(event.in);
        if (waiter.left.size === 0) waiter.resolve(performance.now());
      }
    },
    async until(pods, links) {
      const left = new Set(pods.filter((pod) => !isThere(pod, links)));
      if (left.size === 0) return performance.now();
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const waiter = { left, links, resolve, reject };
      waiters.add(waiter);
      const timer = setTimeout(() => {
        const [some] = left;
        reject(new Error(`${left.size} pods, as ${some}, have not ${links} links after ${patienceMs / 1000} s`));
      }, patienceMs);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiters.delete(waiter);
      }
    },
  };
}

const part = <T>(all: Map<string, T>, pod: string, make: () => T): T => {
  const known = all.get(pod) ?? make();
  all.set(pod, known);
  return known;
};
