/** What failed in a pass. Actions are independent: each failure is put down here and the pass goes on. */
import { Unavailable } from '@podloom/api';
import { type OwnedFailure, type Result, retry, retryAfter } from '@podloom/kube';

export interface Failures {
  readonly list: readonly OwnedFailure[];
  add(failures: readonly OwnedFailure[]): void;
  /** Runs an action; undefined where it failed. */
  attempt<T>(what: string, action: () => Promise<T>): Promise<T | undefined>;
}

export function collectFailures(signal: AbortSignal): Failures {
  const list: OwnedFailure[] = [];
  return {
    list,
    add: (failures) => void list.push(...failures),
    async attempt(object, action) {
      try {
        return await action();
      } catch (error) {
        if (signal.aborted) throw error;
        list.push({ object, error });
        return undefined;
      }
    },
  };
}

const mostNamed = 8;

/** One line for the status: which action failed, and why. */
export function summaryOf(list: readonly OwnedFailure[]): string {
  const lines = list.slice(0, mostNamed).map(({ object, error }) => `${object}: ${messageOf(error)}`);
  const rest = list.length - lines.length;
  return [...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; ').slice(0, 2_000);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A pass that failed is repeated soon; a good one after a random time, so that not all come at once. */
export function resultOf(
  list: readonly OwnedFailure[],
  again: { readonly minMs: number; readonly maxMs: number },
  sooner?: number,
): Result {
  if (list.length > 0) return retry(new Unavailable('LABS_INCOMPLETE', summaryOf(list)));
  const randomMs = again.minMs + Math.random() * (again.maxMs - again.minMs);
  const ms = again.maxMs > 0 ? Math.min(randomMs, sooner ?? Infinity) : sooner;
  return ms === undefined ? { kind: 'done' } : retryAfter(ms, 'Looks again from time to time');
}
