/** The people of the bench, on an API server with nothing else: no controller of Kubernetes, no kubelet, no Keycloak. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { customResourceDefinition, labsKinds, tenantKind, workspaceKind } from '@podloom/api';
import { type Client, createClient, customResourceDefinitions, loadConfig, type Resource } from '@podloom/kube';
import { startControlPlane } from '@podloom/local';

export const counts = { workspaces: 50, tenants: 1_000 };
/** How many writes are under way where many may be. */
const atOnce = 16;

export interface Server extends AsyncDisposable {
  readonly client: Client;
  readonly kubeconfig: string;
}

/** With the kinds of the labs. */
export async function startServer(): Promise<Server> {
  await using undo = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'podloom-bench-labs-'));
  undo.defer(() => rm(dir, { recursive: true, force: true }));
  const controlPlane = await startControlPlane({ dir });
  undo.defer(() => controlPlane.stop());
  const client = createClient(await loadConfig({ path: controlPlane.kubeconfig }));
  undo.defer(() => client.close());
  for (const kind of labsKinds) {
    await client.apply(customResourceDefinitions, customResourceDefinition(kind), { fieldManager: 'bench' });
  }
  for (const { resource } of labsKinds) await served(client, resource);
  const owned = undo.move();
  return { client, kubeconfig: controlPlane.kubeconfig, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function served(client: Client, resource: Resource): Promise<void> {
  const untilMs = performance.now() + 60_000;
  while (true) {
    try {
      await client.list(resource, { limit: 1 });
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(100);
    }
  }
}

/** What an administrator wrote, before anything is measured. */
export async function writePeople({ client }: Server): Promise<void> {
  const workspaces = Array.from({ length: counts.workspaces }, (_, i) => workspace(i));
  const tenants = Array.from({ length: counts.tenants }, (_, i) => tenant(i));
  await eachOf(workspaces, (one) => client.create(workspaceKind.resource, one));
  await eachOf(tenants, (one) => client.create(tenantKind.resource, one));
}

const workspace = (i: number) => ({
  metadata: { name: `course-${i}` },
  spec: { prettyName: `Course ${i}`, quota: { cpu: '2', memory: '4Gi', instances: 2 } },
});

/** One in ten manages the course. */
const tenant = (i: number) => ({
  metadata: { name: `person-${i}` },
  spec: {
    firstName: 'Person',
    lastName: `Number ${i}`,
    email: `person-${i}@example.com`,
    createSandbox: false,
    workspaces: [
      { name: `course-${i % counts.workspaces}`, role: i % 10 === 0 ? ('manager' as const) : ('user' as const) },
    ],
  },
});

/** Many at a time. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
