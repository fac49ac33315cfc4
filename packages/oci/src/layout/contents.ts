/** The bytes of an entry, as size and stream: a file of 150 MB never is in memory as a whole. */
import { InvalidImage } from '../errors.ts';
import { createReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { readElf, strippedHeader } from './elf.ts';
import type { ImageEntry } from './entries.ts';

export interface Contents {
  readonly sizeBytes: number;
  readonly mode: number;
  open(): Readable;
}

/** Contents of a file entry; undefined for links and directories, which have none. */
export function contentsOf(entry: ImageEntry): Contents | undefined {
  if ('text' in entry) {
    const bytes = Buffer.from(entry.text);
    return { sizeBytes: bytes.length, mode: entry.mode ?? 0o644, open: () => Readable.from([bytes]) };
  }
  if (!('file' in entry)) return undefined;
  const { file } = entry;
  const stat = statSync(file);
  if (!stat.isFile()) throw new InvalidImage('IMAGE_ENTRY', `${file} is not a regular file`);
  const mode = entry.mode ?? ((stat.mode & 0o100) === 0 ? 0o644 : 0o755);
  if (!entry.stripped) return { sizeBytes: stat.size, mode, open: () => readRange(file, 0, stat.size) };
  const { loadedBytes } = readElf(file);
  return { sizeBytes: loadedBytes, mode, open: () => Readable.from(strippedBytes(file, loadedBytes)) };
}

async function* strippedBytes(file: string, loadedBytes: number): AsyncGenerator<Buffer> {
  const header = strippedHeader(file);
  yield header;
  yield* readRange(file, header.length, loadedBytes);
}

// The size of the reads is fixed, because compressed bytes may depend on how their input was cut.
function readRange(file: string, start: number, end: number): Readable {
  if (end <= start) return Readable.from([]);
  return createReadStream(file, { start, end: end - 1, highWaterMark: 256 * 1024 });
}
