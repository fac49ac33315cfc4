/** The verbs of client.ts, made of paths, queries and bodies. Everything about connections is in transport.ts. */
import { type KubeObject, Unavailable } from '@podloom/api';
import type { ClusterConfig } from '../kubeconfig/cluster.ts';
import type {
  Bookmark,
  Client,
  DeleteOptions,
  List,
  ListOptions,
  Resource,
  SelectOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { translateStatus } from './errors.ts';
import { apiVersionOf, pathOf } from './paths.ts';
import { readText } from './read-json.ts';
import { type Call, createTransport, translated, translatedStream, type TransportOptions } from './transport.ts';
import { turns } from './turns.ts';
import { jsonLines } from './watch-stream.ts';

export type ClientOptions = TransportOptions;

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;
/** The body is JSON, which is YAML too; the server knows this content type in every version that has server-side apply. */
const applyType = 'application/apply-patch+yaml';

/** A connection carries 100 streams: what is left is for watches, logs and Leases. */
const mostCallsAtATime = 64;
/** A leader that waits behind its own writes is none for long. */
const isUrgent = (call: Call) => call.path.startsWith('/apis/coordination.k8s.io/');

export function createClient(config: ClusterConfig, options: ClientOptions = {}): Client {
  const transport = createTransport(config, options);
  const stop = new AbortController();
  const inTurn = turns(mostCallsAtATime);

  const text = (call: Call) => (isUrgent(call) ? answer(call) : inTurn(call.signal, () => answer(call)));

  async function answer(call: Call) {
    const response = await transport.send(call);
    const body = await translated(`${call.method} ${call.path}`, call.signal, () => readText(response.body));
    return { status: response.statusCode, headers: response.headers, text: body };
  }

  async function json<T>(call: Call): Promise<T> {
    return parseAnswer((await text(call)).text, call) as T;
  }

  const namespaceOf = (given: { namespace?: string | undefined }, object?: { namespace?: string | undefined }) =>
    given.namespace ?? object?.namespace ?? config.namespace;

  async function* watchEvents<T extends KubeObject>(call: Call): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const what = `${call.method} ${call.path}`;
    const { signal } = call;
    if (signal?.aborted) return;
    try {
      const response = await transport.send(call);
      for await (const line of translatedStream(what, signal, jsonLines(response.body)))
        yield parseEvent<T>(line, what);
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  async function* logChunks(call: Call): AsyncGenerator<string, void, undefined> {
    const what = `${call.method} ${call.path}`;
    const response = await transport.send(call);
    const decoder = new TextDecoder();
    for await (const chunk of translatedStream<Uint8Array>(what, call.signal, response.body)) {
      yield decoder.decode(chunk, { stream: true });
    }
    const rest = decoder.decode();
    if (rest) yield rest;
  }

  return {
    namespace: config.namespace,

    get: async (resource, name, given = {}) =>
      json({
        method: 'GET',
        path: pathOf(resource, { name, namespace: namespaceOf(given), subresource: given.subresource }),
        signal: given.signal,
      }),

    async list<T extends KubeObject>(resource: Resource<T>, given: ListOptions = {}) {
      const { namespace, signal, ...query } = given;
      const list = await json<List<T>>({ method: 'GET', path: pathOf(resource, { namespace }), query, signal });
      // The server leaves out type and kind of a built-in kind's items, since the list says them; alone, an object needs them.
      const typed = { apiVersion: apiVersionOf(resource), kind: resource.kind };
      list.items ??= [];
      for (const item of list.items) if (item.kind === undefined) Object.assign(item, typed);
      return list;
    },

    async *watch<T extends KubeObject>(resource: Resource<T>, given: WatchOptions = {}) {
      const { namespace, signal, sendInitialEvents, ...query } = given;
      yield* watchEvents<T>({
        method: 'GET',
        path: pathOf(resource, { namespace }),
        query: {
          ...query,
          watch: true,
          allowWatchBookmarks: true,
          ...(sendInitialEvents ? { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' } : {}),
        },
        endless: true,
        signal,
      });
    },

    create: async (resource, object, given = {}) =>
      json({
        method: 'POST',
        path: pathOf(resource, {
          namespace: namespaceOf(given, object.metadata),
          ...(given.subresource ? { name: object.metadata.name, subresource: given.subresource } : {}),
        }),
        query: writeQuery(given),
        body: bodyOf(resource, object),
        signal: given.signal,
      }),

    update: async (resource, object, given = {}) =>
      json({
        method: 'PUT',
        path: pathOf(resource, {
          namespace: namespaceOf(given, object.metadata),
          name: object.metadata.name,
          subresource: given.subresource,
        }),
        query: writeQuery(given),
        body: bodyOf(resource, object),
        signal: given.signal,
      }),

    patch: async (resource, name, patch, given) =>
      json({
        method: 'PATCH',
        path: pathOf(resource, { namespace: namespaceOf(given), name, subresource: given.subresource }),
        query: writeQuery(given),
        headers: { 'content-type': patchTypes[given.type] },
        body: JSON.stringify(patch),
        signal: given.signal,
      }),

    apply: async (resource, object, given) =>
      json({
        method: 'PATCH',
        path: pathOf(resource, {
          namespace: namespaceOf(given, object.metadata),
          name: object.metadata.name,
          subresource: given.subresource,
        }),
        query: { ...writeQuery(given), force: given.force },
        headers: { 'content-type': applyType },
        body: bodyOf(resource, object),
        signal: given.signal,
      }),

    async delete(resource, name, given = {}) {
      const path = pathOf(resource, { namespace: namespaceOf(given), name, subresource: given.subresource });
      await text({ method: 'DELETE', path, body: deleteBody(given), signal: given.signal });
    },

    async deleteCollection(resource, given = {}) {
      const { labelSelector, fieldSelector, signal }: SelectOptions = given;
      const path = pathOf(resource, { namespace: namespaceOf(given) });
      await text({ method: 'DELETE', path, query: { labelSelector, fieldSelector }, body: deleteBody(given), signal });
    },

    async *logs(pod, given = {}) {
      const { namespace, signal, ...query } = given;
      const path = pathOf(podResource, { namespace: namespace ?? config.namespace, name: pod, subresource: 'log' });
      yield* logChunks({ method: 'GET', path, query, headers: { accept: '*/*' }, endless: true, signal });
    },

    async exec(pod, given) {
      const path = pathOf(podResource, { namespace: namespaceOf(given), name: pod, subresource: 'exec' });
      const signal = given.signal ? AbortSignal.any([given.signal, stop.signal]) : stop.signal;
      // Loaded when needed: an agent never runs a command in a pod, and is the smaller for it.
      const { execInPod } = await import('./exec.ts');
      return execInPod(config, options, path, { ...given, signal });
    },

    request: async (path, given = {}) =>
      text({
        method: given.method ?? 'GET',
        path,
        query: given.query,
        headers: { accept: '*/*', ...given.headers },
        body: given.body === undefined ? undefined : JSON.stringify(given.body),
        signal: given.signal,
      }),

    async close() {
      stop.abort();
      await transport.close();
    },
  };
}

const podResource: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

function bodyOf(resource: Resource, object: object): string {
  return JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
}

function writeQuery({ dryRun, fieldManager }: WriteOptions) {
  return { fieldManager, ...(dryRun ? { dryRun: 'All' } : {}) };
}

function deleteBody({ uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun }: DeleteOptions): string {
  const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions,
    propagationPolicy,
    gracePeriodSeconds,
    ...(dryRun ? { dryRun: ['All'] } : {}),
  });
}

/** The parser's own message quotes the text, which may be a Secret: it is not kept. */
function parseAnswer(text: string, call: Call): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unavailable(
      'API_NO_JSON',
      `the answer is not JSON; is this address an API server? (${call.method} ${call.path})`,
    );
  }
}

function parseEvent<T extends KubeObject>(line: unknown, what: string): WatchEvent<T> {
  const { type, object } = line as { type: string; object: T | Bookmark | { code?: number } };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: object as T };
    case 'BOOKMARK':
      return { type, object: object as Bookmark };
    case 'ERROR':
      throw translateStatus((object as { code?: number }).code ?? 500, object, what);
    default:
      throw new Unavailable('API_WATCH', `the watch sent an event of the unknown type "${type}" (${what})`);
  }
}
