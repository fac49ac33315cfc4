/**
 * A client of OCI registries (the distribution specification, 1.1): what is there, images in and out, at constant memory. It believes no digest
 * that it did not compute itself.
 */
import { createHash } from 'node:crypto';
import { InvalidImage, RegistryError } from '../errors.ts';
import { Access, type Credentials } from './access.ts';
import { Calls } from './calls.ts';
import { parseNextLink } from './headers.ts';
import { openWire } from './http.ts';
import { checkDigest, checkReference, checkRepository } from './names.ts';
import { pushBlob, pushTo } from './upload.ts';

export interface RegistryOptions {
  /** `https://HOST:PORT`; with http everybody on the way can read and change what passes. */
  readonly url: string;
  /** Certificates of authorities to believe in place of the machine's, in PEM. */
  readonly ca?: string | undefined;
  readonly credentials?: Credentials | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

export interface Manifest {
  readonly mediaType: string;
  readonly digest: string;
  /** As it is in the registry: its digest is of exactly these bytes. */
  readonly bytes: Buffer;
}

export interface Registry {
  /** Names of all repositories, page by page. One without tags is named, too: a registry keeps the name of what was deleted. */
  repositories(): AsyncGenerator<string>;
  /** None where there is no such repository. */
  tags(repository: string): AsyncGenerator<string>;
  /** By tag or digest. */
  manifest(repository: string, reference: string): Promise<Manifest>;
  putManifest(repository: string, reference: string, manifest: Omit<Manifest, 'digest'>): Promise<Descriptor>;
  deleteManifest(repository: string, digest: string): Promise<void>;
  hasBlob(repository: string, digest: string): Promise<boolean>;
  /** The bytes of a blob. The last of them does not come before all were compared with the digest. */
  blob(repository: string, digest: string): AsyncGenerator<Buffer>;
  pushBlob(repository: string, source: AsyncIterable<Uint8Array>): Promise<Descriptor>;
  close(): void;
}

const pageSize = 100;
const pageBytes = 4 * 1024 * 1024;
/** As large as registries take. */
const manifestBytes = 4 * 1024 * 1024;
const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

export function openRegistry({ url, ca, credentials, signal }: RegistryOptions): Registry {
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (!base || !/^https?:$/.test(base.protocol) || base.pathname !== '/') {
    throw new InvalidImage(
      'REGISTRY_URL',
      `"${url}" is not the address of a registry, such as https://registry.example:5000`,
    );
  }
  const wire = openWire({ ca, signal });
  const calls = new Calls(wire, new Access(wire, base.origin, credentials), base);
  return {
    repositories: () => pages(calls, calls.at(`/v2/_catalog?n=${pageSize}`), 'catalog', 'repositories'),
    tags: (repository) => {
      const name = checkRepository(repository);
      return pages(calls, calls.at(`/v2/${name}/tags/list?n=${pageSize}`), pullFrom(name), 'tags');
    },
    manifest: async (repository, reference) =>
      readManifest(calls, checkRepository(repository), checkReference(reference)),
    putManifest: async (repository, reference, { mediaType, bytes }) => {
      const name = checkRepository(repository);
      const place = calls.at(`/v2/${name}/manifests/${checkReference(reference)}`);
      const headers = { 'content-type': mediaType };
      await calls.expect([201], { method: 'PUT', url: place, headers, body: bytes, purpose: pushTo(name) });
      return { digest: digestOf(bytes), size: bytes.length };
    },
    deleteManifest: async (repository, digest) => {
      const name = checkRepository(repository);
      const place = calls.at(`/v2/${name}/manifests/${checkDigest(digest)}`);
      await calls.expect([202], { method: 'DELETE', url: place, purpose: `delete ${name}` });
    },
    hasBlob: async (repository, digest) => {
      const name = checkRepository(repository);
      const place = calls.at(`/v2/${name}/blobs/${checkDigest(digest)}`);
      const { status } = await calls.expect([200, 307, 404], { method: 'HEAD', url: place, purpose: pullFrom(name) });
      return status !== 404;
    },
    blob: (repository, digest) => readBlob(calls, checkRepository(repository), checkDigest(digest)),
    pushBlob: async (repository, source) => pushBlob(calls, checkRepository(repository), source),
    close: () => wire.close(),
  };
}

const pullFrom = (repository: string): string => `pull ${repository}`;

async function* pages(
  calls: Calls,
  first: URL,
  purpose: string,
  field: 'repositories' | 'tags',
): AsyncGenerator<string> {
  const seen = new Set<string>();
  for (let url: URL | undefined = first; url;) {
    if (seen.has(url.href))
      throw new RegistryError('PAGES', `${url.host} names a page twice: ${url.pathname}${url.search}`);
    seen.add(url.href);
    const page = await calls.read({ method: 'GET', url, purpose }, pageBytes).catch((error: unknown) => {
      if (error instanceof RegistryError && error.status === 404 && field === 'tags') return undefined;
      throw error;
    });
    if (!page) return;
    yield* namesIn(page.bytes, field);
    const link = parseNextLink(String(page.answer.headers['link'] ?? ''));
    const next: URL | undefined = link === undefined ? undefined : new URL(link, url);
    if (next && next.origin !== first.origin) throw new RegistryError('PAGES', `${url.host} leads to ${next.host}`);
    url = next;
  }
}

/** A repository whose tags were deleted has none, in one of three ways. */
function namesIn(bytes: Buffer, field: string): string[] {
  const value = (parseJson(bytes) as Record<string, unknown>)[field] ?? [];
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value;
  throw new RegistryError('PAGES', `The registry's answer has no list of ${field}`);
}

async function readManifest(calls: Calls, repository: string, reference: string): Promise<Manifest> {
  const url = calls.at(`/v2/${repository}/manifests/${reference}`);
  const headers = { accept: manifestTypes.join(', ') };
  const { answer, bytes } = await calls.read(
    { method: 'GET', url, headers, purpose: pullFrom(repository) },
    manifestBytes,
  );
  const digest = digestOf(bytes);
  const promised = reference.startsWith('sha256:') ? reference : answer.headers['docker-content-digest'];
  if (promised !== undefined && promised !== digest) throw new OtherContents(`${repository}@${String(promised)}`);
  const [mediaType = ''] = (answer.headers['content-type'] ?? '').split(';');
  return { mediaType: mediaType.trim(), digest, bytes };
}

async function* readBlob(calls: Calls, repository: string, digest: string): AsyncGenerator<Buffer> {
  const url = calls.at(`/v2/${repository}/blobs/${digest}`);
  const { body } = await calls.open({ method: 'GET', url, purpose: pullFrom(repository) });
  const hash = createHash('sha256');
  let held: Buffer | undefined;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (held) yield held;
    held = chunk;
  }
  if (`sha256:${hash.digest('hex')}` !== digest) throw new OtherContents(`${repository}@${digest}`);
  if (held) yield held;
}

class OtherContents extends RegistryError {
  constructor(what: string) {
    super('OTHER_CONTENTS', `${what} has other contents than its digest says`);
  }
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch (cause) {
    throw new RegistryError('NOT_JSON', 'The registry answered with something else than JSON', { cause });
  }
}
