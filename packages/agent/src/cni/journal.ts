/**
 * What plugins made, or may have made, on disk: written before ADD starts, and removed after DEL. A file is written aside, brought to the disk, and
 * renamed: whatever moment the agent is killed at, it is there whole or not at all.
 */
import { type FileHandle, mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Bug } from '@podloom/api';
import type { ObjectKey } from '@podloom/kube';
import type { Attachment } from './attachment.ts';
import { isObject } from './config.ts';
import { isSandboxId } from './environment.ts';
import { podOf } from './wanted.ts';

export interface Entry {
  readonly attachment: Attachment;
  /** What ADD answered. Without it the agent ended before ADD did, or before it was written: then DEL comes first. */
  readonly result?: unknown;
}

export interface Journal {
  /** Once, before all else. Names files that are no entries; they are left as they are. */
  load(): Promise<readonly string[]>;
  pods(): readonly ObjectKey[];
  of(pod: ObjectKey): readonly Entry[];
  write(entry: Entry): Promise<void>;
  remove(attachment: Attachment): Promise<void>;
}

export function journalIn(folder: string): Journal {
  const entries = new Map<ObjectKey, Map<string, Entry>>();
  function keep(name: string, entry: Entry): void {
    const pod = podOf(entry.attachment);
    const known = entries.get(pod) ?? new Map<string, Entry>();
    entries.set(pod, known.set(name, entry));
  }

  return {
    async load() {
      const unknown: string[] = [];
      for (const name of await namesIn(folder)) {
        const path = join(folder, name);
        if (name.startsWith('.')) {
          await rm(path, { force: true }); // a write that a crash cut off
          continue;
        }
        const entry = parseEntry(await readFile(path, 'utf8'));
        if (entry && fileOf(entry.attachment) === name) keep(name, entry);
        else unknown.push(path);
      }
      return unknown;
    },
    pods: () => [...entries.keys()],
    of: (pod) => [...(entries.get(pod)?.values() ?? [])],
    async write(entry) {
      const name = fileOf(entry.attachment);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeWhole(join(folder, name), `${JSON.stringify({ version: 1, ...entry })}\n`, folder);
      keep(name, entry);
    },
    async remove(attachment) {
      const name = fileOf(attachment);
      await rm(join(folder, name), { force: true });
      await sync(folder);
      const pod = podOf(attachment);
      const left = entries.get(pod);
      left?.delete(name);
      if (left?.size === 0) entries.delete(pod);
    },
  };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Neither part can be a path: the id is checked here, and the name of a link has no slash. */
export function fileOf({ sandboxId, interfaceName }: Attachment): string {
  const name = `${sandboxId}-${interfaceName}.json`;
  if (isSandboxId(sandboxId) && basename(name) === name) return name;
  throw new Bug('JOURNAL_NAME', `"${name}" cannot be the name of a file of the journal`);
}

async function writeWhole(path: string, text: string, folder: string): Promise<void> {
  const aside = join(folder, `.${basename(path)}.new`);
  await using file: FileHandle = await open(aside, 'w', 0o600);
  await file.writeFile(text);
  await file.sync();
  await rename(aside, path);
  await sync(folder);
}

async function sync(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

/** The file is the agent's own, so only its form is looked at, as far as a crash or another version may have changed it. */
function parseEntry(text: string): Entry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isObject(value) || value['version'] !== 1 || !isObject(value['attachment'])) return undefined;
  const { sandboxId, interfaceName, key, config, pod, netns, source, args, capabilities } = value['attachment'];
  const isWhole =
    [sandboxId, interfaceName, key, config].every((one) => typeof one === 'string') &&
    isSandboxId(sandboxId as string) &&
    [pod, netns, source, capabilities].every(isObject) &&
    Array.isArray(args);
  if (!isWhole) return undefined;
  const { result } = value;
  return { attachment: value['attachment'] as unknown as Attachment, ...(result === undefined ? {} : { result }) };
}
