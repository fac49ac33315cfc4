/**
 * Pushes a blob whose size and digest nobody knows before its end, in chunks: what is held in memory is one chunk, however large the blob is,
 * and a chunk that did not arrive is sent again.
 */
import { createHash } from 'node:crypto';
import { RegistryError } from '../errors.ts';
import type { Descriptor } from './registry.ts';
import type { Answer } from './http.ts';
import type { Calls } from './calls.ts';

const chunkBytes = 8 * 1024 * 1024;
const attempts = 5;

export async function pushBlob(
  calls: Calls,
  repository: string,
  source: AsyncIterable<Uint8Array>,
): Promise<Descriptor> {
  const hash = createHash('sha256');
  let place = await begin(calls, repository);
  let size = 0;
  for await (const chunk of inChunks(source)) {
    hash.update(chunk);
    place = await pushChunk(calls, repository, place, chunk, size);
    size += chunk.length;
  }
  const digest = `sha256:${hash.digest('hex')}`;
  const end = new URL(place);
  end.searchParams.set('digest', digest);
  await calls.expect([201], { method: 'PUT', url: end, purpose: pushTo(repository) });
  return { digest, size };
}

export const pushTo = (repository: string): string => `push ${repository}`;

async function begin(calls: Calls, repository: string): Promise<URL> {
  const url = calls.at(`/v2/${repository}/blobs/uploads/`);
  const { headers } = await calls.expect([202], { method: 'POST', url, purpose: pushTo(repository) });
  return nextPlace(url, headers.location);
}

/** Returns where the next chunk goes: a registry may name another address with each answer. */
async function pushChunk(calls: Calls, repository: string, at: URL, chunk: Uint8Array, start: number): Promise<URL> {
  const purpose = pushTo(repository);
  let place = at;
  let sent = 0;
  for (let attempt = 1; ; attempt++) {
    const body = chunk.subarray(sent);
    const headers = {
      'content-type': 'application/octet-stream',
      'content-range': `${start + sent}-${start + chunk.length - 1}`,
    };
    try {
      const answer = await calls.expect([202], { method: 'PATCH', url: place, headers, body, purpose });
      return nextPlace(place, answer.headers.location);
    } catch (error) {
      if (!(error instanceof RegistryError) || !mayGoOn(error) || attempt === attempts) throw error;
    }
    const answer = await calls.expect([204], { method: 'GET', url: place, purpose });
    const arrived = arrivedBytes(answer) - start;
    if (arrived < 0 || arrived > chunk.length) {
      throw new RegistryError('UPLOAD', `The registry has another part of the blob than it was sent`);
    }
    place = nextPlace(place, answer.headers.location);
    if (arrived === chunk.length) return place;
    sent = arrived;
  }
}

/** 416 is a chunk that does not begin where the last one ended: an earlier attempt arrived after all. */
function mayGoOn(error: RegistryError): boolean {
  return error.retry === 'backoff' || error.status === 416;
}

/** `Range: 0-99` are 100 bytes; an upload that has none says 0-0, as does one that has one. */
function arrivedBytes({ headers }: Answer): number {
  const last = Number(/^(?:bytes=)?0-(\d+)$/.exec(headers.range ?? '')?.[1] ?? 0);
  return last === 0 ? 0 : last + 1;
}

function nextPlace(from: URL, location: string | undefined): URL {
  if (location === undefined) throw new RegistryError('UPLOAD', `${from.host} did not say where to go on`);
  return new URL(location, from);
}

/** Cuts and joins: chunks are of one size, but for the last. All are in one buffer: who takes the next has done with the one before. */
async function* inChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let filled = 0;
  for await (const piece of source) {
    for (let at = 0; at < piece.length;) {
      const taken = Math.min(piece.length - at, chunkBytes - filled);
      chunk.set(piece.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < chunkBytes) continue;
      yield chunk;
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
