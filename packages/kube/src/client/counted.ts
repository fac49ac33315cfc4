/** Stands between a process and its client, and counts what is asked of the API server. */
import type { Metrics } from '../process/metrics.ts';
import type { Client } from './client.ts';

const verbs = ['get', 'list', 'create', 'update', 'patch', 'apply', 'delete'] as const;

/** The same client, counted. */
export function counted(client: Client, metrics: Metrics): Client {
  const calls = metrics.counter('podloom_api_calls_total', 'What is asked of the API server, and how often?', [
    'verb',
    'resource',
  ]);
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      const verb = verbs.find((one) => one === name);
      if (verb === undefined || typeof member !== 'function') return member;
      return (resource: { readonly plural: string }, ...rest: unknown[]): unknown => {
        calls.add({ verb, resource: resource.plural });
        return Reflect.apply(member, target, [resource, ...rest]);
      };
    },
  });
}
