import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { readState, serveState, type SupervisorState } from './state.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-state-'));
});
afterEach(async () => rm(dir, { recursive: true, force: true }));

function state(step: string): SupervisorState {
  return { pid: process.pid, phase: 'ready', step, holders: { n1: 7 }, processes: [] };
}

/** Serves a state from a process of its own, with much memory so that its end takes a while. Returns once it answers. */
async function startOther() {
  const program = `
    import { serveState } from ${JSON.stringify(join(import.meta.dirname, 'state.ts'))};
    globalThis.ballast = Buffer.alloc(256 << 20, 1);
    await serveState(${JSON.stringify(dir)}, ${JSON.stringify(state('Elsewhere'))});
    console.log('answering');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

/** In the place of a supervisor, something that treats who asks otherwise. */
async function startOdd(greet: (socket: Socket) => void): Promise<Server> {
  const server = createServer(greet);
  await new Promise<void>((resolve) => server.listen(join(dir, 'supervisor.sock'), resolve));
  return server;
}

describe('readState', () => {
  it('returns what the supervisor knows at that moment', async () => {
    const known = state('Starting');
    await using server = await serveState(dir, known);
    expect(server.listening).toBe(true);
    expect(await readState(dir)).toEqual(known);
    known.step = 'Running';
    expect(await readState(dir)).toMatchObject({ step: 'Running' });
  });

  it('does not take a supervisor for alive from the moment that it was killed', async () => {
    for (let i = 0; i < 3; i++) {
      const child = await startOther();
      const ended = once(child, 'exit');
      expect(await readState(dir)).toMatchObject({ step: 'Elsewhere' });
      child.kill('SIGKILL');
      expect(await readState(dir)).toBeUndefined();
      await ended;
      expect(await readState(dir)).toBeUndefined();
    }
  });

  it('does not believe an answer that was cut', async () => {
    await using server = await startOdd((socket) => socket.end(JSON.stringify(state('Running'))));
    expect(server.listening).toBe(true);
    expect(await readState(dir)).toBeUndefined();
  });

  it('says so when a supervisor is there but silent', async () => {
    const asking: Socket[] = [];
    await using server = await startOdd((socket) => asking.push(socket));
    expect(server.listening).toBe(true);
    await expect(readState(dir, 20)).rejects.toThrow(/did not answer within 0.02 s: .*take the cluster down/);
    for (const socket of asking) socket.destroy();
  });

  it('knows of nothing where no supervisor ever was', async () => {
    expect(await readState(join(dir, 'absent'))).toBeUndefined();
  });
});
