/**
 * The identity of an interface within its pod: `Kind/name/own`, and for an object of another namespace than the pod's
 * `Kind/namespace:name/own`. An interface that is in no spec any more is still traced to its object by it.
 */
import type { ObjectRef } from './source.ts';

export function interfaceKey({ kind, namespace, name }: ObjectRef, own: string, podNamespace = namespace): string {
  return `${kind}/${namespace === podNamespace ? name : `${namespace}:${name}`}/${own}`;
}

export function sourceOfKey(key: string, podNamespace: string): Pick<ObjectRef, 'kind' | 'namespace' | 'name'> {
  const [kind = '', whose = ''] = key.split('/');
  const [namespace, name] = whose.includes(':') ? whose.split(':') : [podNamespace, whose];
  return { kind, namespace: namespace ?? '', name: name ?? '' };
}
