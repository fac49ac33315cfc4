/**
 * Finalizers, changed by a merge patch that carries the resourceVersion it was made from. A merge patch replaces the whole list, so without that
 * condition we could undo what someone else did to it in between.
 */
import type { KubeObject } from '@podloom/api';
import type { CallOptions, Client, Resource } from '../client/client.ts';
import { isNotFound } from '../client/errors.ts';

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Returns the object with the finalizer. Throws a conflict if the object has changed meanwhile: the next run sees the newer one. */
export async function ensureFinalizer<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  object: T,
  finalizer: string,
  options: CallOptions = {},
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return await setFinalizers(client, resource, object, [...(object.metadata.finalizers ?? []), finalizer], options);
}

/** Also where the object went meanwhile, which is what removing a finalizer is for. */
export async function removeFinalizer<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  object: T,
  finalizer: string,
  options: CallOptions = {},
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const rest = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  try {
    await setFinalizers(client, resource, object, rest, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function setFinalizers<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  { metadata: { name, namespace, uid, resourceVersion } }: T,
  finalizers: readonly string[],
  options: CallOptions,
): Promise<T> {
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  return client.patch(resource, name ?? '', patch, { ...options, namespace, type: 'merge' });
}
