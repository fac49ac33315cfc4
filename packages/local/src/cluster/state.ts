/**
 * What a supervisor knows, told by itself: it answers each connection to a socket in its cluster's folder with one line of JSON.
 * Nothing about a running cluster is written down, so nothing can be out of date.
 *
 * An answer is the only sign of life that a killed process cannot give. Its entry in /proc, its file locks and its listening socket all
 * outlast the signal, by a tenth of a second where there is much memory to free; connecting still succeeds then. But it runs
 * no code of its own any more, and the connection breaks at last.
 */
import { rm } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Unavailable } from '@podloom/api';
import type { PartState } from '../parts/part.ts';

export interface ProcessState {
  /** As `kube-apiserver` or `n1/kubelet`. */
  name: string;
  state: 'running' | 'restarting';
  pid: number | null;
  restarts: number;
  /** When it came into this state, in ISO 8601. */
  since: string;
  /** How it last ended, if it did. */
  lastExit?: string;
}

export interface SupervisorState {
  pid: number;
  phase: 'starting' | 'ready';
  /** What is being done or waited for, for people. */
  step: string;
  /** Processes that hold namespaces: `control` and one for each node. */
  holders: Record<string, number>;
  processes: ProcessState[];
  /** Absent where the supervisor is of a version that knows of none. */
  parts?: PartState[];
}

const socketIn = (dir: string): string => join(dir, 'supervisor.sock');

/** Answers from now on, until the server is closed or this process ends. There is one supervisor at a time: what is found in its place is a dead one's. */
export async function serveState(
  dir: string,
  state: Readonly<SupervisorState>,
  asked?: () => Promise<void>,
): Promise<Server> {
  const path = socketIn(dir);
  await rm(path, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`${JSON.stringify(state)}\n`);
    void asked?.();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return server;
}

/** Long, because a busy machine is no reason to give up a cluster, and an end shows itself without waiting. */
const answerWithinMs = 30_000;

/** What the living supervisor says; undefined where there is none, or only what a dead one left. */
export async function readState(dir: string, withinMs = answerWithinMs): Promise<SupervisorState | undefined> {
  const socket = createConnection(socketIn(dir));
  const limit = setTimeout(() => socket.destroy(new SilentSupervisor(dir, withinMs)), withinMs);
  try {
    const answer = await text(socket);
    // Without its last character it was cut by the end of who wrote it.
    return answer.endsWith('\n') ? (JSON.parse(answer) as SupervisorState) : undefined;
  } catch (error) {
    if (!isNobodyThere(error)) throw error;
    return undefined;
  } finally {
    clearTimeout(limit);
  }
}

class SilentSupervisor extends Unavailable {
  constructor(dir: string, withinMs: number) {
    const way = 'it may be stopped; take the cluster down and up again';
    super('SUPERVISOR', `The supervisor in ${dir} lives but did not answer within ${withinMs / 1000} s: ${way}`);
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';
const isNobodyThere = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));
