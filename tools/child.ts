/** Runs a program to its end on our terminal. It hears what would end us, and is over before we are: left behind, it would go on by itself. */
import { spawn } from 'node:child_process';

const signals = ['SIGINT', 'SIGTERM'] as const;

/** The exit code; by a signal of its own it is 1. A signal that was passed on ends this process as well. */
export async function runToEnd(program: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(program, args, { cwd, stdio: 'inherit' });
  let passedOn: NodeJS.Signals | undefined;
  const passOn = (signal: NodeJS.Signals): void => {
    passedOn = signal;
    child.kill(signal);
  };
  for (const signal of signals) process.on(signal, passOn);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    for (const signal of signals) process.off(signal, passOn);
    if (passedOn !== undefined) process.kill(process.pid, passedOn);
  }
}
