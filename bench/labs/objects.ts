/** What an operator of the labs has made, and the same made by a loop that does nothing else. */
import { type KubeObject, tenantKind, workspaceKind } from '@podloom/api';
import {
  type Client,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  type Draft,
  jobs,
  limitRanges,
  namespaces,
  networkPolicies,
  persistentVolumeClaims,
  resourceQuotas,
  type Resource,
  roleBindings,
  roles,
} from '@podloom/kube';

/** Beside namespaces. */
const made = [
  clusterRoles,
  clusterRoleBindings,
  roles,
  roleBindings,
  configMaps,
  resourceQuotas,
  limitRanges,
  networkPolicies,
  persistentVolumeClaims,
  jobs,
] as readonly Resource[];
const people = [workspaceKind.resource, tenantKind.resource] as readonly Resource[];
const mark = 'crownlabs.polito.it/managed-by';

export interface Made {
  readonly children: readonly { readonly resource: Resource; readonly object: KubeObject }[];
  readonly people: readonly { readonly resource: Resource; readonly object: KubeObject }[];
}

const listed = async (client: Client, resource: Resource, labelSelector = '') =>
  (await client.list(resource, { labelSelector })).items.map((object) => ({ resource, object }));

export async function readMade(client: Client): Promise<Made> {
  // That of the drives is shared, and has no mark.
  const spaces = (await listed(client, namespaces)).filter(({ object }) => !isKubernetes(object));
  const marked = (await Promise.all(made.map((resource) => listed(client, resource, mark)))).flat();
  return {
    children: [...spaces, ...marked],
    people: (await Promise.all(people.map((resource) => listed(client, resource)))).flat(),
  };
}

const isKubernetes = ({ metadata }: KubeObject): boolean => /^(default|kube-.*)$/.test(metadata.name ?? '');

/** Of everything, by kind and name. */
export async function versions(client: Client): Promise<ReadonlyMap<string, string>> {
  const { children, people: owners } = await readMade(client);
  return new Map(
    [...children, ...owners].map(({ resource, object: { metadata } }) => [
      `${resource.plural} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
      metadata.resourceVersion ?? '',
    ]),
  );
}

/** Writes it, one after another: each child, and of each person what the operator adds and what it answers. */
export async function writeAll(client: Client, { children, people: owners }: Made): Promise<number> {
  let writes = 0;
  for (const { resource, object } of children) {
    await client.create(resource, draftOf(object), { namespace: object.metadata.namespace });
    writes += 1;
  }
  for (const { resource, object } of owners) {
    const { name = '', labels, finalizers } = object.metadata;
    await client.patch(resource, name, { metadata: { labels, finalizers } }, { type: 'merge' });
    const { status } = object as KubeObject & { status?: object };
    await client.patch(resource, name, { status }, { type: 'merge', subresource: 'status' });
    writes += 2;
  }
  return writes;
}

/** As somebody would write it who knows what it is to be. */
function draftOf(object: KubeObject): Draft<KubeObject> {
  const { status: _, ...written } = object as KubeObject & { status?: object; spec?: unknown };
  const { name = '', namespace, labels, annotations, ownerReferences } = object.metadata;
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
  };
  // The API server gives a Job its selector.
  const spec = object.kind === 'Job' && { spec: jobSpec(written.spec as JobSpec) };
  return { ...written, metadata, ...spec };
}

interface JobSpec {
  readonly backoffLimit?: number;
  readonly template: { readonly spec: object };
}

const jobSpec = ({ backoffLimit, template }: JobSpec): object => ({ backoffLimit, template: { spec: template.spec } });
