/** Tar archives as streams, always the same bytes for the same entries. The only importer of tar-stream. */
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import { contentsOf } from './contents.ts';
import { planEntries, type ImageEntry } from './entries.ts';

/** Packs entries in sorted order, with their parents, owned by root and dated to the epoch. */
export function packTar(entries: readonly ImageEntry[]): Readable {
  const planned = planEntries(entries);
  const tar = pack();
  packAll(tar, planned).then(
    () => tar.finalize(),
    (error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  return Readable.from(tar);
}

async function packAll(tar: Pack, entries: readonly ImageEntry[]): Promise<void> {
  for (const entry of entries) {
    const contents = contentsOf(entry);
    const header = { name: entry.path, mtime: new Date(0), uid: 0, gid: 0, uname: '', gname: '' };
    if (contents) {
      const sink = tar.entry({ ...header, type: 'file', mode: contents.mode, size: contents.sizeBytes });
      await pipeline(contents.open(), sink);
    } else if ('link' in entry) {
      tar.entry({ ...header, type: 'symlink', mode: 0o777, linkname: entry.link });
    } else {
      tar.entry({ ...header, type: 'directory', mode: ('mode' in entry ? entry.mode : undefined) ?? 0o755 });
    }
  }
}

export interface TarMember {
  readonly path: string;
  readonly type: string;
  readonly sizeBytes: number;
  readonly header: Header;
  /** Must be read to its end before the next member is asked for. */
  readonly body: AsyncIterable<Buffer>;
}

/** Reads an archive member by member. */
export async function* readTar(source: Readable): AsyncGenerator<TarMember> {
  const tar = extract();
  const feeding = pipeline(source, tar);
  // A failure of the source reaches the loop below through the destroyed extractor; here it would only be unhandled.
  feeding.catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))));
  for await (const entry of tar) {
    const { name, type, size } = entry.header;
    // Other writers put "./" in front, or a slash behind.
    const path = posix.normalize(name).replace(/\/$/, '');
    yield { path, type, sizeBytes: size, header: entry.header, body: entry as AsyncIterable<Buffer> };
    entry.resume();
  }
  await feeding;
}
