/** What the tests against a real API server share: its administrator, and a namespace of each test's own. */
import { randomUUID } from 'node:crypto';
import { inject, onTestFinished, vi } from 'vitest';
import type { ClusterConfig } from '../../kubeconfig/cluster.ts';
import { loadConfig } from '../../kubeconfig/load.ts';
import { namespaces } from '../builtin.ts';
import type { Client } from '../client.ts';
import { type ClientOptions, createClient } from '../create-client.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of an administrator's kubeconfig. */
    kubeconfig: string;
  }
}

export const eventually = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 120_000, interval: 20 });

export interface World {
  readonly client: Client;
  readonly config: ClusterConfig;
  /** The client's default; new, and removed after the test. */
  readonly namespace: string;
}

export async function realWorld(change: Partial<ClusterConfig> = {}, options: ClientOptions = {}): Promise<World> {
  const loaded = await loadConfig({ path: inject('kubeconfig') });
  const namespace = `t-${randomUUID().slice(0, 8)}`;
  const admin = createClient(loaded);
  await admin.create(namespaces, { metadata: { name: namespace } });
  const config = { ...loaded, namespace, ...change };
  const client = createClient(config, options);
  onTestFinished(async () => {
    await client.close();
    await admin.delete(namespaces, namespace);
    await admin.close();
  });
  return { client, config, namespace };
}
