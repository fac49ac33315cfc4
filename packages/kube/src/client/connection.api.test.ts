/** How we reach and convince a real API server: one connection, tokens that rotate, rights that are missing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { inClusterConfig } from '../kubeconfig/in-cluster.ts';
import { configMaps, roleBindings, roles, serviceAccounts } from './builtin.ts';
import { createClient } from './create-client.ts';
import { isForbidden, isUnauthorized, isUnreachable } from './errors.ts';
import { realWorld, type World } from './testing/api-server.ts';
import { failureOf, startFreezer } from './testing/server.ts';

async function freezerBefore({ config }: World) {
  const freezer = await startFreezer(Number(config.server.port), config.server.hostname);
  const server = new URL(config.server);
  server.host = `127.0.0.1:${freezer.port}`;
  return { freezer, config: { ...config, server } };
}

describe('one connection', () => {
  it('carries forty watches and the calls beside them', async () => {
    const world = await realWorld();
    const { freezer, config } = await freezerBefore(world);
    const client = createClient(config);
    onTestFinished(() => client.close());
    const { namespace } = world;
    const arrived = Array.from({ length: 40 }, async () => {
      for await (const { type, object } of client.watch(configMaps, { namespace, sendInitialEvents: true })) {
        if (type === 'ADDED' && object.metadata.name === 'news') return object.metadata.uid;
      }
      throw new Error('the watch ended without the news');
    });
    const made = await client.create(configMaps, { metadata: { name: 'news' } });
    expect(new Set(await Promise.all(arrived))).toEqual(new Set([made.metadata.uid]));
    expect(freezer.connections()).toBe(1);
  });

  it('that dies silently is noticed, and the next call works', async () => {
    const world = await realWorld();
    const { freezer, config } = await freezerBefore(world);
    const client = createClient(config, { pingIntervalMs: 2_000 });
    onTestFinished(() => client.close());
    const events = client.watch(configMaps, { namespace: world.namespace, sendInitialEvents: true });
    const watch = events[Symbol.asyncIterator]();
    await watch.next();
    freezer.freeze();
    const failure = await failureOf(
      (async () => {
        while (!(await watch.next()).done);
      })(),
    );
    expect(isUnreachable(failure)).toBe(true);
    freezer.thaw();
    await expect(client.request('/livez/ping')).resolves.toMatchObject({ text: 'ok' });
  });

  it('does as well over HTTP/1.1', async () => {
    const { client } = await realWorld({}, { allowH2: false });
    const events = client.watch(configMaps, { sendInitialEvents: true });
    const watch = events[Symbol.asyncIterator]();
    expect((await watch.next()).done).toBe(false);
    await client.create(configMaps, { metadata: { name: 'a' } });
    await watch.return?.();
  });
});

/** The folder that the kubelet would mount, with a token that the real server signed. */
async function mounted(world: World): Promise<{ folder: string; token: string }> {
  const { client, namespace } = world;
  await client.create(serviceAccounts, { metadata: { name: 'robot' } });
  await client.create(roles, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
  });
  await client.create(roleBindings, {
    metadata: { name: 'robot' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace }],
  });
  const answer = await client.request(`/api/v1/namespaces/${namespace}/serviceaccounts/robot/token`, {
    method: 'POST',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { status } = JSON.parse(answer.text) as { status: { token: string } };
  const folder = await mkdtemp(join(tmpdir(), 'serviceaccount-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'namespace'), namespace);
  await writeFile(join(folder, 'ca.crt'), (await world.config.tls()).ca ?? '');
  return { folder, token: status.token };
}

describe('a service account', () => {
  it('is used inside a pod, and its token is read again when the server refuses the old one', async () => {
    const world = await realWorld();
    const { folder, token } = await mounted(world);
    await writeFile(join(folder, 'token'), 'expired');
    const { hostname, port } = world.config.server;
    const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    const client = createClient(await inClusterConfig(env, folder));
    onTestFinished(() => client.close());
    expect(client.namespace).toBe(world.namespace);
    expect(isUnauthorized(await failureOf(client.list(configMaps)))).toBe(true);

    await writeFile(join(folder, 'token'), token);
    // The server learns of a new role binding by a watch of its own.
    const { namespace } = world;
    const list = await vi.waitFor(() => client.list(configMaps, { namespace }), { timeout: 120_000 });
    expect(list.kind).toBe('ConfigMapList');
    const failure = await failureOf(client.create(configMaps, { metadata: { name: 'a' } }));
    expect(isForbidden(failure)).toBe(true);
    expect((failure as Error).message).toContain(`system:serviceaccount:${world.namespace}:robot`);
  });
});

it('acts as another user where the kubeconfig says so', async () => {
  const { client } = await realWorld({ headers: { 'impersonate-user': 'nobody', 'impersonate-group': ['a', 'b'] } });
  const failure = await failureOf(client.list(configMaps));
  expect(isForbidden(failure)).toBe(true);
  expect((failure as Error).message).toContain('User "nobody"');
});
