/**
 * Runs a short command and returns what it printed. Arguments are a list and never reach a shell.
 */
import { spawn } from 'node:child_process';
import { Unavailable } from '@podloom/api';
import { widePath } from './path.ts';

interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
  /** A descriptor to read from instead of `input`. */
  stdin?: number;
  signal?: AbortSignal;
}

export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const child = spawn(command, args, {
    env: { ...process.env, PATH: widePath(), ...options.env },
    cwd: options.cwd,
    stdio: [options.stdin ?? (options.input === undefined ? 'ignore' : 'pipe'), 'pipe', 'pipe'],
    signal: options.signal,
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  // A command that ends without reading its input closes the pipe under us; its exit code tells the story.
  child.stdin?.on('error', () => child.stdin?.destroy());
  child.stdin?.end(options.input);

  const code = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal ?? -1));
  }).catch((error: unknown) => {
    options.signal?.throwIfAborted();
    throw new Unavailable('COMMAND', `${command} could not be started: ${String(error)}`, { cause: error });
  });
  if (code !== 0) {
    const said = Buffer.concat(err).toString().trim() || Buffer.concat(out).toString().trim();
    throw new Unavailable(
      'COMMAND',
      `${[command, ...args].join(' ').slice(0, 300)} ended with ${code}: ${said.slice(-2000)}`,
    );
  }
  return Buffer.concat(out).toString();
}
