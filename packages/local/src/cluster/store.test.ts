import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStartTime, readState, type SupervisorState, writeState } from './store.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-store-'));
});
afterEach(async () => rm(dir, { recursive: true, force: true }));

function state(pid: number, startTime: string): SupervisorState {
  return { pid, startTime, phase: 'ready', step: 'Running', holders: { n1: 7 }, processes: [] };
}

describe('readState', () => {
  it('returns what a living supervisor wrote', async () => {
    const written = state(process.pid, processStartTime(process.pid) ?? '');
    await writeState(dir, written);
    expect(await readState(dir)).toEqual(written);
  });

  it('does not believe a state whose pid is another process by now', async () => {
    await writeState(dir, state(process.pid, '1'));
    expect(await readState(dir)).toBeUndefined();
  });

  it('does not believe a state whose process has ended', async () => {
    const child = spawn('true');
    const started = processStartTime(child.pid ?? 0) ?? '';
    await new Promise((resolve) => child.once('exit', resolve));
    await writeState(dir, state(child.pid ?? 0, started));
    expect(await readState(dir)).toBeUndefined();
  });

  it('knows of nothing where nothing was written', async () => {
    expect(await readState(join(dir, 'absent'))).toBeUndefined();
  });

  it('says what to do about a damaged file', async () => {
    await writeFile(join(dir, 'state.json'), '{"pid":');
    await expect(readState(dir)).rejects.toThrow(/is damaged; take the cluster down/);
  });
});
