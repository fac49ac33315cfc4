/** Server-side apply in the two forms that controllers use it: a whole object of ours, and the status of someone else's. */
import type { KubeObject, OwnerReference } from '@podloom/api';
import type { Applied, CallOptions, Client, Resource } from '../client/client.ts';

export interface ApplyOwnOptions extends CallOptions {
  readonly fieldManager: string;
}

/**
 * Writes the status, all of it that is ours: a field that we set before and leave out now is removed. Our field manager takes over
 * what another wrote to the same field, because a status has one writer for each field.
 */
export function applyStatus<T extends KubeObject & { readonly status?: unknown }>(
  client: Client,
  resource: Resource<T>,
  object: T,
  status: NonNullable<T['status']>,
  options: ApplyOwnOptions,
): Promise<T> {
  const { name, namespace, uid } = object.metadata;
  // The uid keeps us from writing the status of a later object that has the same name.
  const applied = { metadata: { name, ...(namespace && { namespace }), ...(uid && { uid }) }, status };
  return client.apply(resource, applied as unknown as Applied<T>, {
    ...options,
    namespace,
    subresource: 'status',
    force: true,
  });
}

/** Makes an object of ours be as given; doing it twice is doing it once. */
export function applyObject<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  object: Applied<T>,
  options: ApplyOwnOptions,
): Promise<T> {
  return client.apply(resource, object, { ...options, namespace: object.metadata.namespace, force: true });
}

/** For `metadata.ownerReferences` of what an object brings about, so that it goes when its owner goes. */
export function ownerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return {
    apiVersion,
    kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}
