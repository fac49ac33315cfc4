/** What the tests of this folder share: a control plane that a test may break, and something that notes each change of a cache. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configMaps, createClient, createLog, loadConfig, namespaces, startCache } from '@podloom/kube';
import type { Cache, Change, Client, ClusterConfig, ConfigMap } from '@podloom/kube';
import { startControlPlane } from '@podloom/local';
import type { ControlPlane } from '@podloom/local';
import { vi } from 'vitest';

export interface OwnControlPlane extends ControlPlane, AsyncDisposable {
  readonly config: ClusterConfig;
}

export async function ownControlPlane(): Promise<OwnControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), 'podloom-kube-'));
  const controlPlane = await startControlPlane({ dir });
  const config = await loadConfig({ path: controlPlane.kubeconfig });
  return Object.assign(controlPlane, {
    config,
    async [Symbol.asyncDispose]() {
      await controlPlane.stop();
      await rm(dir, { recursive: true, force: true });
    },
  });
}

/** With pings every half second: these tests wait for silence to be noticed. */
export function impatientClient(config: ClusterConfig): Client {
  return createClient(config, { pingIntervalMs: 500 });
}

export async function newNamespace(client: Client): Promise<string> {
  const { metadata } = await client.create(namespaces, { metadata: { generateName: 'test-' } });
  return metadata.name ?? '';
}

export function configMap(name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) {
  return { metadata: { name, labels }, data };
}

export interface Followed extends AsyncDisposable {
  readonly cache: Cache<ConfigMap>;
  /** Each change in order, as "+name@version", "~name@version" and "-name". */
  readonly story: string[];
  /** The messages that it logged. */
  readonly logged: string[];
  /** All that is told of a cache, put together again: what a subscriber believes. */
  readonly belief: ReadonlyMap<string, ConfigMap>;
}

export async function follow(client: Client, namespace: string): Promise<Followed> {
  const stop = new AbortController();
  const story: string[] = [];
  const logged: string[] = [];
  const write = (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg);
  const log = createLog({ name: 'follow', write });
  const belief = new Map<string, ConfigMap>();
  const cache = startCache({ client, resource: configMaps, namespace, log, signal: stop.signal });
  cache.subscribe(({ key, old, now }: Change<ConfigMap>) => {
    const name = key.slice(key.indexOf('/') + 1);
    story.push(now ? `${old ? '~' : '+'}${name}@${now.metadata.resourceVersion}` : `-${name}`);
    if (now) belief.set(name, now);
    else belief.delete(name);
  });
  await cache.waitForSync();
  return {
    cache,
    story,
    logged,
    belief,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await cache.ended;
    },
  };
}

/** Names with their versions, as the server has them. */
export async function truth(client: Client, namespace: string): Promise<Map<string, string>> {
  const { items } = await client.list(configMaps, { namespace });
  return new Map(items.map(({ metadata }) => [metadata.name ?? '', metadata.resourceVersion ?? '']));
}

export function versions(belief: ReadonlyMap<string, ConfigMap>): Map<string, string> {
  return new Map([...belief].map(([name, { metadata }]) => [name, metadata.resourceVersion ?? '']));
}

/** Repeats a call that fails because the server is away. */
export async function insist<R>(call: () => Promise<R>): Promise<R> {
  return await vi.waitFor(call, { timeout: 120_000, interval: 50 });
}
