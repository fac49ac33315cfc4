/** The watch of what an owner made: whoever changes or deletes a child brings its owner back to the reconciler. */
import type { KubeObject } from '@podloom/api';
import type { Resource } from '../client/client.ts';
import { apiVersionOf } from '../client/paths.ts';
import { controllerOf } from '../objects/written.ts';
import { type Dependency, type Source, dependsOn } from './controller.ts';

/** Maps a child to its controller, where that is an `owner`. A cluster-scoped owner may have children in namespaces. */
export function owns<T extends KubeObject>(source: Source<T>, owner: Resource): Dependency {
  const apiVersion = apiVersionOf(owner);
  return dependsOn(source, (child) => {
    const reference = controllerOf(child);
    if (reference?.kind !== owner.kind || reference.apiVersion !== apiVersion) return [];
    return [{ name: reference.name, namespace: owner.namespaced ? child.metadata.namespace : undefined }];
  });
}
