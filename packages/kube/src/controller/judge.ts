/**
 * What a run's result means for its key, said once and in the log. The class of an error decides (see PodloomError): what the user must fix waits for
 * a change, what the world must fix is tried again, what we must fix is shouted about.
 */
import { PodloomError } from '@podloom/api';
import { isApiError } from '../client/errors.ts';
import type { Log } from '../process/log.ts';
import type { Outcome } from '../queue/queue.ts';
import type { Result } from './result.ts';

export type ResultLabel = 'done' | 'retryAfter' | 'whenChanged' | 'backoff' | 'bug' | 'stopped';

export function judge(result: Result, stopped: AbortSignal, log: Log): { outcome: Outcome; label: ResultLabel } {
  if (result.kind === 'done') return { outcome: 'done', label: 'done' };
  if (result.kind === 'retryAfter') {
    log.debug({ ms: result.ms, why: result.why }, 'Will look again');
    return { outcome: { retryAfterMs: result.ms }, label: 'retryAfter' };
  }
  const { error } = result;
  if (stopped.aborted) {
    log.debug({ err: error }, 'Stopped within a reconcile');
    return { outcome: 'done', label: 'stopped' };
  }
  if (!(error instanceof PodloomError)) {
    // No one translated it, so no one foresaw it: surely a mistake of ours, but perhaps one that passes.
    log.error({ err: error }, 'Reconcile broke, will retry');
    return { outcome: 'failed', label: 'bug' };
  }
  if (error.retry === 'whenChanged') {
    log.info({ err: error }, 'Reconcile needs a change first');
    return { outcome: 'done', label: 'whenChanged' };
  }
  if (error.retry === 'backoff') {
    log.warn({ err: error }, 'Could not reconcile, will retry');
    const askedMs = isApiError(error) ? error.api.retryAfterMs : undefined;
    return { outcome: askedMs === undefined ? 'failed' : { retryAfterMs: askedMs, failed: true }, label: 'backoff' };
  }
  log.error({ err: error }, 'Reconcile hit a bug, will not retry');
  return { outcome: 'done', label: 'bug' };
}
