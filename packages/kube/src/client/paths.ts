/** Where a resource is found on the server. Names are encoded, and refused where encoding cannot make them harmless. */
import { InvalidInput } from '@podloom/api';
import type { Resource } from './client.ts';

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export function pathOf(resource: Resource, { namespace, name, subresource }: Place): string {
  const root = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version];
  const within = resource.namespaced && namespace !== undefined ? ['namespaces', namespace] : [];
  const below = [name, subresource].filter((part) => part !== undefined);
  return `/${[...root, ...within, resource.plural, ...below].map(segment).join('/')}`;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The encoded form of "." and ".." is still a step in the path for some servers and proxies, and "" would address the list. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') {
    throw new InvalidInput('API_NAME', `"${text}" cannot be the name of an object or namespace`);
  }
  return encodeURIComponent(text);
}
