import { execFile } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { configMaps, leases, secrets } from './builtin.ts';
import { clientFor, empty, fact, sendJson, startServer, watchable } from './testing/server.ts';

describe('an aborted write', () => {
  it('does not stop the event loop, however many there are', async () => {
    const script = fileURLToPath(new URL('testing/abort-writes.ts', import.meta.url));
    // Where the loop stands still, only a kill from outside ends it.
    const { stdout } = await promisify(execFile)(process.execPath, [script], {
      timeout: 240_000,
      killSignal: 'SIGKILL',
    });
    expect(JSON.parse(stdout)).toEqual({ count: 400, reasons: ['enough'], items: [] });
  });

  it('is reported at once, and its answer dropped', async () => {
    const came = fact();
    const answer = fact();
    const answered = fact();
    const server = await startServer((request, response) => {
      if (request.method === 'GET') return sendJson(response, 200, empty);
      came.happen();
      response.stream.on('close', () => answered.happen());
      void answer.seen.then(() => sendJson(response, 201, { metadata: { name: 'late' } }));
    });
    const client = clientFor(server.port);
    const stop = new AbortController();
    const write = client.create(configMaps, { metadata: { name: 'late' } }, { signal: stop.signal });
    await came.seen;
    stop.abort(new Error('changed my mind'));
    await expect(write).rejects.toThrow('changed my mind');
    answer.happen();
    await answered.seen;
    await client.list(configMaps);
    expect(server.connections()).toBe(1);
  });
});

describe('an aborted read', () => {
  it('whose answer comes all the same disturbs nobody when the client is closed', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note).on('unhandledRejection', note);
    onTestFinished(() => void process.off('uncaughtException', note).off('unhandledRejection', note));

    for (let round = 0; round < 10; round++) {
      const came = fact();
      const server = await startServer((request, response) => {
        came.happen();
        watchable(request, response);
      });
      const client = clientFor(server.port);
      const stops = Array.from({ length: 20 }, () => new AbortController());
      const work = stops.map(async ({ signal }, i) =>
        i % 2 === 0 ? Array.fromAsync(client.watch(configMaps, { signal })) : client.list(configMaps, { signal }),
      );
      const outcomes = Promise.allSettled(work);
      await came.seen;
      // On a connection this young the others wait for the first. Each that goes lets the next one out, only to be called back.
      for (const stop of stops) stop.abort(new Error('enough'));
      // Goes over the same connection, so what was answered has come before it.
      if (round % 2 === 0) await client.list(secrets);
      await client.close();
      await outcomes;
    }
    await nextTurn();
    expect(uncaught).toEqual([]);
  });

  it('is reset once its answer begins, and leaves the connection to others', async () => {
    const came = fact();
    const answer = fact();
    const reset = fact<number>();
    const server = await startServer((request, response) => {
      if (!request.url.includes('watch=true')) return sendJson(response, 200, empty);
      came.happen();
      response.stream.on('close', () => reset.happen(response.stream.rstCode ?? -1));
      void answer.seen.then(() => watchable(request, response));
    });
    const client = clientFor(server.port);
    const stop = new AbortController();
    const watched = (async () => {
      for await (const _ of client.watch(configMaps, { signal: stop.signal }))
        throw new Error('nobody listens any more');
    })();
    await came.seen;
    stop.abort();
    await watched;
    answer.happen();
    await reset.seen;
    await client.list(configMaps);
    expect(server.connections()).toBe(1);
  });
});

describe('more calls than run at a time', () => {
  it('wait, except for Leases, and are never sent once aborted', async () => {
    const full = fact();
    const go = fact();
    let writes = 0;
    const server = await startServer((request, response) => {
      if (request.url.includes('/leases')) return sendJson(response, 200, { metadata: { name: 'leader' } });
      writes += 1;
      if (writes === 64) full.happen();
      void go.seen.then(() => sendJson(response, 201, { metadata: { name: 'a' } }));
    });
    const client = clientFor(server.port);
    const stop = new AbortController();
    const running = Array.from({ length: 64 }, () => client.create(configMaps, { metadata: { name: 'a' } }));
    const waiting = client.create(configMaps, { metadata: { name: 'b' } }, { signal: stop.signal });
    await full.seen;
    expect((await client.get(leases, 'leader')).metadata.name).toBe('leader');
    stop.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    go.happen();
    await Promise.all(running);
    await client.create(configMaps, { metadata: { name: 'c' } });
    expect(writes).toBe(65);
  });
});
