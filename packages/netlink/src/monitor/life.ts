/** How the end of a namespace shows: the process that named it ends, or its file is no longer that namespace. */
import { fstatSync, statSync } from 'node:fs';
import * as libc from '../libc.ts';
import type { Netns } from '../namespace.ts';
import { NetlinkError } from '../wire/error.ts';

export type Life =
  { readonly pidfd: number } | { readonly path: string; readonly device: number; readonly inode: number };

/** Of a namespace that only its `Netns` holds: undefined. */
export function lifeOf({ fd, source }: Netns): Life | undefined {
  const { dev: device, ino: inode } = fstatSync(fd);
  if ('path' in source) return { path: source.path, device, inode };
  if ('create' in source) return source.pinned === undefined ? undefined : { path: source.pinned, device, inode };
  if (!('pid' in source)) return undefined;
  const pidfd = libc.pidfdOpen(source.pid);
  if (statSync(`/proc/${source.pid}/ns/net`, { throwIfNoEntry: false })?.ino === inode) return { pidfd };
  libc.close(pidfd);
  throw new NetlinkError('monitor', 3, { kernelMessage: `process ${source.pid} is no longer in this namespace` });
}

export function isThere(life: Extract<Life, { path: string }>): boolean {
  const now = statSync(life.path, { throwIfNoEntry: false });
  return now !== undefined && now.ino === life.inode && now.dev === life.device;
}
