/** Servers that end with the process that started them, for tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** A child that the kernel kills when we die: a test run that is killed leaves no servers behind. */
export function startMortal(
  command: string,
  args: readonly string[],
  log: string,
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const fd = openSync(log, 'a');
  try {
    return spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
      stdio: ['ignore', fd, fd],
      env: { ...process.env, ...env },
    });
  } finally {
    closeSync(fd);
  }
}

export async function end(child: ChildProcess | undefined, how: NodeJS.Signals): Promise<void> {
  if (!child || hasEnded(child)) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(how);
  await ended;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
