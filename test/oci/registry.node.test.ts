/** The registry client against distribution itself. */
import { createHash, randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RegistryServer, startRegistry } from '@podloom/local';
import { inspectOciArchive, openRegistry, pushOciArchive, type Registry, writeOciArchive } from '@podloom/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issuer, service, startTokenServer } from './token-server.ts';

const root = join(import.meta.dirname, '../..');
let dir: string;
let server: RegistryServer;
let registry: Registry;
let archive: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'podloom-registry-'));
  server = await startRegistry({ dir });
  registry = openRegistry(server);
  archive = join(dir, 'sample.tar');
  const layers = [[{ path: 'etc/a', text: 'a' }], [{ path: 'etc/b', text: 'b' }]];
  await writeOciArchive({ out: archive, name: 'podloom.local/sample:1', layers, config: { cmd: ['/a'] } });
});

afterAll(async () => {
  registry?.close();
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const result: T[] = [];
  for await (const item of items) result.push(item);
  return result;
}

const bytesOf = async (blob: AsyncIterable<Buffer>): Promise<Buffer> => Buffer.concat(await all(blob));
const sha256 = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('a registry', () => {
  it('gives back the image that was pushed, by tag and by digest', async () => {
    const { digest } = await pushOciArchive(registry, { archive, repository: 'tests/sample', tag: 'v1' });
    expect(digest).toBe((await inspectOciArchive(archive)).digest);
    const byTag = await registry.manifest('tests/sample', 'v1');
    expect(byTag).toEqual(await registry.manifest('tests/sample', digest));
    expect(byTag).toMatchObject({ digest, mediaType: 'application/vnd.oci.image.manifest.v1+json' });

    const { config, layers } = JSON.parse(byTag.bytes.toString()) as Record<'config', { digest: string }> & {
      layers: { digest: string }[];
    };
    for (const part of [config, ...layers]) {
      expect(sha256(await bytesOf(registry.blob('tests/sample', part.digest)))).toBe(part.digest);
    }
    expect(layers).toHaveLength(2);
  });

  it('lists repositories and tags over as many pages as there are', async () => {
    const { bytes, mediaType } = await registry.manifest('tests/sample', 'v1');
    const tags = Array.from({ length: 230 }, (_, i) => `t${String(i).padStart(3, '0')}`);
    for (const tag of tags) await registry.putManifest('tests/sample', tag, { bytes, mediaType });
    expect((await all(registry.tags('tests/sample'))).toSorted()).toEqual([...tags, 'v1'].toSorted());
    await pushOciArchive(registry, { archive, repository: 'other', tag: 'v1' });
    expect(await all(registry.repositories())).toEqual(['other', 'tests/sample']);
  });

  it('has no tags where there is no repository, and none where they were deleted', async () => {
    expect(await all(registry.tags('nowhere'))).toEqual([]);
    const { digest } = await registry.manifest('other', 'v1');
    await registry.deleteManifest('other', digest);
    expect(await all(registry.tags('other'))).toEqual([]);
    await expect(registry.manifest('other', 'v1')).rejects.toMatchObject({ code: 'MANIFEST_UNKNOWN', status: 404 });
  });

  it('gets a blob of any size while one chunk of it is in memory', async () => {
    const piece = randomBytes(1024 * 1024);
    const sizeMib = 200;
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    async function* pieces() {
      for (let i = 0; i < sizeMib; i++) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        yield piece;
      }
    }
    const { digest, size } = await registry.pushBlob('tests/large', pieces());
    expect(size).toBe(sizeMib * piece.length);
    expect(most).toBeLessThan(32 * 1024 * 1024);
    const hash = createHash('sha256');
    for await (const chunk of registry.blob('tests/large', digest)) hash.update(chunk);
    expect(`sha256:${hash.digest('hex')}`).toBe(digest);
  });

  it('gets a blob whole over a line that breaks in the middle of a chunk', async () => {
    const line = await breakingLine(new URL(server.url), [3_000_000, 5_000_000]);
    const through = openRegistry({ ...server, url: line.url });
    try {
      const bytes = randomBytes(20_000_000);
      const { digest } = await through.pushBlob('tests/broken', one(bytes));
      expect(digest).toBe(sha256(bytes));
      expect(line.breaks()).toBe(2);
      expect(sha256(await bytesOf(registry.blob('tests/broken', digest)))).toBe(digest);
    } finally {
      through.close();
      await line.close();
    }
  });

  it('says what is wrong: the password, the authority, the line', async () => {
    const { password } = server.credentials;
    const refused = openRegistry({ ...server, credentials: { username: 'podloom', password: `${password}x` } });
    const calling = refused.manifest('tests/sample', 'v1');
    await expect(calling).rejects.toMatchObject({ status: 401, retry: 'whenChanged' });
    await expect(calling).rejects.not.toThrow(password);
    await expect(refused.pushBlob('tests/sample', one(Buffer.from('x')))).rejects.toMatchObject({ status: 401 });
    refused.close();
    for (const options of [{ url: server.url }, { ...server, url: 'https://127.0.0.1:1' }]) {
      const away = openRegistry(options);
      await expect(away.manifest('a', 'b')).rejects.toMatchObject({ code: 'REGISTRY_AWAY', retry: 'backoff' });
      away.close();
    }
  });

  it('does not pass on a blob that was changed where it is kept', async () => {
    const { digest } = await registry.pushBlob('tests/changed', one(Buffer.from('right')));
    const files = await readdir(dir, { recursive: true });
    const file = files.find((path) => path.includes(digest.slice(7)) && path.endsWith('/data')) ?? '';
    await writeFile(join(dir, file), 'wrong');
    await expect(bytesOf(registry.blob('tests/changed', digest))).rejects.toMatchObject({ code: 'OTHER_CONTENTS' });
  });
});

it('gets tokens where a registry wants them, for each purpose its own', async () => {
  const own = join(dir, 'tokens');
  const tokens = await startTokenServer('podloom', 'secret');
  await writeFile(join(dir, 'keys.json'), tokens.keys);
  const token = { realm: tokens.url, service, issuer, jwks: join(dir, 'keys.json') };
  const other = await startRegistry({ dir: own, auth: { token } });
  const ca = `${other.ca}\n${tokens.ca}`;
  const named = openRegistry({ url: other.url, ca, credentials: { username: 'podloom', password: 'secret' } });
  const stranger = openRegistry({ url: other.url, ca });
  try {
    await pushOciArchive(named, { archive, repository: 'a/b', tag: 'v1' });
    expect(await all(named.tags('a/b'))).toEqual(['v1']);
    // A registry names the actions in any order.
    const actions = tokens.scopes.map((scope) => scope.slice('repository:a/b:'.length).split(',').toSorted().join());
    expect(actions.toSorted()).toEqual(['pull', 'pull,push']);
    await expect(stranger.manifest('a/b', 'v1')).rejects.toMatchObject({ code: 'TOKEN', status: 401 });
  } finally {
    named.close();
    stranger.close();
    await other.stop();
    await tokens.close();
  }
});

it('runs the example of packages/oci/README.md', async () => {
  const readme = await readFile(join(root, 'packages/oci/README.md'), 'utf8');
  const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
  const code = example.replaceAll('hello.tar', join(dir, 'hello.tar'));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
  });
  expect(stdout).toMatch(/^sha256:[0-9a-f]{64}\n$/);
});

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Leads to another server, and breaks each time after so many bytes, all of which have arrived. */
async function breakingLine(to: URL, after: readonly number[]) {
  let breaks = 0;
  const line = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    let passed = 0;
    near.on('data', (chunk: Buffer) => {
      passed += chunk.length;
      far.write(chunk);
      if (passed <= (after[breaks] ?? Infinity) || near.destroyed) return;
      breaks += 1;
      near.destroy();
      far.end();
    });
    far.on('data', (chunk: Buffer) => void near.write(chunk));
    for (const [side, otherSide] of [
      [near, far],
      [far, near],
    ] as const) {
      side.on('error', () => otherSide.destroy());
      side.on('close', () => otherSide.end());
    }
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(line.address() as AddressInfo).port}`,
    breaks: () => breaks,
    close: () => new Promise<void>((resolve) => line.close(() => resolve())),
  };
}
