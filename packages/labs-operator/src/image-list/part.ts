/** Lists of images as a part of the operator of the labs, and as a process of its own. */
import { readFile } from 'node:fs/promises';
import { type Client, type Log, type Part, aborted, systemClock } from '@podloom/kube';
import { keepImageList } from './keep.ts';
import type { ImageListSettings } from './settings.ts';
import { type ImageSource, readSources } from './source.ts';

export interface ImageListsOptions {
  /** Names the registries. */
  readonly file: string;
  readonly intervalMs: number;
}

/** One registry that does not answer keeps none of the others waiting. The file is read at each start. */
export const imageLists = ({ file, intervalMs }: ImageListsOptions): Part => ({
  name: 'image lists',
  async start({ client, log, clock, signal }) {
    const sources = await readSources(file);
    await Promise.all(sources.map((source) => keepImageList(source, intervalMs, { client, log, clock, signal })));
    // No registry is no reason to end.
    await aborted(signal);
  },
});

interface Tools {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** `podloom image-list`: one registry, by flags. */
export async function runImageList(settings: ImageListSettings, { client, log, signal }: Tools): Promise<void> {
  const context = { client, log, clock: systemClock, signal };
  await keepImageList(await sourceOf(settings), settings.updateInterval * 1_000, context);
}

async function sourceOf(settings: ImageListSettings): Promise<ImageSource> {
  const { registryUsername: username, registryPassword: password, registryCaFile: file } = settings;
  return {
    list: settings.imageListName,
    url: settings.registryUrl,
    registryName: settings.advertisedRegistryName,
    credentials: username === '' ? undefined : { username, password },
    ca: file === '' ? undefined : await readFile(file, 'utf8'),
  };
}
