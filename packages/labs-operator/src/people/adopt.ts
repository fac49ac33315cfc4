/** What an object of people's gets before anything is made for it: our finalizer, its labels, and what its spec lacks. One write, or none. */
import type { KubeObject } from '@podloom/api';
import { type Client, type Resource, hasFinalizer } from '@podloom/kube';
import { tenantFinalizer } from '@podloom/labs';

export interface Adoption {
  /** `undefined` removes a label. */
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly spec?: object | undefined;
}

/** Returns the object with all that. Throws where it has changed meanwhile: the next pass sees the newer one. */
export async function adopt<T extends KubeObject>(
  client: Client,
  resource: Resource<T>,
  object: T,
  { labels, spec }: Adoption,
  signal: AbortSignal,
): Promise<T> {
  const { name = '', uid, resourceVersion, finalizers = [], labels: has = {} } = object.metadata;
  const changed = Object.entries(labels).filter(([key, value]) => has[key] !== value);
  const isGuarded = hasFinalizer(object, tenantFinalizer);
  if (isGuarded && changed.length === 0 && !spec) return object;
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      ...(!isGuarded && { finalizers: [...finalizers, tenantFinalizer] }),
      labels: Object.fromEntries(changed.map(([key, value]) => [key, value ?? null])),
    },
    ...(spec && { spec }),
  };
  return client.patch(resource, name, patch, { type: 'merge', signal });
}
