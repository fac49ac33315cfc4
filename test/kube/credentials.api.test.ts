/** A cache under a service account whose token is replaced, and whose requests the server turns away for a while. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  configMaps,
  createClient,
  isApiError,
  isTooManyRequests,
  isUnauthorized,
  loadConfig,
  roleBindings,
  roles,
  secrets,
  serviceAccounts,
} from '@podloom/kube';
import type { Client, ClusterConfig } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { badNetwork } from './proxy.ts';
import { configMap, follow, newNamespace } from './world.ts';

let admin: Client;
let config: ClusterConfig;
let dir: string;

beforeAll(async () => {
  config = await loadConfig({ path: inject('kubeconfig') });
  admin = createClient(config);
  dir = await mkdtemp(join(tmpdir(), 'podloom-token-'));
});
afterAll(async () => {
  await admin.close();
  await rm(dir, { recursive: true, force: true });
});

/** A service account that may read ConfigMaps of a new namespace. */
async function reader(): Promise<{ namespace: string; name: string }> {
  const namespace = await newNamespace(admin);
  const name = 'reader';
  await admin.create(serviceAccounts, { metadata: { name } }, { namespace });
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }];
  await admin.create(roles, { metadata: { name }, rules }, { namespace });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  await admin.create(roleBindings, { metadata: { name }, roleRef, subjects }, { namespace });
  return { namespace, name };
}

/** A token that dies with the Secret of the given name. */
async function newToken({ namespace, name }: { namespace: string; name: string }, secret: string): Promise<string> {
  const { metadata } = await admin.create(secrets, { metadata: { name: secret } }, { namespace });
  const { text } = await admin.request(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    method: 'POST',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: secret, uid: metadata.uid } },
    },
  });
  return (JSON.parse(text) as { status: { token: string } }).status.token;
}

async function configWithTokenFile(tokenFile: string, server: URL): Promise<ClusterConfig> {
  const { ca } = await config.tls();
  const path = `${tokenFile}.kubeconfig`;
  const cluster = { server: server.href, 'certificate-authority-data': Buffer.from(String(ca)).toString('base64') };
  const file = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'reader', user: { tokenFile } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'reader' } }],
    'current-context': 'test',
  };
  await writeFile(path, JSON.stringify(file));
  return await loadConfig({ path });
}

describe('a cache', () => {
  it('goes on with the new token when the old one is replaced and refused', async () => {
    const account = await reader();
    const { namespace } = account;
    const tokenFile = join(dir, 'rotated');
    const old = await newToken(account, 'first');
    await writeFile(tokenFile, old);
    await using network = await badNetwork(config.server);
    const client = createClient(await configWithTokenFile(tokenFile, network.url), { pingIntervalMs: 500 });
    await using followed = await follow(client, namespace);
    await admin.create(configMaps, configMap('before'), { namespace });
    await eventually(() => expect(followed.belief.has('before')).toBe(true));

    await writeFile(tokenFile, await newToken(account, 'second'));
    await admin.delete(secrets, 'first', { namespace });
    const withOld = join(dir, 'kept');
    await writeFile(withOld, old);
    const outdated = createClient(await configWithTokenFile(withOld, config.server));
    await eventually(async () => {
      const refused = await outdated.list(configMaps, { namespace }).then(() => false, isUnauthorized);
      expect(refused).toBe(true);
    });
    await outdated.close();

    network.cut();
    await admin.create(configMaps, configMap('after'), { namespace });
    await eventually(() => expect([...followed.belief.keys()]).toEqual(['before', 'after']));
    expect(followed.story).toHaveLength(2);
    await client.close();
  });

  it('waits while the server turns it away with 429, and is filled when that ends', async () => {
    const account = await reader();
    const { namespace } = account;
    const tokenFile = join(dir, 'throttled');
    const token = await newToken(account, 'token');
    await writeFile(tokenFile, token);
    const client = createClient(await configWithTokenFile(tokenFile, config.server));
    await admin.create(configMaps, configMap('behind-the-wall'), { namespace });
    const unblock = await block(client, account, token);

    const refusal: unknown = await client.list(configMaps, { namespace }).catch((error: unknown) => error);
    expect(isTooManyRequests(refusal)).toBe(true);
    expect(isApiError(refusal) && refusal.api.retryAfterMs).toBeGreaterThan(0);

    const filling = follow(client, namespace);
    let filled = false;
    void filling.then(() => (filled = true));
    await expect(client.list(configMaps, { namespace })).rejects.toSatisfy(isTooManyRequests);
    expect(filled).toBe(false);
    await unblock();
    await using followed = await filling;
    expect(followed.belief.has('behind-the-wall')).toBe(true);
    await client.close();
  });
});

/**
 * Gives an account the least that the server's own flow control can give, one request at a time, and takes that one for an answer
 * that is never read. Returns the undo.
 */
async function block(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  token: string,
): Promise<() => Promise<void>> {
  const root = '/apis/flowcontrol.apiserver.k8s.io/v1';
  const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
  const metadata = { name: `one-for-${namespace}` };
  const least = { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 };
  const limited = { ...least, limitResponse: { type: 'Reject' } };
  await admin.request(`${root}/prioritylevelconfigurations`, {
    method: 'POST',
    body: { apiVersion, kind: 'PriorityLevelConfiguration', metadata, spec: { type: 'Limited', limited } },
  });
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true };
  const subjects = [{ kind: 'ServiceAccount', serviceAccount: { name, namespace } }];
  const spec = {
    priorityLevelConfiguration: metadata,
    matchingPrecedence: 50,
    rules: [{ subjects, resourceRules: [everything] }],
  };
  const made = await admin.request(`${root}/flowschemas`, {
    method: 'POST',
    body: { apiVersion, kind: 'FlowSchema', metadata, spec },
  });
  const { uid } = (JSON.parse(made.text) as { metadata: { uid: string } }).metadata;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  await eventually(async () => {
    const { headers } = await client.request(path);
    expect(headers['x-kubernetes-pf-flowschema-uid']).toBe(uid);
  });

  // More than all buffers between the server and us can hold.
  for (let count = 0; count < 16; count += 1) {
    const data = { noise: randomBytes(600_000).toString('base64') };
    await admin.create(configMaps, configMap(`heavy-${count}`, data), { namespace });
  }
  const { ca } = await config.tls();
  const unread = get(new URL(path, config.server), { ca, headers: { authorization: `Bearer ${token}` }, agent: false });
  await once(unread, 'response');
  return async () => {
    unread.destroy();
    await admin.request(`${root}/flowschemas/${metadata.name}`, { method: 'DELETE' });
    await admin.request(`${root}/prioritylevelconfigurations/${metadata.name}`, { method: 'DELETE' });
  };
}
