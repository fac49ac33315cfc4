/** Figures of a machine that is at work with something else are figures of that. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const quiet = { busyShare: 0.2, lookMs: 2_000, patienceMs: 120_000 };

/** Waits until the machine does little else: what was started may still be at work. Gives up in the end, and the report says how loaded the machine was. */
export async function quietMachine(): Promise<void> {
  const untilMs = performance.now() + quiet.patienceMs;
  for (let before = processorTime(); performance.now() < untilMs;) {
    await sleep(quiet.lookMs);
    const now = processorTime();
    if ((now.busy - before.busy) / (now.all - before.all) < quiet.busyShare) return;
    before = now;
  }
}

function processorTime(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  const all = times.reduce((sum, time) => sum + time, 0);
  return { all, busy: all - times[3]! - times[4]! };
}
