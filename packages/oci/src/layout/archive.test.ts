import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureOciArchive } from './ensure.ts';
import { inspectOciArchive } from './inspect.ts';
import { writeOciArchive, type ImageOptions } from './archive.ts';
import { packTar, readTar } from './tar.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloom-oci-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const name = 'podloom.local/sample:1';

async function sample(out = 'a.tar'): Promise<ImageOptions> {
  const file = join(folder, 'program');
  await writeFile(file, 'x'.repeat(300_000));
  await chmod(file, 0o700);
  return {
    out: join(folder, out),
    name,
    layers: [
      [
        { path: 'usr/bin/program', file },
        { path: 'bin', link: 'usr/bin' },
      ],
      [{ path: 'etc/a', text: 'ä' }],
    ],
    config: { entrypoint: ['/bin/program'], cmd: ['-v'], env: { B: '2', A: '1=1' }, user: '1:1', workingDir: '/tmp' },
    annotations: { b: '2', a: '1' },
  };
}

async function members(archive: string | Readable): Promise<Map<string, Buffer>> {
  const result = new Map<string, Buffer>();
  for await (const { path, type, body } of readTar(typeof archive === 'string' ? createReadStream(archive) : archive)) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    if (type === 'file') result.set(path, Buffer.concat(chunks));
  }
  return result;
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('writeOciArchive', () => {
  it('writes the same bytes again, whatever the clock and the time of its files', async () => {
    await writeOciArchive(await sample('a.tar'));
    const again = await sample('b.tar');
    await utimes(join(folder, 'program'), 1, 1);
    const reordered = {
      ...again,
      layers: again.layers.map((layer) => layer.toReversed()),
      annotations: { a: '1', b: '2' },
    };
    await writeOciArchive(reordered);
    expect(sha256(await readFile(join(folder, 'b.tar')))).toBe(sha256(await readFile(join(folder, 'a.tar'))));
  });

  it('writes what a strict reader accepts, with name, digest and configuration', async () => {
    const options = await sample();
    const written = await writeOciArchive(options);
    const read = await inspectOciArchive(options.out);
    expect(read).toMatchObject(written);
    expect(read.config).toEqual(options.config);
    expect(read.layers).toHaveLength(2);
  });

  it('names each layer by its packed bytes and lists the plain ones as diff_ids', async () => {
    const { out, digest } = await writeOciArchive(await sample());
    const files = await members(out);
    const document = (id: string) =>
      JSON.parse(String(files.get(`blobs/${id.replace(':', '/')}`))) as Record<string, never>;
    const manifest = document(digest) as unknown as {
      config: { digest: string };
      layers: { digest: string; size: number }[];
    };
    const config = document(manifest.config.digest) as unknown as { rootfs: { diff_ids: string[] } };
    for (const [index, layer] of manifest.layers.entries()) {
      const packed = files.get(`blobs/${layer.digest.replace(':', '/')}`)!;
      expect(packed.length).toBe(layer.size);
      expect(`sha256:${sha256(packed)}`).toBe(layer.digest);
      expect(`sha256:${sha256(zstdDecompressSync(packed))}`).toBe(config.rootfs.diff_ids[index]);
    }
  });

  it('leaves neither an archive nor its parts behind when a file cannot be read', async () => {
    const options = await sample();
    const broken = { ...options, layers: [...options.layers, [{ path: 'x', file: join(folder, 'absent') }]] };
    await expect(writeOciArchive(broken)).rejects.toThrow(/ENOENT/);
    expect(await readdir(folder)).toEqual(['program']);
  });
});

describe('packTar', () => {
  it('gives everything to root, dated to the epoch, executable only where the file is', async () => {
    const { layers } = await sample();
    const seen: unknown[] = [];
    for await (const { path, header, body } of readTar(packTar(layers[0]!))) {
      for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
      seen.push([path, header.mode, header.uid, header.gid, header.mtime.getTime()]);
    }
    expect(seen).toEqual([
      ['bin', 0o777, 0, 0, 0],
      ['usr', 0o755, 0, 0, 0],
      ['usr/bin', 0o755, 0, 0, 0],
      ['usr/bin/program', 0o755, 0, 0, 0],
    ]);
  });

  it('keeps paths that are longer than a tar header has room for', async () => {
    const path = `${'long/'.repeat(40)}${'x'.repeat(120)}`;
    expect([...(await members(packTar([{ path, text: 'here' }]))).keys()]).toEqual([path]);
  });
});

describe('inspectOciArchive', () => {
  it('reads an archive that another tar wrote', async () => {
    const { out, digest } = await writeOciArchive(await sample());
    const unpacked = join(folder, 'layout');
    const other = join(folder, 'other.tar');
    await mkdir(unpacked);
    execFileSync('tar', ['-xf', out, '-C', unpacked]);
    execFileSync('tar', ['-cf', other, '-C', unpacked, '.']);
    await expect(inspectOciArchive(other)).resolves.toMatchObject({ name, digest });
  });

  it('refuses a cut archive', async () => {
    const { out, sizeBytes } = await writeOciArchive(await sample());
    await truncate(out, sizeBytes / 2);
    await expect(inspectOciArchive(out)).rejects.toMatchObject({ code: 'IMAGE_ARCHIVE' });
  });

  it('refuses a blob whose contents are not those of its name', async () => {
    const { out } = await writeOciArchive(await sample());
    const bytes = await readFile(out);
    const at = bytes.indexOf('"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest');
    bytes[at + 1] = 'S'.charCodeAt(0);
    await writeFile(out, bytes);
    await expect(inspectOciArchive(out)).rejects.toThrow(/other contents/);
  });

  it.each([
    ['text', async (file: string) => writeFile(file, 'not a tar at all'.repeat(100))],
    ['an empty file', async (file: string) => writeFile(file, '')],
    ['a tar of something else', async (file: string) => writeFile(file, packTar([{ path: 'readme', text: '' }]))],
    [
      'a layout without an index',
      async (file: string) =>
        writeFile(file, packTar([{ path: 'oci-layout', text: '{"imageLayoutVersion":"1.0.0"}' }])),
    ],
    [
      'an index that is not JSON',
      async (file: string) =>
        writeFile(
          file,
          packTar([
            { path: 'oci-layout', text: '{"imageLayoutVersion":"1.0.0"}' },
            { path: 'index.json', text: '{' },
          ]),
        ),
    ],
  ])('refuses %s', async (_, write) => {
    const file = join(folder, 'x.tar');
    await write(file);
    await expect(inspectOciArchive(file)).rejects.toMatchObject({ code: 'IMAGE_ARCHIVE' });
  });
});

describe('ensureOciArchive', () => {
  it('builds once, and again only after a change', async () => {
    const options = await sample();
    const first = await ensureOciArchive(options);
    const second = await ensureOciArchive(options);
    await writeFile(join(folder, 'program'), 'y'.repeat(300_000));
    const third = await ensureOciArchive(options);
    expect([first.built, second.built, third.built]).toEqual([true, false, true]);
    expect(second.digest).toBe(first.digest);
    expect(third.digest).not.toBe(first.digest);
  });

  it.each([
    ['the archive is gone', async (out: string) => rm(out)],
    ['the archive was cut', async (out: string) => truncate(out, 10)],
    ['the receipt is damaged', async (out: string) => writeFile(`${out}.json`, '{')],
  ])('builds again when %s', async (_, damage) => {
    const options = await sample();
    await ensureOciArchive(options);
    await damage(options.out);
    expect((await ensureOciArchive(options)).built).toBe(true);
    await expect(inspectOciArchive(options.out)).resolves.toMatchObject({ name });
  });
});
