import { createServer } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CredentialSource } from '../kubeconfig/cluster.ts';
import { loadConfig } from '../kubeconfig/load.ts';
import { configMaps } from './builtin.ts';
import { createClient } from './create-client.ts';
import { isUnauthorized, isUnreachable } from './errors.ts';
import { selfSigned } from './testing/self-signed.ts';
import {
  clientFor,
  configFor,
  empty,
  event,
  fact,
  failureOf,
  listen,
  type Handler,
  openWatch,
  sendJson,
  startFreezer,
  startServer,
  status,
  watchable,
} from './testing/server.ts';

const peerName = (request: Http2ServerRequest) => (request.socket as TLSSocket).getPeerCertificate().subject?.CN;

/** Says who it thinks that we are. */
const answer: Handler = (request, response) => {
  sendJson(response, 200, { ...empty, metadata: { continue: peerName(request) } });
};

describe('the connection', () => {
  it('is one for forty watches and the calls beside them', async () => {
    const server = await startServer(watchable);
    const client = clientFor(server.port);
    await Promise.all(Array.from({ length: 40 }, () => openWatch(client)));
    await Promise.all(Array.from({ length: 20 }, () => client.list(configMaps)));
    expect(server.connections()).toBe(1);
  });

  it('gets a second one when watches have used up what the server allows on the first', async () => {
    const server = await startServer(watchable, { maxStreams: 10 });
    const client = clientFor(server.port);
    await Promise.all(Array.from({ length: 25 }, () => openWatch(client)));
    await client.list(configMaps);
    expect(server.connections()).toBe(3);
  });

  it('falls back to HTTP/1.1 where the server speaks nothing newer', async () => {
    const versions = new Set<string>();
    const server = await startServer(
      (request, response) => {
        versions.add(request.httpVersion);
        watchable(request, response);
      },
      { protocol: 'http/1.1' },
    );
    const client = clientFor(server.port);
    await Promise.all(Array.from({ length: 5 }, () => openWatch(client)));
    await client.list(configMaps);
    expect([...versions]).toEqual(['1.1']);
  });

  it('is given up when the other end falls silent, and the next call makes a new one', async () => {
    const server = await startServer(watchable);
    const freezer = await startFreezer(server.port);
    const client = clientFor(freezer.port, {}, { pingIntervalMs: 250 });
    const events = await openWatch(client);
    freezer.freeze();
    const failure = await failureOf(events.next());
    expect(isUnreachable(failure)).toBe(true);
    expect((failure as Error).message).toContain('no sign of life');
    freezer.thaw();
    expect((await client.list(configMaps)).items).toEqual([]);
  });

  it('stays while a quiet server still answers pings', async () => {
    const quiet = fact<() => void>();
    const server = await startServer((_request, response) => {
      response.writeHead(200);
      response.write(event('first'));
      quiet.happen(() => response.write(event('second')));
    });
    const client = clientFor(server.port, {}, { pingIntervalMs: 250 });
    const events = await openWatch(client);
    const goOn = await quiet.seen;
    // A socket is destroyed after two intervals without a byte: four that had only pings must not count as such.
    await server.pings(4);
    goOn();
    expect((await events.next()).value).toMatchObject({ object: { metadata: { name: 'second' } } });
    expect(server.connections()).toBe(1);
  });

  it.each(['h2', 'http/1.1'] as const)('that is cut under a watch is an error, over %s', async (protocol) => {
    const server = await startServer(watchable, { protocol });
    const events = await openWatch(clientFor(server.port));
    server.cut();
    expect(isUnreachable(await failureOf(events.next()))).toBe(true);
  });

  it('to nobody is an error that says so', async () => {
    const failure = await failureOf(clientFor(1).list(configMaps));
    expect(isUnreachable(failure)).toBe(true);
    expect((failure as Error).message).toMatch(/ECONNREFUSED.*GET \/api\/v1\/configmaps/);
  });

  it('may be plain HTTP, as to a local proxy', async () => {
    const server = createServer((_request, response) => response.end(JSON.stringify(empty)));
    onTestFinished(() => void server.close());
    const config = configFor(await listen(server));
    const client = createClient({ ...config, server: new URL(config.server.href.replace('https:', 'http:')) });
    onTestFinished(() => client.close());
    expect(await client.list(configMaps)).toEqual(empty);
  });

  it('keeps the path of a server that lives below one', async () => {
    const seen = fact<string>();
    const server = await startServer((request, response) => {
      seen.happen(request.url);
      sendJson(response, 200, empty);
    });
    await clientFor(server.port, { path: '/k8s/clusters/a/' }).list(configMaps, { labelSelector: 'a=b,c' });
    expect(await seen.seen).toBe('/k8s/clusters/a/api/v1/configmaps?labelSelector=a%3Db%2Cc');
  });
});

describe('certificates', () => {
  it('of a stranger are refused, unless verification is off', async () => {
    const server = await startServer(answer);
    const { cert: ca } = selfSigned('somebody else');
    expect(isUnreachable(await failureOf(clientFor(server.port, { tls: { ca } }).list(configMaps)))).toBe(true);
    await clientFor(server.port, { tls: { ca, insecure: true } }).list(configMaps);
  });

  it('are checked against tls-server-name where the address has another name', async () => {
    const server = await startServer(answer);
    await clientFor(server.port, { tls: { serverName: 'localhost' } }).list(configMaps);
    const wrong = clientFor(server.port, { tls: { serverName: 'elsewhere' } }).list(configMaps);
    expect(isUnreachable(await failureOf(wrong))).toBe(true);
  });

  it('of our own are shown to the server, and replaced by newer ones after a 401', async () => {
    const server = await startServer(
      (request, response) => {
        if (peerName(request) === 'new') answer(request, response);
        else sendJson(response, 401, status(401, 'Unauthorized'));
      },
      { requestCert: true },
    );
    const [old, fresh] = [{ certificate: selfSigned('old') }, { certificate: selfSigned('new') }];
    let current = old;
    const credentials: CredentialSource = {
      get: async () => current,
      renew: () => {
        current = fresh;
        return true;
      },
    };
    expect((await clientFor(server.port, { credentials }).list(configMaps)).metadata.continue).toBe('new');
  });

  it('of our own in files are read again after a 401, and for each new connection', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'certificates-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const save = async (name: string) => {
      const { cert, key } = selfSigned(name);
      await writeFile(join(folder, 'me.crt'), cert);
      await writeFile(join(folder, 'me.key'), key);
    };
    let known = 'first';
    const server = await startServer(
      (request, response) => {
        if (peerName(request) === known) answer(request, response);
        else sendJson(response, 401, status(401, 'Unauthorized'));
      },
      { requestCert: true },
    );
    const kubeconfig = {
      'current-context': 'main',
      clusters: [
        { name: 'c', cluster: { server: configFor(server.port).server.href, 'certificate-authority': 'ca.crt' } },
      ],
      contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { 'client-certificate': 'me.crt', 'client-key': 'me.key' } }],
    };
    await writeFile(join(folder, 'config'), JSON.stringify(kubeconfig));
    await writeFile(join(folder, 'ca.crt'), server.ca);
    await save('first');
    const client = createClient(await loadConfig({ path: join(folder, 'config') }));
    onTestFinished(() => client.close());
    const whoAmI = async () => (await client.list(configMaps)).metadata.continue;
    expect(await whoAmI()).toBe('first');

    known = 'second';
    expect(isUnauthorized(await failureOf(whoAmI()))).toBe(true);
    expect(server.connections()).toBe(1);
    await save('second');
    expect(await whoAmI()).toBe('second');

    known = 'third';
    await save('third');
    server.cut();
    await expect.poll(whoAmI, { timeout: 120_000 }).toBe('third');
    expect(server.connections()).toBe(3);
  });
});
