/** With a small server in place of a runtime: containerd always tells of events, so what others do cannot be had. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, manualClock, silentLog } from '@podloom/kube';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Call, type GrpcServer, startGrpcServer } from '../testing/grpc-server.ts';
import { type CriClient, connectCri } from './client.ts';
import { type PodFinder, podFinder } from './finder.ts';
import { followRuntime } from './follow.ts';
import { grpcStatus } from './grpc.ts';

let dir: string;
let server: GrpcServer | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podloom-follow-'));
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(dir, { recursive: true });
});

const nothingFound: PodFinder = {
  known: () => undefined,
  find: () => Promise.resolve(undefined),
  podOf: () => undefined,
  forget: () => undefined,
  forgetGone: () => undefined,
};

/** Follows a runtime that answers a question for events so, and has no pods. */
async function follow(answer: (call: Call) => void) {
  const asked: string[] = [];
  const socket = join(dir, 'cri.sock');
  server = await startGrpcServer(socket, (call) => {
    asked.push(call.method);
    if (call.method === 'GetContainerEvents') return answer(call);
    call.say(new Uint8Array());
    call.end(grpcStatus.ok);
  });
  const cri = connectCri(socket);
  const clock = manualClock();
  const stop = new AbortController();
  const lines: { level?: string; msg?: string }[] = [];
  const log = createLog({ name: 'test', write: (line) => lines.push(JSON.parse(line) as object) });
  const following = followRuntime({
    cri,
    finder: podFinder(cri),
    changed: () => undefined,
    log,
    clock,
    signal: stop.signal,
  });
  return {
    asked,
    clock,
    lines,
    following,
    stop: async (): Promise<void> => {
      stop.abort();
      await following;
      cri.close();
    },
  };
}

describe('a runtime', () => {
  it.each<[string, PodFinder['find']]>([
    ['that it has', () => Promise.resolve(undefined)],
    ['that it has, also where it does not answer for one', () => Promise.reject(new Error('not now'))],
  ])('that is back has pods forgotten that are gone, and wakes those %s', async (_, find) => {
    const stop = new AbortController();
    const changed: string[] = [];
    const one = { id: 's', isReady: true, createdAt: 1n };
    const following = followRuntime({
      cri: {
        sandboxes: () =>
          Promise.resolve([
            { ...one, podUid: 'a' },
            { ...one, podUid: 'b' },
          ]),
        events: (_listener, signal) =>
          new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
      } as Partial<CriClient> as CriClient,
      finder: { ...nothingFound, find, forgetGone: () => void changed.push('gone') },
      changed: (podUid) => changed.push(podUid),
      log: silentLog,
      clock: manualClock(),
      signal: stop.signal,
    });
    await vi.waitFor(() => expect(changed).toEqual(['gone', 'a', 'b']), { timeout: 120_000 });
    stop.abort();
    await following;
  });

  it('that says of a sandbox only that it is gone has its pod forgotten', async () => {
    const stop = new AbortController();
    const [changed, forgotten]: [string[], string[]] = [[], []];
    const following = followRuntime({
      cri: {
        sandboxes: () => Promise.resolve([]),
        events(listener, signal) {
          for (const id of ['s', 'container']) listener({ id, what: 'sandboxRemoved' });
          return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      } as Partial<CriClient> as CriClient,
      finder: {
        ...nothingFound,
        podOf: (id) => (id === 's' ? 'a' : undefined),
        forget: (podUid) => void forgotten.push(podUid),
      },
      changed: (podUid) => changed.push(podUid),
      log: silentLog,
      clock: manualClock(),
      signal: stop.signal,
    });
    expect([changed, forgotten]).toEqual([['a'], ['a']]);
    stop.abort();
    await following;
  });

  it.each<[string, (call: Call) => void]>([
    ['does not know them', ({ end }) => end(grpcStatus.unimplemented, 'unknown method GetContainerEvents')],
    ['ends them at once, as CRI-O does unless told otherwise', ({ end }) => end(grpcStatus.ok)],
  ])('is asked for its events once where it %s', async (_, answer) => {
    const { following, asked, lines, stop } = await follow(answer);
    await following;
    expect(asked.toSorted()).toEqual(['GetContainerEvents', 'ListPodSandbox']);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await stop();
  });

  it('is asked for its events again when they break', async () => {
    const { asked, clock, lines, stop } = await follow(({ end }) => end(grpcStatus.unavailable, 'not now'));
    const times = (): number => asked.filter((method) => method === 'GetContainerEvents').length;
    for (const time of [1, 2, 3]) {
      await vi.waitFor(() => expect([times(), clock.pending]).toEqual([time, 1]), { timeout: 120_000 });
      await clock.advance(5_000);
    }
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
    await stop();
  });
});
