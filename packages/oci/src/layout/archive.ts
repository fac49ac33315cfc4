/**
 * Writes an image as one OCI archive (image layout in a tar), without Docker and the same bytes for the same contents, so that the
 * digest says whether anything changed. Compression is zstd at a fixed level from Node's own library: containerd reads it since
 * 1.5, and unpacking, which every node does, is several times faster than gzip.
 */
import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { ImageEntry } from './entries.ts';
import { parseImageName, tagOf } from '../name.ts';
import { packTar } from './tar.ts';

export interface ImageConfig {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Numeric, `UID:GID`: the kubelet cannot tell of a name whether it is root. */
  readonly user?: string;
  readonly workingDir?: string;
}

export interface ImageOptions {
  /** The archive to write. */
  readonly out: string;
  /** HOST/PATH:TAG, see parseImageName. */
  readonly name: string;
  /** Lowest first. What changes often goes last, so that nodes unpack only that again. */
  readonly layers: readonly (readonly ImageEntry[])[];
  readonly config: ImageConfig;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageArchive {
  readonly out: string;
  readonly name: string;
  /** Of the manifest, as a registry and `kubectl describe pod` show it. */
  readonly digest: string;
  /** Of the archive. */
  readonly sizeBytes: number;
}

export const compressionLevel = 6;

export const mediaType = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+zstd',
};

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Writes the archive anew and puts it in place whole, or not at all. */
export async function writeOciArchive(options: ImageOptions): Promise<ImageArchive> {
  const name = parseImageName(options.name);
  const out = resolve(options.out);
  await mkdir(dirname(out), { recursive: true });
  // Beside the result, not in the system's temporary folder: that may be small, and a rename must not cross disks.
  const work = await mkdtemp(`${out}.`);
  try {
    const layers: Layer[] = [];
    for (const [index, entries] of options.layers.entries()) {
      layers.push(await writeLayer(entries, join(work, `layer${index}`)));
    }
    const platform = imagePlatform();
    const config = blob(mediaType.config, imageConfig(options.config, platform, layers));
    const manifest = blob(mediaType.manifest, {
      schemaVersion: 2,
      mediaType: mediaType.manifest,
      config: config.descriptor,
      layers: layers.map(({ descriptor }) => descriptor),
      ...(options.annotations && { annotations: sorted(options.annotations) }),
    });
    const index = {
      schemaVersion: 2,
      mediaType: mediaType.index,
      manifests: [
        {
          ...manifest.descriptor,
          annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tagOf(name) },
          platform,
        },
      ],
    };
    // By path, because two equal layers are one blob.
    const blobs = new Map([...layers, config, manifest].map((blob) => [blobPath(blob.descriptor), blob]));
    const tar = join(work, 'image.tar');
    await pipeline(
      packTar([
        { path: 'oci-layout', text: JSON.stringify({ imageLayoutVersion: '1.0.0' }) },
        { path: 'index.json', text: JSON.stringify(index) },
        ...[...blobs].map(([path, { content }]) => Object.assign({ path, mode: 0o644 }, content)),
      ]),
      createWriteStream(tar),
    );
    await rename(tar, out);
    return { out, name, digest: manifest.descriptor.digest, sizeBytes: (await stat(out)).size };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** This machine's, in the words of Go: the images are made of its binaries. */
export function imagePlatform(): { architecture: string; os: string } {
  return { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
}

interface Layer {
  readonly descriptor: Descriptor;
  readonly diffId: string;
  readonly content: { readonly file: string };
}

async function writeLayer(entries: readonly ImageEntry[], file: string): Promise<Layer> {
  const plain = createHash('sha256');
  const packed = createHash('sha256');
  await pipeline(
    packTar(entries),
    through(plain),
    createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: compressionLevel } }),
    through(packed),
    createWriteStream(file),
  );
  return {
    descriptor: { mediaType: mediaType.layer, digest: digestOf(packed), size: (await stat(file)).size },
    diffId: digestOf(plain),
    content: { file },
  };
}

function through(hash: Hash): (source: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (source) {
    for await (const chunk of source) {
      hash.update(chunk);
      yield chunk;
    }
  };
}

function blob(type: string, value: unknown): { descriptor: Descriptor; content: { text: string } } {
  const text = JSON.stringify(value);
  const digest = digestOf(createHash('sha256').update(text));
  return { descriptor: { mediaType: type, digest, size: Buffer.byteLength(text) }, content: { text } };
}

function imageConfig(config: ImageConfig, platform: { architecture: string; os: string }, layers: readonly Layer[]) {
  const env = Object.entries(sorted(config.env ?? {})).map(([key, value]) => `${key}=${value}`);
  return {
    created: new Date(0).toISOString(),
    ...platform,
    config: {
      ...(config.user && { User: config.user }),
      ...(env.length > 0 && { Env: env }),
      ...(config.entrypoint && { Entrypoint: config.entrypoint }),
      ...(config.cmd && { Cmd: config.cmd }),
      ...(config.workingDir && { WorkingDir: config.workingDir }),
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  };
}

function blobPath({ digest }: Descriptor): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function digestOf(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`;
}

function sorted(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
