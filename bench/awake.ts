/**
 * A processor with nothing to do halts, and where the machine is itself a guest, waking it is the hypervisor's work: it would be part of each
 * hand-over between processes, and a sample has dozens. The kernel keeps processors awake for as long as somebody holds this file open with a
 * wish for no latency in it; but it takes any wish, and heeds it only where it has a choice of ways to be idle, the first of which is to poll.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Awake extends Disposable {
  /** What a reader of the figures must know. */
  readonly note: string;
}

export function keepAwake(wish = '/dev/cpu_dma_latency', processors = '/sys/devices/system/cpu'): Awake {
  let file: number;
  try {
    const driver = read(processors, 'cpuidle/current_driver');
    const first = read(processors, 'cpu0/cpuidle/state0/name');
    if (driver === 'none' || first !== 'POLL') throw new Error(`cpuidle has driver ${driver} and begins with ${first}`);
    file = openSync(wish, 'w');
    writeSync(file, new Uint8Array(4));
  } catch (error) {
    const { message } = error as Error;
    return {
      note: `Processors halt when idle (${message}): latencies are also those of waking them.`,
      [Symbol.dispose]() {},
    };
  }
  return {
    note: 'Processors are kept awake, for the floor as for us: what waking them takes is the figure of a hypervisor.',
    [Symbol.dispose]: () => closeSync(file),
  };
}

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8').trim();
