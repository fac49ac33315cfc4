/**
 * Follows the runtime's events, so that a pod's processes are known before anyone asks for them, and a pod that waits for its sandbox is looked at
 * when it comes. Nothing depends on it: a runtime without events is not followed but asked when needed, and pods that wait are asked about again.
 */
import { type Clock, type Log, backoffMs, delay } from '@podloom/kube';
import { type CriClient, type CriEvent, NotOffered } from './client.ts';
import type { PodFinder } from './finder.ts';

export interface FollowOptions {
  readonly cri: CriClient;
  readonly finder: PodFinder;
  /** A container or the sandbox of this pod came or went. */
  readonly changed: (podUid: string) => void;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const backoff = { minMs: 100, maxMs: 5_000 };

/** Events that end well this soon were never there: CRI-O does so without `enable_pod_events`. A runtime that shuts down ends them well, too, but later. */
const atOnceMs = 1_000;

export async function followRuntime({ cri, finder, changed, log, clock, signal }: FollowOptions): Promise<void> {
  const hear = ({ id, what, podUid = finder.podOf(id) }: CriEvent): void => {
    if (podUid === undefined) return;
    if (what === 'containerStarted') void prefetch(podUid);
    if (what === 'sandboxRemoved') finder.forget(podUid);
    changed(podUid);
  };
  async function prefetch(podUid: string): Promise<void> {
    try {
      await finder.find(podUid);
    } catch (error) {
      log.debug({ err: error, podUid }, 'Could not ask for a pod ahead of time');
    }
  }
  async function prefetchAll(): Promise<void> {
    finder.forgetGone(); // of some of them nobody told us while we did not listen
    const ready = (await cri.sandboxes()).filter(({ isReady }) => isReady);
    for (const { podUid } of ready) {
      if (signal.aborted) return;
      await prefetch(podUid);
      changed(podUid); // it may wait for a runtime that did not answer
    }
    log.info({ pods: ready.length }, 'Found the pods of the container runtime');
  }

  for (let failures = 0; !signal.aborted;) {
    const beganMs = clock.monotonicMs();
    const following = cri.events(hear, signal);
    // First listen, then look: what comes in between is told twice, not missed.
    const looking = prefetchAll().catch((error: unknown) =>
      log.warn({ err: error }, 'Could not list the pods of the container runtime'),
    );
    const error: unknown = await following.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const tookMs = clock.monotonicMs() - beganMs;
    await looking;
    if (signal.aborted) return;
    if (error instanceof NotOffered || (error === undefined && tookMs < atOnceMs)) {
      log.warn({ err: error }, 'The container runtime tells of no events, Pods are found when they are asked for');
      return;
    }
    failures = tookMs > backoff.maxMs ? 1 : failures + 1;
    log.info({ err: error }, 'Lost the events of the container runtime, will ask again');
    await delay(clock, backoffMs(failures, backoff, Math.random), signal);
  }
}
