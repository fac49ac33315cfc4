/** What the tests of this folder share: a real API server, a namespace that stands for the node, pods, and agents to start and stop. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentSettings, runAgent } from '@podloom/agent';
import {
  type PodInterface,
  type PodNetwork,
  type PodNetworkSpecInput,
  customResourceDefinition,
  podNetworkKind,
} from '@podloom/api';
import {
  type Client,
  type Metrics,
  createClient,
  createLog,
  createMetrics,
  customResourceDefinitions,
  isConditionTrue,
  loadConfig,
  namespaces,
} from '@podloom/kube';
import { type ControlPlane, startControlPlane } from '@podloom/local';
import { type Netns, open } from '@podloom/netlink';
import { vi } from 'vitest';
import { type Runtime, runtime } from './runtime.ts';

export const namespace = 'cnf-test';
export const nodeName = 'n1';
const { resource } = podNetworkKind;
const fieldManager = 'test';

export interface Agent {
  readonly metrics: Metrics;
  readonly log: readonly Record<string, unknown>[];
  stop(): Promise<void>;
}

export interface World extends AsyncDisposable {
  readonly client: Client;
  readonly controlPlane: ControlPlane;
  readonly node: Netns;
  readonly runtime: Runtime;
  startAgent(settings?: Partial<AgentSettings>): Agent;
  /** Writes a PodNetwork for the pod of this name, whose uid is its name. */
  declare(name: string, spec: Partial<PodNetworkSpecInput>): Promise<PodNetwork>;
  get(name: string): Promise<PodNetwork>;
  /** Waits until the agent has looked at the newest spec and says that it is ready (or is not, for `false`). */
  settled(name: string, ready?: boolean): Promise<PodNetwork>;
}

/** Tests that run plugins have folders of their own. */
const noPlugins = { cniAllowedPlugins: '', cniBinPath: '/nonexistent', cniStatePath: '/nonexistent' };

export async function makeWorld(): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'podloom-agent-'));
  const controlPlane = await startControlPlane({ dir });
  const stop = async (): Promise<void> => {
    await controlPlane.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const client = createClient({ ...(await loadConfig({ path: controlPlane.kubeconfig })), namespace });
    await client.apply(customResourceDefinitions, customResourceDefinition(podNetworkKind), { fieldManager });
    await client.apply(namespaces, { metadata: { name: namespace } }, { fieldManager });
    await vi.waitFor(() => client.list(resource, { limit: 1 }), { timeout: 120_000 });
    return worldOn(controlPlane, client, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

function worldOn(controlPlane: ControlPlane, client: Client, stopControlPlane: () => Promise<void>): World {
  const node = open({ create: true });
  node.link.set('lo', { up: true });
  const pods = runtime(node);
  const agents = new Set<Agent>();
  const get = (name: string): Promise<PodNetwork> => client.get(resource, name);

  return {
    client,
    controlPlane,
    node,
    runtime: pods,
    get,
    startAgent(settings = {}) {
      const stop = new AbortController();
      const metrics = createMetrics();
      const log: Record<string, unknown>[] = [];
      const write = (line: string): void => void log.push(JSON.parse(line) as Record<string, unknown>);
      const running = runAgent(
        { nodeName, criSocket: 'auto', driftPolicy: 'repair', port: 0, ...noPlugins, ...settings },
        {
          client,
          node,
          cri: pods.cri,
          metrics,
          signal: stop.signal,
          log: createLog({ name: 'agent', level: 'debug', write }),
        },
      );
      const agent: Agent = {
        metrics,
        log,
        async stop() {
          agents.delete(agent);
          stop.abort();
          await running;
        },
      };
      agents.add(agent);
      return agent;
    },
    declare(name, { interfaces = [], ...spec }) {
      const whole = { podUid: name, nodeName, interfaces, ...spec } as PodNetwork['spec'];
      return client.apply(resource, { metadata: { name }, spec: whole }, { fieldManager, force: true });
    },
    async settled(name, ready = true) {
      return vi.waitFor(
        async () => {
          const network = await get(name);
          const isSeen = network.status?.observedGeneration === network.metadata.generation;
          if (isSeen && isConditionTrue(network.status?.conditions, 'Ready') === ready) return network;
          throw new Error(`PodNetwork ${name} is not there yet: ${JSON.stringify(network.status)}`);
        },
        { timeout: 120_000, interval: 10 },
      );
    },
    async [Symbol.asyncDispose]() {
      for (const agent of agents) await agent.stop();
      await pods[Symbol.asyncDispose]();
      node.close();
      await client.close();
      await stopControlPlane();
    },
  };
}

export const podInterface = (host: number, more: Partial<PodInterface> = {}): PodInterface => ({
  key: 'PodConfig/nets/0',
  namePrefix: 'pc0',
  source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'nets' },
  link: { type: 'veth' },
  bridge: { name: 'pcbr0', device: 'pcbr0', gateways: ['192.168.100.1/24', 'fd00:100::1/64'], home: 'node' },
  addresses: [`192.168.100.${host}/24`, `fd00:100::${host}/64`],
  routes: [],
  ...more,
});

/** The device that a module for tunnels gives every namespace when it is loaded, by whomever. */
const fallbackDevice = /^(tunl|gre|gretap|erspan|ip_vti|sit|ip6tnl|ip6gre|ip6_vti)0$/;

export const linkNames = (netns: Netns): string[] =>
  netns.link
    .list()
    .map(({ name }) => name)
    .filter((name) => !fallbackDevice.test(name));
