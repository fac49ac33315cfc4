/** One process that is kept running: when it ends, it is started again, later each time that it did not last. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessState } from '../cluster/state.ts';

export interface DaemonOptions {
  name: string;
  command: readonly [string, ...string[]];
  env: Record<string, string>;
  log: string;
  /** Called at every change of state. */
  changed: () => void;
  signal: AbortSignal;
}

const shortestPauseMs = 100;
const longestPauseMs = 10_000;
/** A process that lived this long is taken to be well: the next pause is the shortest again. */
const wellAfterMs = 20_000;

export class Daemon {
  readonly state: ProcessState;
  readonly #options: DaemonOptions;

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.state = { name: options.name, state: 'restarting', pid: null, restarts: 0, since: new Date().toISOString() };
  }

  /** Runs until the signal; never rejects, because an end is what it is there for. */
  async keepRunning(): Promise<void> {
    const { signal } = this.#options;
    let pauseMs = shortestPauseMs;
    while (!signal.aborted) {
      const started = Date.now();
      const how = await this.#once();
      if (signal.aborted) return;
      if (Date.now() - started > wellAfterMs) pauseMs = shortestPauseMs;
      this.#become({ state: 'restarting', pid: null, lastExit: how, restarts: this.state.restarts + 1 });
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    }
  }

  async #once(): Promise<string> {
    const { command, env, log } = this.#options;
    const [program, ...args] = command;
    const fd = openSync(log, 'a', 0o600);
    const child = spawn(program, args, { env, stdio: ['ignore', fd, fd] });
    closeSync(fd);
    return new Promise((resolve) => {
      child.once('spawn', () => this.#become({ state: 'running', pid: child.pid ?? null }));
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  #become(change: Partial<ProcessState>): void {
    Object.assign(this.state, change, { since: new Date().toISOString() });
    this.#options.changed();
  }
}
