/**
 * The parts of a process, each of which works by itself. One that fails is started again after a while, and the others do not notice. Nothing here
 * knows why they work: an operator runs its parts while it leads (operator.ts).
 */
import { Bug } from '@podloom/api';
import type { Client } from '../client/client.ts';
import { delay } from '../clock/clock.ts';
import type { Clock } from '../clock/clock.ts';
import type { EventRecorder } from '../events/recorder.ts';
import type { Log } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import type { Check } from '../process/server.ts';
import { backoffMs } from '../queue/backoff.ts';

/** What all parts of a process share. */
export interface Shared {
  readonly client: Client;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PartContext extends Shared {
  /** Carries the name of the part. */
  readonly log: Log;
  /** Aborts when the process ends or no longer leads, and when this start has failed: whatever the part began ends with it. */
  readonly signal: AbortSignal;
  /** Sets what /readyz asks of this part from now on. A part that sets nothing is ready as soon as it is started. */
  readonly readiness: (check: Check) => void;
}

export interface Part {
  /** For logs, metrics and /readyz. */
  readonly name: string;
  /** Works until the signal aborts, and returns when nothing of it runs any more. It may be started again after that, and must then begin anew. */
  start(context: PartContext): Promise<void>;
}

export interface Parts {
  /** What /readyz asks: one answer a part. Parts that are not running are ready to. */
  readonly checks: Readonly<Record<string, Check>>;
  /** Runs all parts until the signal aborts; resolves when the last of them has ended. Can be called again after that. */
  run(signal: AbortSignal): Promise<void>;
}

/** As the kubelet does with a container, but a part that needs only a moment's patience has it. */
const patience = { minMs: 1_000, maxMs: 60_000 };

export function runnable(parts: readonly Part[], shared: Shared): Parts {
  const checks = new Map<Part, Check>(parts.map((part) => [part, ready]));
  const failed = shared.metrics.counter(
    'podloom_part_failures_total',
    'Which part of the process fails, and how often?',
    ['part'],
  );

  async function keepRunning(part: Part, signal: AbortSignal): Promise<void> {
    const log = shared.log.child({ part: part.name });
    for (let failures = 0; !signal.aborted;) {
      const startedMs = shared.clock.monotonicMs();
      const error = await runOnce(part, log, signal);
      if (signal.aborted) {
        if (error !== undefined) log.info({ err: error }, 'Part was stopped in the middle of work');
        break;
      }
      // One that worked for long has nothing to do with the failures before.
      failures = shared.clock.monotonicMs() - startedMs > patience.maxMs ? 1 : failures + 1;
      const againMs = backoffMs(failures, patience);
      failed.add({ part: part.name });
      log.error({ err: error, againMs }, 'Part failed, will be started again');
      checks.set(part, () => `failed, will be started again: ${messageOf(error)}`);
      await delay(shared.clock, againMs, signal);
    }
    checks.set(part, ready);
  }

  /** Returns why the part has ended; nothing, where it was told to. */
  async function runOnce(part: Part, log: Log, signal: AbortSignal): Promise<unknown> {
    const own = new AbortController();
    checks.set(part, ready);
    try {
      await part.start({
        ...shared,
        log,
        signal: AbortSignal.any([signal, own.signal]),
        readiness: (check) => checks.set(part, check),
      });
      return signal.aborted ? undefined : new Bug('PART_ENDED', `${part.name} ended although nobody told it to`);
    } catch (error) {
      return error;
    } finally {
      own.abort();
    }
  }

  return {
    checks: Object.fromEntries(parts.map((part) => [part.name, () => checks.get(part)?.() ?? true])),
    run: async (signal) => void (await Promise.all(parts.map((part) => keepRunning(part, signal)))),
  };
}

const ready: Check = () => true;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
