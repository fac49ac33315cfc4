/** Stands between a client and the server. */
import type { Client } from '@podloom/kube';

type See = (verb: string, plural: string) => void | Promise<void>;

/**
 * The client with every write seen before it is sent; what `before` throws or waits for happens instead of, or before, the write. What `after` throws is
 * an answer that never came.
 */
export function seeingWrites(client: Client, before: See, after: See = () => undefined): Client {
  const verbs = new Set(['create', 'update', 'patch', 'apply', 'delete']);
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof name !== 'string' || !verbs.has(name) || typeof member !== 'function') return member;
      return async (resource: { readonly plural: string }, ...rest: unknown[]): Promise<unknown> => {
        await before(name, resource.plural);
        const answer = await (Reflect.apply(member, target, [resource, ...rest]) as Promise<unknown>);
        await after(name, resource.plural);
        return answer;
      };
    },
  });
}
