/** Pushes an archive of ours: blob by blob from the file, and its manifest last. */
import { createReadStream } from 'node:fs';
import { InvalidImage } from '../errors.ts';
import { mediaType } from '../layout/archive.ts';
import { inspectOciArchive } from '../layout/inspect.ts';
import { readTar } from '../layout/tar.ts';
import type { Descriptor, Registry } from './registry.ts';

const manifestBytes = 4 * 1024 * 1024;

export interface PushOptions {
  readonly archive: string;
  readonly repository: string;
  readonly tag: string;
}

/** What the registry has already is not sent. Returns what a pod may name instead of the tag: the digest. */
export async function pushOciArchive(
  registry: Registry,
  { archive, repository, tag }: PushOptions,
): Promise<Descriptor> {
  const { digest } = await inspectOciArchive(archive);
  let bytes: Buffer | undefined;
  for await (const { path, body } of readTar(createReadStream(archive))) {
    const [, hash] = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(path) ?? [];
    if (hash === undefined) continue;
    if (`sha256:${hash}` === digest) bytes = await readBounded(body);
    else if (!(await registry.hasBlob(repository, `sha256:${hash}`))) await registry.pushBlob(repository, body);
  }
  if (!bytes) throw new InvalidImage('IMAGE_ARCHIVE', `${archive} has no manifest`);
  return registry.putManifest(repository, tag, { mediaType: mediaType.manifest, bytes });
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > manifestBytes) throw new InvalidImage('IMAGE_ARCHIVE', 'The manifest is larger than registries take');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
