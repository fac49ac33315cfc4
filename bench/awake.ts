/**
 * A processor with nothing to do halts, and where the machine is itself a guest, waking it is the hypervisor's work: it would be part of each
 * hand-over between processes, and a sample has dozens. The kernel keeps processors awake for as long as somebody holds this file open with a
 * wish for no latency in it.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

export interface Awake extends Disposable {
  /** What a reader of the figures must know. */
  readonly note: string;
}

export function keepAwake(): Awake {
  let file: number;
  try {
    file = openSync('/dev/cpu_dma_latency', 'w');
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
