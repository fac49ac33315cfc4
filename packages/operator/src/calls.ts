/**
 * Stands between the operator and its client: counts what is asked of the API server, and keeps what is under way at a time below what one HTTP/2
 * connection carries. Without that the renewal of the Lease would wait behind the writes for hundreds of pods; and aborting requests that
 * still wait for a stream of the connection keeps undici busy for ever.
 */
import type { Client, Metrics } from '@podloom/kube';

const verbs = ['get', 'list', 'create', 'update', 'patch', 'apply', 'delete'] as const;
/** Servers allow 100 streams or more; the rest is for watches and the Lease. */
const mostAtATime = 64;

/** The same client, counted and held back. */
export function regulated(client: Client, metrics: Metrics): Client {
  const calls = metrics.counter('podloom_api_calls_total', 'What is asked of the API server, and how often?', [
    'verb',
    'resource',
  ]);
  const inTurn = turns(mostAtATime);
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      const verb = verbs.find((one) => one === name);
      if (verb === undefined || typeof member !== 'function') return member;
      return (resource: { readonly plural: string }, ...rest: unknown[]): Promise<unknown> => {
        calls.add({ verb, resource: resource.plural });
        const call = () => Reflect.apply(member, target, [resource, ...rest]) as Promise<unknown>;
        return resource.plural === 'leases' ? call() : inTurn(call);
      };
    },
  });
}

/** Runs calls in the order in which they come, so many at a time. */
export function turns(most: number): <T>(call: () => Promise<T>) => Promise<T> {
  const line: (() => void)[] = [];
  let running = 0;
  return async (call) => {
    if (running >= most) await new Promise<void>((resolve) => void line.push(resolve));
    else running += 1;
    try {
      return await call();
    } finally {
      // Who is next takes over this turn, so that nobody can slip in between.
      const next = line.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
