/** What a real server does not do in a test's time; everything else is in cache.api.test.ts. */
import { expect, it } from 'vitest';
import { type ConfigMap, configMaps } from '../client/builtin.ts';
import { clientFor, empty, fact, sendJson, startServer } from '../client/testing/server.ts';
import { manualClock } from '../clock/manual.ts';
import { silentLog } from '../process/log.ts';
import { reflect } from './reflector.ts';

const event = (resourceVersion: string) =>
  `${JSON.stringify({ type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name: 'a', resourceVersion } } })}\n`;

it('ends a watch that the server forgot to end, and resumes at the last version', async () => {
  const versions: (string | null)[] = [];
  const resumed = fact();
  const server = await startServer((request, response) => {
    const query = new URL(request.url, 'https://server').searchParams;
    if (!query.has('watch')) return sendJson(response, 200, empty);
    versions.push(query.get('resourceVersion'));
    response.writeHead(200);
    if (versions.length === 1) response.write(event('7'));
    else resumed.happen();
  });
  const clock = manualClock();
  const stop = new AbortController();
  const told = fact();
  const target = { replace: () => undefined, put: () => told.happen(), remove: () => undefined };
  const client = clientFor(server.port);
  const reflecting = reflect(
    { client, resource: configMaps, clock, log: silentLog, random: () => 0 },
    target,
    stop.signal,
  );
  await told.seen;
  expect(clock.pending).toBe(1);
  // The server was asked to end it after 300 s, and gets a moment more.
  await clock.advance(329_999);
  expect(versions).toEqual(['1']);
  await clock.advance(1);
  await resumed.seen;
  expect(versions).toEqual(['1', '7']);
  stop.abort();
  await reflecting;
  expect(clock.pending).toBe(0);
});

it('keeps of a list no more than it is to keep, from page to page', async () => {
  const trimmed: string[] = [];
  const before: number[] = [];
  const server = await startServer((request, response) => {
    const query = new URL(request.url, 'https://server').searchParams;
    if (query.has('watch')) return response.writeHead(200);
    before.push(trimmed.length);
    const [name, next] = query.has('continue') ? ['b', ''] : ['a', 'more'];
    return sendJson(response, 200, { ...empty, metadata: { continue: next }, items: [{ metadata: { name } }] });
  });
  const listed = Promise.withResolvers<unknown[]>();
  const trim = (object: ConfigMap): ConfigMap => {
    trimmed.push(object.metadata.name ?? '');
    return { ...object, data: { kept: 'yes' } };
  };
  const stop = new AbortController();
  const target = { replace: listed.resolve, put: () => undefined, remove: () => undefined };
  const client = clientFor(server.port);
  const reflecting = reflect(
    { client, resource: configMaps, clock: manualClock(), log: silentLog, trim },
    target,
    stop.signal,
  );
  expect(await listed.promise).toMatchObject([
    { metadata: { name: 'a' }, data: { kept: 'yes' } },
    { metadata: { name: 'b' }, data: { kept: 'yes' } },
  ]);
  expect(before).toEqual([0, 1]);
  stop.abort();
  await reflecting;
});
