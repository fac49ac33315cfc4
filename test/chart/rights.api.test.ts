/** The operator with the rights that the chart gives it, and no others: it makes, changes and removes everything that it writes. */
import { podConfigKind, podNetworkKind } from '@podloom/api';
import {
  type Client,
  applyStatus,
  createMetrics,
  deployments,
  isNotFound,
  leases,
  pods,
  silentLog,
} from '@podloom/kube';
import { networkOperatorSettings, runNetworkOperator } from '@podloom/network-operator';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { namespace } from './installed.ts';
import { type TeamServer, chartWithTeam, team } from './team.ts';

const there = { namespace: team };
let server: TeamServer;
let client: Client;
let operator: Client;

beforeAll(async () => {
  server = await chartWithTeam();
  ({ client, operator } = server);
});
afterAll(() => server?.stop());

function startOperator(sampleImage: string): () => Promise<void> {
  const stop = new AbortController();
  const settings = networkOperatorSettings.read({ args: [], env: {}, file: { namespace, sampleImage } });
  const ended = runNetworkOperator(settings, {
    client: operator,
    log: silentLog,
    signal: stop.signal,
    metrics: createMetrics(),
    force: () => undefined,
  });
  // Whoever stops it hears of the failure; until then it is nobody's, and Node would end the whole run for it.
  ended.catch(() => undefined);
  return async () => {
    stop.abort();
    await ended;
  };
}

async function config(spec: object): Promise<void> {
  const object = { metadata: { name: 'c', ...there }, spec };
  await client.apply(podConfigKind.resource, object, { fieldManager: 'tenant', ...there, force: true });
}

const network = () => client.get(podNetworkKind.resource, 'a', there);
const sample = () => client.get(deployments, 'sample', there);
const isGone = async (call: () => Promise<unknown>): Promise<boolean> =>
  call().then(
    () => false,
    (error: unknown) => isNotFound(error) || Promise.reject(error),
  );

it('does all its work', async () => {
  const first = { name: 'pc0', master: 'pcbr0', cidr: '10.40.0.0/24' };
  const second = { name: 'pc1', master: 'pcbr1', cidr: '10.41.0.0/24' };
  const sampleDeployment = { create: true, name: 'sample' };
  const main = { nodeName: 'n1', containers: [{ name: 'main', image: 'none' }] };
  await client.create(pods, { metadata: { name: 'a', ...there, labels: { podconfig: 'c' } }, spec: main });
  const running = { status: { phase: 'Running' } };
  await client.patch(pods, 'a', running, { type: 'merge', ...there, subresource: 'status' });
  await config({ networkAttachments: [first], sampleDeployment });

  const stopFirst = startOperator('example/sample:1');
  await eventually(async () =>
    expect((await network()).spec.interfaces).toMatchObject([{ addresses: ['10.40.0.2/24'] }]),
  );
  await eventually(async () =>
    expect((await sample()).spec?.template.spec?.containers[0]?.image).toBe('example/sample:1'),
  );
  await config({ networkAttachments: [first, second], sampleDeployment });
  await eventually(async () => expect((await network()).spec.interfaces).toHaveLength(2));
  await stopFirst();

  const stopSecond = startOperator('example/sample:2');
  await eventually(async () =>
    expect((await sample()).spec?.template.spec?.containers[0]?.image).toBe('example/sample:2'),
  );
  await config({ networkAttachments: [first, second] });
  await eventually(async () => expect(await isGone(sample)).toBe(true));
  await client.delete(podConfigKind.resource, 'c', there);
  await eventually(async () => expect((await network()).spec.interfaces).toEqual([]));
  const emptied = await network();
  const answer = { observedGeneration: emptied.metadata.generation ?? 0, interfaces: [] };
  await applyStatus(client, podNetworkKind.resource, emptied, answer, { fieldManager: 'podloom-agent' });
  await eventually(async () => expect(await isGone(network)).toBe(true));
  await eventually(async () => expect(await isGone(() => client.get(podConfigKind.resource, 'c', there))).toBe(true));
  await stopSecond();
  expect((await client.get(leases, 'podloom-network-operator', { namespace })).spec?.holderIdentity ?? '').toBe('');
});
