/**
 * Runs one plugin: no shell, an environment of its own, an end in time, and no more of what it says than fits. A plugin may start others: all
 * that it started is killed with it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginFailure } from './attachment.ts';
import type { JsonObject } from './config.ts';
import { failureOf } from './result.ts';

export interface PluginRun {
  readonly type: string;
  readonly input: JsonObject;
  readonly environment: Readonly<Record<string, string>>;
}

/** A process is no promise, which a namespace could not be left for. */
export type PluginProcess = ChildProcess & { then?: never };

export interface PluginHost {
  /** Folders of the plugins, separated by colons: the first that has it. */
  readonly binPath: string;
  readonly limitMs: number;
  /** Starts the program where the node's network is. */
  readonly inNode: (start: () => PluginProcess) => PluginProcess;
}

/** A result with a hundred routes is some ten thousand bytes. */
const mostOutput = 262_144;
const mostErrors = 8_192;
/** So long something that left the plugin's group may keep its output open. */
const graceMs = 1_000;

/** What it said on its standard output; throws where it failed, or did not come to an end. */
export async function runPlugin({ type, input, environment }: PluginRun, host: PluginHost): Promise<string> {
  const program = await findPlugin(type, host.binPath);
  const child = host.inNode(() =>
    spawn(program, [], { env: environment, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  const { exit, stdout, stderr } = await ending(child, type, JSON.stringify(input), host.limitMs);
  if (exit === 0) return stdout;
  throw failureOf(type, typeof exit === 'number' ? `exit code ${exit}` : exit, stdout, stderr);
}

async function findPlugin(type: string, binPath: string): Promise<string> {
  for (const folder of binPath.split(':').filter((one) => one !== '')) {
    const program = join(folder, type);
    try {
      await access(program, constants.X_OK);
      return program;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  throw new PluginFailure('PluginMissing', `The node has no CNI plugin ${type} in ${binPath}`);
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOENT', 'EACCES', 'ENOTDIR'].includes(String(error.code));

interface Ending {
  readonly exit: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

function ending(child: ChildProcess, type: string, input: string, limitMs: number): Promise<Ending> {
  const { promise, resolve, reject } = Promise.withResolvers<Ending>();
  let failure: PluginFailure | undefined;
  const stop = (reason: string, message: string): void => {
    failure ??= new PluginFailure(reason, `The CNI plugin ${type} ${message}`);
    killGroup(child.pid);
  };
  const stdout = collect(child.stdout, mostOutput, () => {
    stop('InvalidResult', `said more than ${mostOutput} bytes and was stopped`);
  });
  const stderr = collect(child.stderr, mostErrors);
  const timer = setTimeout(() => {
    stop('PluginTimeout', `did not end within ${limitMs / 1_000} seconds and was stopped`);
  }, limitMs);
  let grace: NodeJS.Timeout | undefined;

  child.once('error', (error) => {
    clearTimeout(timer);
    reject(new PluginFailure('PluginMissing', `The CNI plugin ${type} could not be started: ${error.message}`));
  });
  child.once('exit', () => {
    clearTimeout(timer);
    // What it left behind belongs to nobody and would keep its output open.
    killGroup(child.pid);
    grace = setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream?.destroy()), graceMs);
  });
  child.once('close', (code, signal) => {
    clearTimeout(grace);
    if (failure) reject(failure);
    else resolve({ exit: code ?? signal ?? 'no exit code', stdout: stdout(), stderr: stderr() });
  });
  // A plugin that does not read what it is told may end before it is told.
  child.stdin?.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') stop('PluginFailed', `took no input: ${error.message}`);
  });
  child.stdin?.end(input);
  return promise;
}

/** Its group has the number of its process, because it was started detached. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Keeps so many bytes, and reads on: who writes must not be kept waiting. */
function collect(stream: ChildProcess['stdout'], most: number, full?: () => void): () => string {
  const kept: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    if (size < most) kept.push(chunk.subarray(0, most - size));
    size += chunk.length;
    if (size > most) full?.();
  });
  return () => Buffer.concat(kept).toString('utf8');
}
