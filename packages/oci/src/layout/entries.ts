/**
 * What a layer of an image holds, as plain data, and the rules that make a layer safe and always the same: every path inside the
 * root, parents before children, nothing twice, nothing written through a link. Reading and packing the contents is elsewhere.
 */
import { InvalidImage } from '../errors.ts';
import { posix } from 'node:path';

/** One path of a layer, without a leading slash. Everything belongs to root, and times are fixed. */
export type ImageEntry =
  | {
      readonly path: string;
      /** Taken from here; executable in the image if it is executable here. */
      readonly file: string;
      /** Leaves out symbols and section headers of an ELF file: a fifth of Node's binary. */
      readonly stripped?: boolean;
      readonly mode?: number;
    }
  | { readonly path: string; readonly text: string; readonly mode?: number }
  | { readonly path: string; readonly link: string }
  | { readonly path: string; readonly directory: true; readonly mode?: number };

/** All entries of a layer with their parent directories, in the order in which they are packed. */
export function planEntries(entries: readonly ImageEntry[]): ImageEntry[] {
  const planned = new Map<string, ImageEntry>();
  for (const entry of entries) {
    checkPath(entry);
    if (planned.has(entry.path)) throw invalid(entry.path, 'is there twice');
    planned.set(entry.path, entry);
  }
  for (const { path } of entries) {
    for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) {
      const there = planned.get(parent);
      if (there && !('directory' in there)) throw invalid(path, `lies below ${parent}, which is not a directory`);
      if (!there) planned.set(parent, { path: parent, directory: true });
    }
  }
  return [...planned.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function checkPath(entry: ImageEntry): void {
  const { path } = entry;
  if (path === '' || path.includes('\0') || posix.isAbsolute(path) || posix.normalize(path) !== path) {
    throw invalid(path, 'must be relative to the root, without ".", ".." or a slash at either end');
  }
  if (path.split('/').includes('..') || path === '.' || path.endsWith('/')) throw invalid(path, 'leaves the root');
  // A name with this prefix means "delete" to whoever unpacks the layer.
  if (path.split('/').some((part) => part.startsWith('.wh.'))) throw invalid(path, 'is a deletion mark');
  if ('link' in entry) {
    const target = posix.join('/', posix.dirname(path), entry.link);
    const climbs = posix.normalize(posix.join(posix.dirname(path), entry.link)).startsWith('..');
    if (entry.link === '' || (!posix.isAbsolute(entry.link) && climbs)) {
      throw invalid(path, `links to ${entry.link || 'nothing'}, outside the root`);
    }
    if (target === `/${path}`) throw invalid(path, 'links to itself');
  }
  if ('mode' in entry && entry.mode !== undefined && (entry.mode & ~0o1777) !== 0) {
    throw invalid(path, 'has a mode with set-user-id, set-group-id or more than permissions');
  }
}

function invalid(path: string, why: string): InvalidImage {
  return new InvalidImage('IMAGE_ENTRY', `Image entry "${path}" ${why}`);
}
