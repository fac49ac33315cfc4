/**
 * Reads an OCI archive strictly: what passes here, containerd imports. It is for archives from anywhere, so nothing in them is
 * believed that was not checked, and only documents of bounded size are held in memory.
 */
import { InvalidImage } from '../errors.ts';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { mediaType, type ImageArchive, type ImageConfig } from './archive.ts';
import { readTar } from './tar.ts';

export interface ImageContents extends ImageArchive {
  readonly config: ImageConfig;
  /** Digests of the layers in the archive, lowest first. */
  readonly layers: readonly string[];
}

const documentBytes = 1024 * 1024;

/** Name, digest and configuration of the one image in an archive, after checking every blob against its digest. */
export async function inspectOciArchive(file: string): Promise<ImageContents> {
  const refuse = (why: string, options?: ErrorOptions): InvalidImage =>
    new InvalidImage('IMAGE_ARCHIVE', `${file} is not an OCI image archive that can be loaded: ${why}`, options);
  const { sizes, documents } = await readMembers(file, refuse);

  const parse = (path: string): unknown => {
    const bytes = documents.get(path);
    if (!bytes) throw refuse(`${path} is missing or too large`);
    try {
      return JSON.parse(bytes.toString());
    } catch (cause) {
      throw refuse(`${path} is not JSON`, { cause });
    }
  };
  const follow = (value: unknown, types: readonly string[]): string => {
    const { mediaType: type, digest, size } = record(value);
    if (!types.includes(text(type))) throw refuse(`unknown media type ${text(type) || '(none)'}`);
    const path = `blobs/${text(digest).replace(':', '/')}`;
    if (sizes.get(path) !== size) throw refuse(`${path} is missing or not of the size that is written`);
    return path;
  };

  if (record(parse('oci-layout'))['imageLayoutVersion'] !== '1.0.0') throw refuse('unknown layout version');
  const manifests = list(record(parse('index.json'))['manifests']);
  if (manifests.length !== 1) throw refuse(`it holds ${manifests.length} images, not one`);
  const name = text(record(record(manifests[0])['annotations'])['io.containerd.image.name']);
  if (!name) throw refuse('the index does not name the image (io.containerd.image.name)');

  const manifest = record(parse(follow(manifests[0], [mediaType.manifest])));
  const image = record(parse(follow(manifest['config'], [mediaType.config])));
  const plain = 'application/vnd.oci.image.layer.v1.tar';
  const layers = list(manifest['layers']);
  for (const layer of layers) follow(layer, [plain, `${plain}+gzip`, `${plain}+zstd`]);
  if (list(record(image['rootfs'])['diff_ids']).length !== layers.length) throw refuse('layers and diff_ids differ');

  return {
    out: resolve(file),
    name,
    digest: text(record(manifests[0])['digest']),
    sizeBytes: (await stat(file)).size,
    config: configOf(record(image['config'])),
    layers: layers.map((layer) => text(record(layer)['digest'])),
  };
}

async function readMembers(file: string, refuse: (why: string, options?: ErrorOptions) => InvalidImage) {
  const sizes = new Map<string, number>();
  const documents = new Map<string, Buffer>();
  try {
    for await (const { path, type, sizeBytes, body } of readTar(createReadStream(file))) {
      if (type === 'directory') continue;
      if (type !== 'file') throw refuse(`${path} is a ${type}`);
      if (sizes.has(path)) throw refuse(`${path} is there twice`);
      const hash = createHash('sha256');
      const kept: Buffer[] = [];
      for await (const chunk of body) {
        hash.update(chunk);
        if (sizeBytes <= documentBytes) kept.push(chunk);
      }
      const [, expected] = /^blobs\/sha256\/(.*)$/.exec(path) ?? [];
      if (expected !== undefined && hash.digest('hex') !== expected)
        throw refuse(`${path} has other contents than its name says`);
      sizes.set(path, sizeBytes);
      if (sizeBytes <= documentBytes) documents.set(path, Buffer.concat(kept));
    }
  } catch (cause) {
    if (cause instanceof InvalidImage) throw cause;
    throw refuse(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  return { sizes, documents };
}

function configOf(config: Record<string, unknown>): ImageConfig {
  const env = list(config['Env']).map((line) => text(line).split(/=(.*)/s, 2) as [string, string]);
  return {
    entrypoint: list(config['Entrypoint']).map(text),
    cmd: list(config['Cmd']).map(text),
    env: Object.fromEntries(env),
    user: text(config['User']),
    workingDir: text(config['WorkingDir']),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
