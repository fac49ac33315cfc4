/** Taking everything back, against a real API server and an agent that answers without a kernel: what is waited for, and what is said when it does not come. */
import {
  type KubeObject,
  type Kind,
  type PodNetwork,
  additionalNetworkKind,
  bridgeKind,
  ipPoolKind,
  podConfigFinalizer,
  podConfigKind,
  podNetworkConfigKind,
  podNetworkKind,
  primaryNetworkKind,
} from '@podloom/api';
import {
  type Client,
  type ObjectKey,
  applyStatus,
  deployments,
  isNotFound,
  leases,
  silentLog,
  startCache,
} from '@podloom/kube';
import { withdraw, withdrawSettings } from '@podloom/network-operator';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { namespace } from './installed.ts';
import { type TeamServer, chartWithTeam, team } from './team.ts';

let server: TeamServer;
let client: Client;
let operator: Client;

beforeAll(async () => {
  server = await chartWithTeam();
  ({ client, operator } = server);
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const { resource } of [podNetworkKind, podConfigKind, ...others.map(([kind]) => kind)]) {
    await client.deleteCollection<KubeObject>(resource, { namespace: team });
  }
});

const run = (timeout = '240s', { signal } = new AbortController()): Promise<void> =>
  withdraw(withdrawSettings.read({ args: ['--timeout', timeout], env: {} }), {
    client: operator,
    log: silentLog,
    signal,
  });

const link = {
  key: 'PodConfig/sample/pc0',
  namePrefix: 'pc0',
  source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'sample' },
};

async function podNetwork(name: string, nodeName: string): Promise<void> {
  const draft = { metadata: { name, namespace: team }, spec: { podUid: name, nodeName, interfaces: [link] } };
  const made = await client.create(podNetworkKind.resource, draft as never, { namespace: team });
  await answer(made);
}

const interfacesOf = async (name: string): Promise<object[]> =>
  (await client.get(podNetworkKind.resource, name, { namespace: team })).spec.interfaces;

/** What an agent would say once the kernel is as declared. */
async function answer(network: PodNetwork): Promise<void> {
  const status = {
    observedGeneration: network.metadata.generation ?? 0,
    interfaces: network.spec.interfaces.map(({ key }) => ({ key, state: 'Attached' as const })),
  };
  await applyStatus(client, podNetworkKind.resource, network, status, { fieldManager: 'podloom-agent' });
}

/** Answers every change until the test is over. Returns what it was asked for last, by name. */
function startAgent(): Map<string, number> {
  const stop = new AbortController();
  const asked = new Map<string, number>();
  const cache = startCache({ client, resource: podNetworkKind.resource, log: silentLog, signal: stop.signal });
  // One after the other, and only to the newest wish: an old answer that came last would be taken for the present one.
  const waiting: ObjectKey[] = [];
  const answering: Promise<void>[] = [];
  let isAnswering = false;
  async function answerAll(): Promise<void> {
    if (isAnswering) return;
    isAnswering = true;
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      const newest = cache.getByKey(key);
      if (!newest || newest.status?.observedGeneration === newest.metadata.generation) continue;
      await answer(newest).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
    isAnswering = false;
  }
  cache.subscribe(({ key, old, now }) => {
    if (!now || old?.metadata.generation === now.metadata.generation) return;
    asked.set(now.metadata.name ?? '', now.spec.interfaces.length);
    waiting.push(key);
    answering.push(answerAll());
  });
  onTestFinished(async () => {
    stop.abort();
    await Promise.all([...answering, cache.ended]);
  });
  return asked;
}

/** One of each other kind that people write. */
const others: [Kind, object][] = [
  [podNetworkConfigKind, {}],
  [bridgeKind, { name: 'lan' }],
  [primaryNetworkKind, { podSelector: {}, mtuBytes: 1400 }],
  [additionalNetworkKind, { podSelector: {}, name: 'lan0', bridge: 'lan' }],
];

async function podConfig(): Promise<void> {
  const metadata = { name: 'sample', namespace: team, finalizers: [podConfigFinalizer, 'example.com/other'] };
  await client.create(podConfigKind.resource, { metadata, spec: {} }, { namespace: team });
}

/** Lets it go, as the other one would that holds it. */
const forgetPodConfig = () =>
  client.patch(podConfigKind.resource, 'sample', { metadata: { finalizers: [] } }, { namespace: team, type: 'merge' });

/** Name and version of every object that a run may write. A write that changes nothing gives no new version; a Lease is made and deleted by each. */
async function allWritten(): Promise<string[]> {
  const kinds: Kind[] = [podNetworkKind, ipPoolKind, podConfigKind, ...others.map(([kind]) => kind)];
  const lists = await Promise.all([
    ...[deployments, leases].map((resource) => client.list<KubeObject>(resource, { namespace })),
    ...kinds.map(({ resource }) => client.list<KubeObject>(resource, { namespace: team })),
  ]);
  return lists.flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`),
  );
}

const replicas = async (): Promise<number | undefined> =>
  (await client.get(deployments, 'podloom-network-operator', { namespace })).spec?.replicas;
const scale = (count: number) =>
  client.patch(deployments, 'podloom-network-operator', { spec: { replicas: count } }, { namespace, type: 'merge' });

const networksLeft = async (): Promise<(string | undefined)[]> =>
  (await client.list(podNetworkKind.resource, { namespace: team })).items.map(({ metadata }) => metadata.name);

describe('withdraw', () => {
  it('stops the operator, empties pods, deletes what is ours and lets go of what is not', async () => {
    await podConfig();
    for (const name of ['a', 'b', 'c']) await podNetwork(name, 'n1');
    const range = { first: '10.7.0.0', last: '10.7.0.255' };
    const pool = {
      metadata: { name: 'p', namespace: team },
      spec: { network: 'x', cidr: '10.7.0.0/24', range, exclude: [] },
    };
    await client.create(ipPoolKind.resource, pool, { namespace: team });
    const asked = startAgent();
    await run();

    expect(await replicas()).toBe(0);
    expect(Object.fromEntries(asked)).toEqual({ a: 0, b: 0, c: 0 });
    expect(await networksLeft()).toEqual([]);
    expect((await client.list(ipPoolKind.resource)).items).toEqual([]);
    const { metadata, status } = await client.get(podConfigKind.resource, 'sample', { namespace: team });
    expect(metadata.finalizers).toEqual(['example.com/other']);
    expect(status).toMatchObject({
      phase: 'unset',
      conditions: [{ type: 'Ready', status: 'False', reason: 'Withdrawn' }],
    });
    expect((await client.list(leases, { namespace })).items).toEqual([]);
    await forgetPodConfig();
  });

  it('does not wait for the agent of a node that is gone', async () => {
    await podNetwork('lost', 'gone-for-good');
    await run();
    expect(await networksLeft()).toEqual([]);
  });

  it('deletes no PodNetwork before its agent has answered, says which it waited for, starts the operator again, and can be repeated', async () => {
    await scale(2);
    await podNetwork('silent', 'n1');
    await expect(run('10s')).rejects.toThrow(/1 PodNetworks still have something, on n1: team\/silent/);
    expect(await networksLeft()).toEqual(['silent']);
    expect(await replicas()).toBe(2);
    startAgent();
    await run();
    expect(await replicas()).toBe(0);
    expect(await networksLeft()).toEqual([]);
  });

  it('starts an operator when it fails, also where an earlier run was killed and left none', async () => {
    await scale(0);
    await podNetwork('waiting', 'n1');
    await expect(run('10s')).rejects.toThrow(/1 PodNetworks still have something/);
    expect(await replicas()).toBe(1);
    startAgent();
    await run();
  });

  it('starts the operator again when it is ended', async () => {
    await scale(2);
    await podNetwork('half-way', 'n1');
    const stop = new AbortController();
    async function endHalfWay(): Promise<void> {
      await eventually(async () => expect(await interfacesOf('half-way')).toEqual([]));
      expect(await replicas()).toBe(0);
      stop.abort();
    }
    await Promise.all([expect(run('240s', stop)).rejects.toThrow('1 PodNetworks still have something'), endHalfWay()]);
    expect(await replicas()).toBe(2);
    startAgent();
    await run();
  });

  it('says that another operator does not stop', async () => {
    const now = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: 'elsewhere', leaseDurationSeconds: 3600, acquireTime: now, renewTime: now };
    await client.create(leases, { metadata: { name: 'podloom-network-operator', namespace }, spec }, { namespace });
    await podNetwork('kept', 'n1');
    await expect(run('10s')).rejects.toThrow(/Another operator holds the Lease/);
    expect(await networksLeft()).toEqual(['kept']);
    await client.delete(leases, 'podloom-network-operator', { namespace });
  });

  it('writes nothing a second time', async () => {
    await podConfig();
    for (const [{ resource }, spec] of others) {
      const metadata = { name: 'sample', namespace: team };
      await client.create<KubeObject>(resource, { metadata, spec }, { namespace: team });
    }
    await podNetwork('served', 'n1');
    startAgent();
    await run();
    // Times are whole seconds: one that was written anew within the same one would not show.
    const saidMs = Date.now();
    await eventually(() => expect(Date.now()).toBeGreaterThan(saidMs + 1_000));
    const before = await allWritten();
    expect(before).toHaveLength(others.length + 2);
    await run();
    expect(await allWritten()).toEqual(before);
    await forgetPodConfig();
  });
});
