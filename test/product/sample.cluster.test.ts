/** The first thing that anyone tries: the sample PodConfig, unchanged, and what the command line and the figures say about it. */
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifest, namespace as systemNamespace } from '../chart/installed.ts';
import { eventually } from '../setup/eventually.ts';
import { pod, podConfig } from './objects.ts';
import type { Scene } from './scene.ts';
import { isPrivate, openWorld, type World } from './world.ts';

interface EndpointSlice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly ports: readonly { readonly port: number }[];
}

const sample = `
apiVersion: podconfig.opdev.io/v1alpha1
kind: PodConfig
metadata:
  name: podconfig-sample-a
spec:

  sampleDeployment:
    create: true
    name: cnf-example-a

  networkAttachments:
    - name: pc0
      linkType: veth
      master: pcbr0
      parent: pc0
      cidr: "192.168.100.0/24"
    - name: pc1
      linkType: veth
      master: pcbr1
      parent: pc1
      cidr: "192.168.99.0/24"
`;

let world: World;

/** What all processes behind a Service of ours say together to a pod that asks each: figure by figure, added up. */
async function figuresOf(component: string, scene: Scene): Promise<Map<string, number>> {
  const { items } = await world.get<{ items: EndpointSlice[] }>(
    'endpointslices',
    `--selector=kubernetes.io/service-name=podloom-${component}-metrics`,
    `--namespace=${systemNamespace}`,
  );
  const places = items.flatMap(({ endpoints, ports }) =>
    endpoints.flatMap(({ addresses }) => addresses.map((address) => `http://${address}:${ports[0]?.port}/metrics`)),
  );
  expect(places).toHaveLength(2);
  const sums = new Map<string, number>();
  for (const place of places) {
    const text = await scene.inPod('one', 'wget', '-q', '-O', '-', place);
    for (const [, name = '', value] of text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)) {
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
  }
  return sums;
}

describe.skipIf(!isPrivate)('a PodConfig', () => {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.end());

  it('of the sample makes two pods with two networks each, that reach each other, and leaves nothing behind', async () => {
    const scene = await world.scene('sample');
    const { namespace } = scene;
    await world.calm();
    const before = await Promise.all(world.names.map((node) => world.foreign(node)));
    await world.kube(['apply', '-n', namespace, '-f', '-'], sample);
    await scene.running(2);
    await eventually(async () =>
      expect((await scene.get<{ status: object }>('podconfig/podconfig-sample-a')).status).toMatchObject({
        phase: 'configured',
      }),
    );
    const { status } = await scene.ready('podconfig/podconfig-sample-a');
    const lives = await scene.lives();

    expect(status?.podConfigurations).toHaveLength(2);
    const addresses: string[] = [];
    for (const { podName, configList } of status?.podConfigurations ?? []) {
      const network = await scene.network(podName);
      const pid = network.status?.podPid;
      const links = await scene.links(podName);
      expect(links.map(({ name }) => name)).toEqual([`pc0${pid}`, `pc1${pid}`]);
      expect(configList).toEqual(
        links.map(
          ({ name, addresses: [address] }, i) =>
            `{podVethName:${name} podIPAddr:${address} peerVethName:h${name} bridge:pcbr${i}}`,
        ),
      );
      // As people look into a pod: a shell of the image, and `ip` in it.
      expect(await scene.inPod(podName, '/bin/bash', '-c', 'ip -brief addr')).toContain(`pc0${pid}@`);
      const ports = await world.onNode(network.spec.nodeName, 'ip', '-o', 'link', 'show', 'master', 'pcbr0');
      expect(ports).toContain(`hpc0${pid}@`);
      addresses.push(...links.flatMap((link) => link.addresses.map((address) => address.split('/')[0] ?? '')));
    }
    expect(new Set(addresses).size).toBe(4);
    for (const { podName } of status?.podConfigurations ?? []) {
      for (const address of ['192.168.100.1', '192.168.99.1', ...addresses]) {
        await scene.reaches(podName, address);
      }
    }
    expect(await scene.kube('get', 'podnetworks')).toMatch(/pc0\d+,\s?pc1\d+ +True/);
    expect((await scene.kube('describe', 'podnetworks')).match(/State: +Attached/g)).toHaveLength(4);
    // Events are written a little later than what they tell of.
    await eventually(async () =>
      expect((await scene.kube('describe', 'pods', '--show-events')).match(/Attached .*Has pc0\d+/g)).toHaveLength(2),
    );
    expect(await scene.lives()).toEqual(lives);

    await scene.kube('delete', 'podconfig', 'podconfig-sample-a', '--timeout=300s');
    await eventually(async () => expect(await scene.pods()).toEqual([]));
    await scene.clean();
    await eventually(async () =>
      expect(await Promise.all(world.names.map((node) => world.foreign(node)))).toEqual(before),
    );
  });

  it('changes nothing of others on the node, neither while it is there nor afterwards', async () => {
    const scene = await world.scene('foreign');
    const [one] = await scene.start(pod('one', { podconfig: 'quiet' }));
    await world.calm();
    const before = await world.foreign('n1');
    const inside = await scene.inPod('one', 'ip', 'route');
    await scene.apply(
      podConfig(
        'quiet',
        { name: 'q0', master: 'qbr0', cidr: '172.30.1.0/24' },
        { name: 'q1', master: 'qbr1', cidr: 'fd00:30:1::/64' },
      ),
    );
    await scene.ready('podconfig/quiet');
    await eventually(async () => expect(await world.foreign('n1')).toEqual(before));
    expect(await world.ours()).not.toEqual([]);
    await scene.reaches('one', 'fd00:30:1::1');

    await scene.kube('delete', 'podconfig', 'quiet', '--timeout=300s');
    await scene.clean();
    await eventually(async () => expect(await world.foreign('n1')).toEqual(before));
    expect(await scene.inPod('one', 'ip', 'route')).toBe(inside);
    expect((await scene.pods()).map(({ metadata }) => metadata.uid)).toEqual([one?.metadata.uid]);
  });

  it('is foretold by `podloom plan`, and drawn by `podloom show`', async () => {
    const scene = await world.scene('cli');
    const { namespace } = scene;
    await scene.start(pod('one', { podconfig: 'told' }));
    using folder = mkdtempDisposableSync(join(tmpdir(), 'podloom-product-'));
    const file = join(folder.path, 'told.yaml');
    const object = podConfig('told', { name: 't0', master: 'tbr0', cidr: '172.30.2.0/24', mtu: 1400 });
    const other = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
    writeFileSync(file, manifest(other, object));

    expect((await world.podloom(['show', 'one', '-n', namespace])).stdout).toContain('has no networks');
    const plan = await world.podloom(['plan', '-f', file, '-n', namespace]);
    expect(plan).toMatchObject({ code: 0, stderr: `left out: Namespace ${namespace} changes no pod by itself\n` });
    expect(plan.stdout).toMatch(/^pod one on node n1\n@@ /);
    for (const words of ['tbr0', 't0', '172.30.2.1/24', '172.30.2.2/24', '1400']) expect(plan.stdout).toContain(words);
    const planned = JSON.parse((await world.podloom(['plan', '-f', file, '-n', namespace, '-o', 'json'])).stdout) as {
      pod: string;
      steps: { do: string; in: string; kind?: string; name?: string; peer?: { name: string }; address?: string }[];
    }[];
    expect(planned.map((one) => one.pod)).toEqual(['one']);
    const steps = planned[0]?.steps ?? [];
    const [bridge, veth] = ['bridge', 'veth'].map((kind) => steps.find((step) => step.kind === kind));
    expect(await world.ours()).toEqual([]);

    await scene.apply(object);
    await scene.ready('podconfig/told');
    const [link] = await scene.links('one');
    expect(link).toMatchObject({ mtu: 1400, addresses: ['172.30.2.2/24'] });
    // The kernel has what was foretold, by the same names; only the agent knows the process.
    const { status } = await scene.network('one');
    const called = (name = ''): string => name.replace('<pid>', String(status?.podPid));
    expect(link?.name).toBe(called(veth?.peer?.name));
    expect(steps.filter((step) => step.do === 'addAddress' && step.in === 'pod').map(({ address }) => address)).toEqual(
      link?.addresses,
    );
    const ours = (await world.ours()).join('\n');
    for (const step of [bridge, veth]) expect(ours).toMatch(new RegExp(`: ${called(step?.name)}[@:]`));
    const shown = await world.podloom(['show', 'one', '-n', namespace]);
    expect(shown.stdout).toContain(`pod ${namespace}/one on node n1  ready`);
    expect(shown.stdout).toContain(`${link?.name}  172.30.2.2/24  ${link?.mac}  mtu 1400  [Attached]`);
    expect(shown.stdout).toContain(`╰─veth── h${link?.name} ──▶ bridge tbr0  172.30.2.1/24`);
    expect(shown.stdout).toContain('from PodConfig told');
    const json = await world.podloom(['show', 'one', '-n', namespace, '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'PodNetwork', metadata: { name: 'one' } });

    expect((await world.podloom(['plan', 'one', '-n', namespace])).stdout).toContain(
      'Nothing to do: all is as declared.',
    );
    const missing = await world.podloom(['plan', 'two', '-n', namespace]);
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain('There is no pod two');
  });

  it('is counted by the operator and the agents, as whoever scrapes their Services finds', async () => {
    const scene = await world.scene('figures');
    const labels = { podconfig: 'counted' };
    await scene.start(pod('one', labels), pod('two', labels, 'n2'));
    const figures = async () => ({
      operator: await figuresOf('network-operator', scene),
      agent: await figuresOf('agent', scene),
    });
    await world.calm();
    const before = await eventually(figures);
    await scene.apply(podConfig('counted', { name: 'v0', master: 'vbr0', cidr: '172.30.23.0/28' }));
    await scene.ready('podconfig/counted');
    await eventually(async () => {
      const now = await figures();
      const more = (whose: keyof typeof now, name: string): number =>
        (now[whose].get(name) ?? 0) - (before[whose].get(name) ?? 0);
      const states = ['Attached', 'Pending', 'Failed', 'Removing'].map(
        (state) => `podloom_attachments{state="${state}"}`,
      );
      for (const whose of ['operator', 'agent'] as const) {
        expect(states.map((state) => more(whose, state))).toEqual([2, 0, 0, 0]);
      }
      // Of 16 addresses three are the network's own, the broadcast and the gateway.
      const pool = `{namespace="${scene.namespace}",network="vbr0",pool="vbr0-172.30.23.0-28"}`;
      expect(['used', 'free'].map((which) => now.operator.get(`podloom_addresses_${which}${pool}`))).toEqual([2, 11]);
      expect(more('operator', 'podloom_attach_seconds_count')).toBe(2);
      expect(more('agent', 'podloom_agent_attach_seconds_count')).toBe(2);
      // What an agent takes is part of what the operator waits for.
      const took = more('agent', 'podloom_agent_attach_seconds_sum');
      expect(took).toBeGreaterThan(0);
      expect(took).toBeLessThan(more('operator', 'podloom_attach_seconds_sum'));
      expect(more('operator', 'podloom_api_calls_total{verb="create",resource="podnetworks"}')).toBe(2);
      expect(more('agent', 'podloom_api_calls_total{verb="apply",resource="podnetworks"}')).toBeGreaterThanOrEqual(2);
    });
    await scene.kube('delete', 'podconfig', 'counted', '--timeout=300s');
    await scene.clean();
  });
});
