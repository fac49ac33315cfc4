/** With small servers in place of runtimes: two of them, one without CRI, cannot be had on one machine. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GrpcServer, startGrpcServer } from '../testing/grpc-server.ts';
import { grpcStatus } from './grpc.ts';
import { findCriSocket } from './socket.ts';

let dir: string;
let servers: GrpcServer[];
const path = (name: string): string => join(dir, name);

async function serve(name: string, status: number): Promise<void> {
  const server = await startGrpcServer(path(name), ({ method, say, end }) => {
    if (method === 'Version' && status === grpcStatus.ok) say(new Uint8Array());
    end(status, 'unknown service runtime.v1.RuntimeService');
  });
  servers.push(server);
}

/** The socket of a runtime that ended without removing it. */
async function leaveBehind(name: string): Promise<void> {
  const server = createServer();
  server.listen(path(name));
  await once(server, 'listening');
  renameSync(path(name), path('aside'));
  server.close();
  await once(server, 'close');
  renameSync(path('aside'), path(name));
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podloom-socket-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) await server.stop();
  rmSync(dir, { recursive: true });
});

describe('the socket of the runtime', () => {
  it('is the first that answers, not the first that is there', async () => {
    writeFileSync(path('file'), '');
    await leaveBehind('stale');
    await serve('disabled', grpcStatus.unimplemented);
    await serve('good', grpcStatus.ok);
    await serve('other', grpcStatus.ok);
    const candidates = ['none', 'file', 'stale', 'disabled', 'good', 'other'].map(path);
    expect(await findCriSocket('auto', candidates)).toBe(path('good'));
  });

  it('is as set, also while nobody answers there', async () => {
    expect(await findCriSocket('unix:///run/mine.sock')).toBe('/run/mine.sock');
  });

  it('is asked for by name where none answers, with what each said', async () => {
    await leaveBehind('stale');
    await serve('disabled', grpcStatus.unimplemented);
    const error: unknown = await findCriSocket('auto', ['none', 'stale', 'disabled'].map(path)).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({
      code: 'CRI_SOCKET',
      retry: 'backoff',
      message: expect.stringContaining('--cri-socket'),
    });
    for (const said of [/none \(.*ENOENT/, /stale \(.*ECONNREFUSED/, /disabled \(.*unknown service/]) {
      expect((error as Error).message).toMatch(said);
    }
  });
});
