import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { settle } from '../clock/manual.ts';
import { type CredentialSource, fixedCredentials } from '../kubeconfig/cluster.ts';
import { configMaps, secrets } from './builtin.ts';
import { createClient } from './create-client.ts';
import { isApiError, isGone, isTooManyRequests, isUnauthorized, isUnreachable } from './errors.ts';
import {
  clientFor,
  configFor,
  empty,
  event,
  fact,
  failureOf,
  type Handler,
  openWatch,
  sendJson,
  serverCertificate,
  startServer,
  status,
  watchable,
} from './testing/server.ts';

const demanding =
  (good: string): Handler =>
  (request, response) =>
    request.headers.authorization === `Bearer ${good}`
      ? sendJson(response, 200, empty)
      : sendJson(response, 401, status(401, 'Unauthorized'));

describe('429', () => {
  it('is waited out as the server says', async () => {
    const answers = [
      [429, '0'],
      [503, '0'],
      [200, '0'],
    ] as const;
    let calls = 0;
    const server = await startServer((_request, response) => {
      const [code, after] = answers[calls++] ?? [500, '0'];
      sendJson(response, code, code === 200 ? empty : status(code, 'Busy'), { 'retry-after': after });
    });
    await clientFor(server.port).list(configMaps);
    expect(calls).toBe(3);
  });

  it('that does not end is an error after a bounded number of tries', async () => {
    let calls = 0;
    const server = await startServer((_request, response) => {
      calls += 1;
      sendJson(response, 429, status(429, 'TooManyRequests'), { 'retry-after': '0' });
    });
    const failure = await failureOf(clientFor(server.port).list(configMaps));
    expect(isTooManyRequests(failure)).toBe(true);
    expect(calls).toBe(6);
  });

  it('that asks for minutes is not waited out, but says how long', async () => {
    const server = await startServer((_request, response) => {
      sendJson(response, 429, status(429, 'TooManyRequests'), { 'retry-after': '120' });
    });
    const failure = await failureOf(clientFor(server.port).list(configMaps));
    expect(isApiError(failure) && failure.api.retryAfterMs).toBe(120_000);
  });

  it.each([
    ['a day', '86400'],
    ['a day by a clock that is wrong', new Date(Date.now() + 86_400_000).toUTCString()],
  ])('that asks for %s is not believed', async (_, after) => {
    const server = await startServer((_request, response) => {
      sendJson(response, 429, status(429, 'TooManyRequests'), { 'retry-after': after });
    });
    const failure = await failureOf(clientFor(server.port).list(configMaps));
    expect(isApiError(failure) && failure.api.retryAfterMs).toBe(120_000);
  });

  it('is not waited out longer than the caller wants', async () => {
    const stop = new AbortController();
    const server = await startServer((_request, response) => {
      sendJson(response, 429, status(429, 'TooManyRequests'), { 'retry-after': '25' });
      response.once('close', () => stop.abort(new Error('enough')));
    });
    await expect(clientFor(server.port).list(configMaps, { signal: stop.signal })).rejects.toThrow('enough');
  });
});

describe('a refused token', () => {
  it('is renewed once, where it can be', async () => {
    const server = await startServer(demanding('new'));
    let token = 'old';
    const credentials: CredentialSource = {
      get: async () => ({ authorization: `Bearer ${token}` }),
      renew: () => {
        token = 'new';
        return true;
      },
    };
    expect((await clientFor(server.port, { credentials }).list(configMaps)).items).toEqual([]);
  });

  it('is an error that does not show it, where it cannot', async () => {
    const server = await startServer(demanding('new'));
    const credentials = fixedCredentials({ authorization: 'Bearer hunter2' });
    const failure = await failureOf(clientFor(server.port, { credentials }).list(configMaps));
    expect(isUnauthorized(failure)).toBe(true);
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
  });
});

describe('a refused certificate', () => {
  it('is not renewed once the client is closed', async () => {
    const refused = fact();
    const server = await startServer((request, response) => {
      if (request.url.includes('secrets')) return sendJson(response, 200, empty);
      response.writeHead(401, { 'content-type': 'application/json' });
      response.write('{', () => refused.happen());
    });
    let renewals = 0;
    const credentials: CredentialSource = {
      get: async () => ({ certificate: serverCertificate }),
      renew: () => {
        renewals += 1;
        return true;
      },
    };
    const client = clientFor(server.port, { credentials });
    const list = failureOf(client.list(configMaps));
    await refused.seen;
    // Comes over the same connection, so the refusal has come before it.
    await client.list(secrets);
    await client.close();
    await list;
    expect(renewals).toBe(0);
    expect(server.connections()).toBe(1);
  });

  it('leaves what runs over the old connection alone, until the client is closed', async () => {
    let refuse = true;
    const server = await startServer((request, response) => {
      if (!request.url.includes('secrets')) return watchable(request, response);
      sendJson(response, refuse ? 401 : 200, refuse ? status(401, 'Unauthorized') : empty);
      refuse = false;
    });
    const credentials: CredentialSource = { get: async () => ({ certificate: serverCertificate }), renew: () => true };
    const client = clientFor(server.port, { credentials });
    const old = await openWatch(client);
    await client.list(secrets);
    expect(server.connections()).toBe(2);
    const next = failureOf(Promise.resolve(old.next()));
    await client.close();
    expect(isUnreachable(await next)).toBe(true);
  });
});

describe('a connection that the server is leaving', () => {
  it('carries its watches on, and takes no new calls, until the client is closed', async () => {
    const left = fact();
    const server = await startServer((request, response) => {
      watchable(request, response);
      if (server.connections() > 1) return;
      const { session } = response.stream;
      session?.goaway();
      // Is answered after the news has come.
      session?.ping(() => left.happen());
    });
    const client = clientFor(server.port);
    const events = await openWatch(client);
    const next = failureOf(Promise.resolve(events.next()));
    await left.seen;
    await client.list(configMaps);
    expect(server.connections()).toBe(2);
    await client.close();
    expect(isUnreachable(await next)).toBe(true);
  });

  it('does not hold up the call that it gives back, nor the one after it, though a watch never falls silent', async () => {
    const given = fact();
    let watchId = 0;
    const server = await startServer((request, response) => {
      if (server.connections() > 1) return watchable(request, response);
      if (!request.url.includes('watch=true')) {
        response.stream.session?.goaway(0, watchId);
        return given.happen();
      }
      watchId = response.stream.id ?? 0;
      watchable(request, response);
      const talk = setInterval(() => response.write(event('more')), 10);
      response.on('close', () => clearInterval(talk));
    });
    const client = clientFor(server.port, {}, { pingIntervalMs: 100 });
    const events = await openWatch(client);
    const watched = failureOf(Array.fromAsync({ [Symbol.asyncIterator]: () => events }));
    const back = client.list(configMaps);
    await given.seen;
    await Promise.all([back, client.list(secrets)]);
    expect(isUnreachable(await watched)).toBe(true);
  });
});

describe('a watch', () => {
  it('survives chunks that end inside a character', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(200);
      const bytes = [...Buffer.from(event('añ→𝄞'))];
      const next = () => {
        const byte = bytes.shift();
        if (byte === undefined) response.end();
        else response.write(Uint8Array.of(byte), () => setImmediate(next));
      };
      next();
    });
    const events = await Array.fromAsync(clientFor(server.port).watch(configMaps));
    expect(events).toMatchObject([{ object: { metadata: { name: 'añ→𝄞' } } }]);
  });

  it('throws what the server sends as an ERROR event', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(200);
      response.end(`${event('a')}${JSON.stringify({ type: 'ERROR', object: status(410, 'Expired', 'too old') })}\n`);
    });
    const events = await openWatch(clientFor(server.port));
    expect(isGone(await failureOf(Promise.resolve(events.next())))).toBe(true);
  });

  it('that nobody reads any more ends on the server, too', async () => {
    const ended = fact();
    const server = await startServer((request, response) => {
      response.on('close', () => ended.happen());
      watchable(request, response);
    });
    for await (const first of clientFor(server.port).watch(configMaps)) {
      expect(first.type).toBe('ADDED');
      break;
    }
    await ended.seen;
  });

  it('ends quietly when the caller aborts', async () => {
    const server = await startServer(watchable);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { type } of clientFor(server.port).watch(configMaps, { signal: stop.signal })) {
      seen.push(type);
      stop.abort();
    }
    expect(seen).toEqual(['ADDED']);
  });

  it('is cut by closing the client', async () => {
    const server = await startServer(watchable);
    const client = clientFor(server.port);
    const events = await openWatch(client);
    await Promise.all([expect(events.next()).rejects.toSatisfy(isUnreachable), client.close()]);
  });
});

describe('a call', () => {
  it('rejects with the caller’s own reason when aborted', async () => {
    const stop = new AbortController();
    const server = await startServer(() => stop.abort(new Error('changed my mind')));
    await expect(clientFor(server.port).get(configMaps, 'a', { signal: stop.signal })).rejects.toThrow(
      'changed my mind',
    );
  });

  it('that is aborted while it waits for a connection is over at once, and never sent', async () => {
    const seen: string[] = [];
    const server = await startServer((request, response) => {
      seen.push(request.method);
      sendJson(response, 200, empty);
    });
    const config = configFor(server.port);
    const open = fact();
    const client = createClient({ ...config, tls: () => open.seen.then(config.tls) });
    onTestFinished(() => client.close());
    const stop = new AbortController();
    const failures: unknown[] = [];
    const call = client.create(configMaps, { metadata: { name: 'a' } }, { signal: stop.signal });
    call.catch((error: unknown) => failures.push(error));
    await settle();
    stop.abort(new Error('enough'));
    await settle();
    expect(failures).toMatchObject([{ message: 'enough' }]);
    open.happen();
    await client.list(configMaps);
    expect(seen).toEqual(['GET']);
  });

  it('that waits for its credentials can be aborted, too', async () => {
    const stop = new AbortController();
    const credentials: CredentialSource = { get: () => new Promise(() => undefined), renew: () => false };
    const failure = failureOf(clientFor(1, { credentials }).list(configMaps, { signal: stop.signal }));
    stop.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
  });

  it('leaves nothing on the signal of its caller', async () => {
    const server = await startServer(watchable);
    const { signal } = new AbortController();
    await clientFor(server.port).list(configMaps, { signal });
    await settle();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not show the text of an answer that is no JSON', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(200);
      response.end('{"data":{"password":"hunter2"');
    });
    const failure = await failureOf(clientFor(server.port).get(secrets, 'a'));
    expect((failure as Error).message).toContain('the answer is not JSON');
    expect(inspect(failure, { depth: 9 })).not.toContain('hunter2');
  });

  it.each(['', '.', '..'])('refuses the name "%s", which would be another path', async (name) => {
    await expect(clientFor(1).get(configMaps, name)).rejects.toThrow('cannot be the name');
  });
});
