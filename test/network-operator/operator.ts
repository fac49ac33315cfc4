/** An operator as a process would run it, but in this one: it serves one namespace, and a test can stop it, kill it and stand between it and the server. */
import { randomUUID } from 'node:crypto';
import { Unavailable, networkGrantKind } from '@podloom/api';
import {
  type Client,
  type Clock,
  type ClusterConfig,
  type Metrics,
  createClient,
  createLog,
  createMetrics,
} from '@podloom/kube';
import { networkOperatorSettings, runNetworkOperator } from '@podloom/network-operator';
import { seeingWrites } from './writes.ts';

export interface RunningOperator {
  readonly metrics: Metrics;
  /** As a process that is told to stop. */
  stop(): Promise<void>;
  /** As kill -9: nothing that it would still write arrives. */
  kill(): Promise<void>;
}

export interface OperatorChanges {
  /** Stands between the operator and the server. */
  readonly wrap?: (client: Client) => Client;
  readonly settings?: Record<string, string>;
  readonly clock?: Clock;
}

export async function startOperator(
  config: ClusterConfig,
  namespace: string,
  { wrap = (one) => one, settings: given = {}, clock }: OperatorChanges,
): Promise<RunningOperator> {
  const stop = new AbortController();
  const client = createClient({ ...config, namespace });
  const metrics = createMetrics();
  const level = process.env['LOG'] === undefined ? 'silent' : 'debug';
  const settings = networkOperatorSettings.read({
    args: [],
    env: {},
    file: { namespace, onlyNamespace: namespace, identity: randomUUID().slice(0, 4), ...given },
  });
  const ended = runNetworkOperator(settings, {
    client: wrap(
      seeingWrites(ownGrants(client, namespace), () =>
        isDead ? Promise.reject(new Unavailable('TEST', 'Killed')) : undefined,
      ),
    ),
    log: createLog({ name: 'operator', level }),
    signal: stop.signal,
    metrics,
    force: () => undefined,
    clock,
  });
  let isOver = false;
  let isDead = false;
  const finish = async () => {
    if (isOver) return;
    isOver = true;
    stop.abort();
    // One that had ended by itself, or cannot end in order, is why a test waited in vain.
    await ended.catch((error: unknown) => (isDead ? undefined : Promise.reject(error)));
  };
  // Whoever stops it hears of the failure; until then it is nobody's, and Node would end the whole run for it.
  ended.catch(() => undefined);
  return {
    metrics,
    stop: finish,
    async kill() {
      // From here on nothing is sent any more: not even the Lease is given back.
      isDead = true;
      await finish();
    },
  };
}

/** The client with the one NetworkGrant that is named as the namespace: others are of other tests, and each would bring every pod under review. */
function ownGrants(client: Client, namespace: string): Client {
  const own = { fieldSelector: `metadata.name=${namespace}` };
  const optionsFor = ({ plural }: { readonly plural: string }, options: object = {}): object =>
    plural === networkGrantKind.resource.plural ? { ...options, ...own } : options;
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if ((name !== 'list' && name !== 'watch') || typeof member !== 'function') return member;
      return (resource: { readonly plural: string }, options?: object): unknown =>
        Reflect.apply(member, target, [resource, optionsFor(resource, options)]);
    },
  });
}
