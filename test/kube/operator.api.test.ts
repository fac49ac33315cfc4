/** Two replicas of an operator on a real API server: its parts run in one of them, and whole parts of it can fail. */
import {
  configMaps,
  createClient,
  createLog,
  createMetrics,
  leases,
  loadConfig,
  operatorFields,
  runOperator,
  settings,
  startCache,
} from '@podloom/kube';
import type { Client, ConfigMap, Metrics, OperatorSettings, Part } from '@podloom/kube';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { newNamespace } from './world.ts';

const declared = settings(operatorFields('podloom-test-operator'));
const log = createLog({ name: 'test', level: 'silent' });

let client: Client;
let started: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  client = createClient(await loadConfig({ path: inject('kubeconfig') }));
});
afterEach(async () => {
  for (const replica of started) await replica.stop();
  started = [];
});
afterAll(() => client.close());

type Addresses = readonly { readonly host: string; readonly port: number }[];

interface Replica {
  readonly metrics: Metrics;
  stop(): Promise<void>;
}

function start(namespace: string, identity: string, parts: readonly Part[], addresses: Addresses = []): Replica {
  const values: OperatorSettings = declared.read({ args: [], env: {}, file: { namespace, identity } });
  const stop = new AbortController();
  const metrics = createMetrics();
  const name = 'podloom-test-operator';
  const ended = runOperator({ name, settings: values, parts, addresses, client, log, metrics, signal: stop.signal });
  const replica: Replica = {
    metrics,
    async stop() {
      stop.abort();
      await ended;
    },
  };
  started.push(replica);
  return replica;
}

/** Writes into each ConfigMap of the namespace who it is, as long as it runs. */
const signing = (namespace: string, identity: string): Part => ({
  name: 'signing',
  async start({ client: own, log: ownLog, events, signal }) {
    const cache = startCache<ConfigMap>({ client: own, resource: configMaps, namespace, log: ownLog, signal });
    cache.subscribe(({ now }) => {
      if (!now || now.data?.['by'] === identity) return;
      const data = { by: identity };
      own
        .patch(configMaps, now.metadata.name ?? '', { data }, { namespace, type: 'merge', signal })
        .then((signed) => events.normal(signed, 'Signed', `Signed by ${identity}`))
        .catch((error: unknown) => ownLog.warn({ err: error }, 'Could not sign'));
    });
    await cache.ended;
  },
});

const signerOf = async (namespace: string): Promise<string | undefined> =>
  (await client.get(configMaps, 'one', { namespace })).data?.['by'];
const holderOf = async (namespace: string): Promise<string | undefined> =>
  (await client.get(leases, 'podloom-test-operator', { namespace })).spec?.holderIdentity;

describe('an operator', () => {
  it('works in one of its replicas, and goes on in the other when that one stops', async () => {
    const namespace = await newNamespace(client);
    await client.create(configMaps, { metadata: { name: 'one' } }, { namespace });
    const first = start(namespace, 'first', [signing(namespace, 'first')]);
    await eventually(async () => expect(await signerOf(namespace)).toBe('first'));
    const second = start(namespace, 'second', [signing(namespace, 'second')]);
    await first.stop();
    await eventually(async () => expect(await signerOf(namespace)).toBe('second'));
    expect(await holderOf(namespace)).toMatch(/^second-/);
    await second.stop();
    expect(await holderOf(namespace)).toBe('');
  });

  it('keeps its Lease and its other parts while one of them fails', async () => {
    const namespace = await newNamespace(client);
    await client.create(configMaps, { metadata: { name: 'one' } }, { namespace });
    let failures = 0;
    const failing: Part = {
      name: 'failing',
      async start({ client: own }) {
        failures += 1;
        await own.get(configMaps, 'none', { namespace });
      },
    };
    const { metrics } = start(namespace, 'only', [failing, signing(namespace, 'only')]);
    await eventually(async () => expect(await signerOf(namespace)).toBe('only'));
    await eventually(() => expect(failures).toBeGreaterThan(1));
    await client.patch(configMaps, 'one', { data: { by: 'nobody' } }, { namespace, type: 'merge' });
    await eventually(async () => expect(await signerOf(namespace)).toBe('only'));
    expect(await holderOf(namespace)).toMatch(/^only-/);
    expect(await metrics.text()).toMatch(/podloom_part_failures_total\{part="failing"\} [1-9]/);
    expect(await metrics.text()).toMatch(/podloom_leader\{lease="podloom-test-operator"\} 1/);
  });

  it('answers for its parts at every address that it was given', async () => {
    const namespace = await newNamespace(client);
    let isReady = false;
    const slow: Part = {
      name: 'slow',
      async start({ signal, readiness }) {
        readiness(() => isReady || 'not yet');
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve, { once: true });
        });
      },
    };
    // Below those that the kernel gives away by itself.
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    start(
      namespace,
      'asked',
      [slow],
      [
        { host: '127.0.0.1', port },
        { host: '127.0.0.2', port },
      ],
    );
    const ask = async (host: string): Promise<string> => {
      const response = await fetch(`http://${host}:${port}/readyz`);
      return `${response.status} ${await response.text()}`;
    };
    await eventually(async () => expect(await ask('127.0.0.1')).toBe('503 fail slow: not yet\n'));
    isReady = true;
    expect(await ask('127.0.0.2')).toBe('200 ok   slow\n');
  });
});
