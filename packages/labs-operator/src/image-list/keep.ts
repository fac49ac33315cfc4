/**
 * Keeps an ImageList as its registry is. A registry tells of no change, so it is asked again and again. While it does not answer, the last list stays and a
 * condition says since when.
 */
import { type ImageList, type ImageListSpec, imageListKind } from '@podloom/api';
import { type Client, type Clock, type Log, applyObject, applyStatus, delay, unlessGone } from '@podloom/kube';
import { InvalidImage, RegistryError, openRegistry } from '@podloom/oci';
import { withConditions } from '../conditions.ts';
import { imagesOf } from './images.ts';
import type { ImageSource } from './source.ts';

export interface KeepContext {
  readonly client: Client;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const { resource } = imageListKind;
const fieldManager = 'podloom-image-list';

/** Works until the signal aborts. */
export async function keepImageList(source: ImageSource, intervalMs: number, context: KeepContext): Promise<void> {
  const { log, clock, signal } = context;
  while (!signal.aborted) {
    try {
      await refreshImageList(source, context);
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ list: source.list, err: error }, 'Could not write ImageList, will retry');
    }
    await delay(clock, intervalMs, signal).catch(() => undefined); // it rejects when the signal aborts, which ends the loop
  }
}

async function refreshImageList(source: ImageSource, context: KeepContext): Promise<void> {
  const { client, signal } = context;
  let images: ImageListSpec['images'];
  try {
    images = await readRegistry(source, signal);
  } catch (error) {
    if (!(error instanceof RegistryError || error instanceof InvalidImage)) throw error;
    context.log.warn({ list: source.list, err: error }, 'Could not read registry, the last list stays');
    await report(await currentList(source, context), error.message, context);
    return;
  }
  const spec = { registryName: source.registryName, images };
  const list = await applyObject(client, resource, { metadata: { name: source.list }, spec }, { fieldManager, signal });
  await report(list, undefined, context);
}

async function readRegistry({ url, credentials, ca }: ImageSource, signal: AbortSignal) {
  const registry = openRegistry({ url, credentials, ca, signal });
  try {
    return await imagesOf(registry);
  } finally {
    registry.close();
  }
}

/** Whoever looks for a list whose registry never answered should find out why there is nothing in it. */
async function currentList({ list, registryName }: ImageSource, { client, signal }: KeepContext): Promise<ImageList> {
  const known = await unlessGone(() => client.get(resource, list, { signal }));
  const empty = { metadata: { name: list }, spec: { registryName, images: [] } };
  return known ?? applyObject(client, resource, empty, { fieldManager, signal });
}

async function report(list: ImageList, failure: string | undefined, context: KeepContext): Promise<void> {
  const { client, clock, signal } = context;
  const condition =
    failure === undefined
      ? { type: 'UpToDate', status: 'True' as const, reason: 'Read', message: 'The list is as the registry is' }
      : { type: 'UpToDate', status: 'False' as const, reason: 'RegistryUnavailable', message: failure };
  const conditions = withConditions(list, [condition], clock.now());
  await applyStatus(client, resource, list, { conditions }, { fieldManager, signal });
}
