/** Our own processes and nodes die at bad moments. What is right stays, what is not is mended by who comes after, and nothing waits for ever. */
import { podNetworkKind } from '@podloom/api';
import { createClient, loadConfig, silentLog, startCache } from '@podloom/kube';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { namespace as systemNamespace } from '../chart/installed.ts';
import { eventually } from '../setup/eventually.ts';
import { pod, podConfig, podSpec, type Pod, type Source } from './objects.ts';
import { isPrivate, openWorld, type World } from './world.ts';

let world: World;

const patience = '--timeout=300s';
const partsOf = async (component: string): Promise<Pod[]> =>
  (
    await world.get<{ items: Pod[] }>(
      'pods',
      '-n',
      systemNamespace,
      `--selector=app.kubernetes.io/component=${component}`,
    )
  ).items;
/** Without those that are on their way out, whose processes may be gone. */
const livingPartsOf = async (component: string): Promise<Pod[]> =>
  (await partsOf(component)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const agentOn = async (node: string): Promise<Pod[]> =>
  (await livingPartsOf('agent')).filter(({ spec }) => spec.nodeName === node);
const restartsOf = (pods: readonly Pod[]): number =>
  pods.flatMap(({ status }) => status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);

const startedAt = ({ status }: Pod): string => status.containerStatuses?.[0]?.state?.running?.startedAt ?? '';

interface Aim {
  /** SIGKILL for each of them, at once. */
  readonly strike: () => void;
  /** Returns when each that was struck has been started again: they really died. */
  readonly hit: () => Promise<void>;
}

const aimAt = (find: () => Promise<Pod[]>): Promise<Aim> =>
  eventually(async () => {
    const pods = await find();
    expect(pods).not.toEqual([]);
    const kill = world.aim(pods);
    let struck = 0;
    const hit = async (): Promise<void> => {
      expect(struck).toBeGreaterThan(0);
      await eventually(async () => expect(restartsOf(await find())).toBeGreaterThanOrEqual(restartsOf(pods) + struck));
    };
    return { strike: () => void (struck = kill()), hit };
  });
/** Acts once, at the first news of a PodNetwork from now on. Listens as a process does: kubectl would come when all is done. */
async function onNetwork(namespace: string, act: () => void): Promise<{ acted: Promise<void> }> {
  const stop = new AbortController();
  const client = createClient(await loadConfig({ path: inject('kubeconfig') }));
  const cache = startCache({
    client,
    resource: podNetworkKind.resource,
    namespace,
    log: silentLog,
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    await cache.ended;
  });
  await cache.waitForSync();
  const { promise: acted, resolve, reject } = Promise.withResolvers<void>();
  let isNews = false;
  const end = cache.subscribe(() => {
    if (!isNews) return;
    end();
    try {
      act();
    } catch (error) {
      reject(error);
    } finally {
      resolve();
    }
  });
  isNews = true;
  acted.catch(() => undefined); // it is told to who waits for it
  return { acted };
}
const patchAgents = (nodeSelector: object | null): Promise<string> =>
  world.kube([
    'patch',
    'daemonset',
    'podloom-agent',
    '-n',
    systemNamespace,
    '--type=merge',
    `--patch=${JSON.stringify({ spec: { template: { spec: { nodeSelector } } } })}`,
  ]);
const allReady = async (): Promise<void> => {
  await world.kube(['rollout', 'status', 'daemonset/podloom-agent', '-n', systemNamespace, patience]);
  await world.kube(['rollout', 'status', 'deployment/podloom-network-operator', '-n', systemNamespace, patience]);
};

describe.skipIf(!isPrivate)('when our own processes fail', () => {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.end());

  it('an agent that is killed leaves what is right, and the next one finishes what was begun', async () => {
    const scene = await world.scene('agent');
    onTestFinished(allReady);
    await scene.start(pod('one', { podconfig: 'tough' }));
    const lives = await scene.lives();
    const first = { name: 'x0', master: 'xbr0', cidr: '172.30.13.0/24' };
    const second = { name: 'x1', master: 'xbr1', cidr: '172.30.14.0/24' };
    const agent = await aimAt(() => agentOn('n1'));
    const begun = await onNetwork(scene.namespace, agent.strike);
    await scene.apply(podConfig('tough', first));
    await begun.acted;
    await scene.ready('podconfig/tough');
    await agent.hit();
    const [link] = await scene.links('one');
    expect(link?.addresses).toEqual(['172.30.13.2/24']);

    await scene.kube(
      'delete',
      'pod',
      '-n',
      systemNamespace,
      ...(await agentOn('n1')).map(({ metadata }) => metadata.name),
      '--grace-period=0',
      '--force',
    );
    expect(await scene.links('one')).toEqual([link]);
    await scene.apply(podConfig('tough', first, second));
    await scene.ready('podconfig/tough');
    expect(await scene.links('one')).toMatchObject([link, { addresses: ['172.30.14.2/24'] }]);

    const last = await aimAt(() => agentOn('n1'));
    const asked = await onNetwork(scene.namespace, last.strike);
    await scene.kube('delete', 'podconfig', 'tough', '--wait=false');
    await asked.acted;
    await scene.kube('wait', 'podconfig/tough', '--for=delete', patience);
    await last.hit();
    await scene.clean();
    expect(await scene.lives()).toEqual(lives);
  });

  it('an object that is deleted while the agent is away says for whom it waits, and goes when the agent is back', async () => {
    const scene = await world.scene('away');
    await scene.start(pod('one', { podconfig: 'patient' }));
    const lives = await scene.lives();
    await scene.apply(podConfig('patient', { name: 'y0', master: 'ybr0', cidr: '172.30.15.0/24' }));
    await scene.ready('podconfig/patient');
    const links = await scene.links('one');
    onTestFinished(async () => {
      await patchAgents(null);
      await allReady();
    });
    await patchAgents({ 'podloom-test': 'nowhere' });
    await eventually(async () => expect(await partsOf('agent')).toEqual([]));
    expect(await scene.links('one')).toEqual(links);

    await scene.kube('delete', 'podconfig', 'patient', '--wait=false');
    await eventually(async () =>
      expect(await scene.condition('podconfig/patient', 'Ready')).toMatchObject({
        status: 'False',
        reason: 'Removing',
        message: expect.stringMatching(/1 pods? on n1 .*agent/) as string,
      }),
    );
    expect(await scene.links('one')).toEqual(links);
    await patchAgents(null);
    await scene.kube('wait', 'podconfig/patient', '--for=delete', patience);
    await scene.clean();
    expect(await scene.lives()).toEqual(lives);
  });

  it('twenty pods are served although all operators die half way, each with an address of its own', async () => {
    const scene = await world.scene('operator');
    onTestFinished(allReady);
    const count = 20;
    const labels = { app: 'many' };
    await scene.apply(podConfig('many', { name: 'z0', master: 'zbr0', cidr: '172.30.16.0/24' }), {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'many' },
      spec: {
        replicas: count,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { ...podSpec('n1'), nodeName: undefined } },
      },
    });
    await scene.running(count);
    const lives = await scene.lives();
    const operators = await aimAt(() => livingPartsOf('network-operator'));
    const begun = await onNetwork(scene.namespace, operators.strike);
    const names = (await scene.pods()).map(({ metadata }) => metadata.name);
    const label = (...some: string[]): Promise<string> => scene.kube('label', 'pods', ...some, 'podconfig=many');
    await label(...names.slice(0, count / 2));
    await begun.acted;
    // These are left to who comes after: nobody is there who could serve them.
    const left = names.slice(count / 2);
    await label(...left);
    await operators.hit();
    await eventually(async () => {
      const { status } = await scene.ready('podconfig/many');
      const lines = status?.podConfigurations?.flatMap(({ configList }) => configList) ?? [];
      const addresses = lines.map((line) => /podIPAddr:(\S+)/.exec(line)?.[1]);
      expect(addresses).toHaveLength(count);
      expect(new Set(addresses).size).toBe(count);
    });
    const started = (await livingPartsOf('network-operator')).map(startedAt).toSorted()[0]!;
    const made = await Promise.all(left.map(async (name) => (await scene.network(name)).metadata.creationTimestamp));
    expect(made.filter((time) => time === undefined || time < started)).toEqual([]);

    const holder = await world.kube([
      'get',
      'lease',
      'podloom-network-operator',
      '-n',
      systemNamespace,
      '--output=jsonpath={.spec.holderIdentity}',
    ]);
    const leader = (await livingPartsOf('network-operator')).find(({ metadata }) => holder.includes(metadata.name));
    await scene.kube('delete', 'podconfig', 'many', '--wait=false');
    await scene.kube(
      'delete',
      'pod',
      '-n',
      systemNamespace,
      leader?.metadata.name ?? '',
      '--grace-period=0',
      '--force',
    );
    await scene.kube('wait', 'podconfig/many', '--for=delete', patience);
    await eventually(async () => {
      expect(await world.ours()).toEqual([]);
      expect(await scene.kube('get', 'podnetworks', '--output=name')).toBe('');
    });
    expect(await scene.lives()).toEqual(lives);
  });

  it('an object whose node is gone for good is not held back by it', async () => {
    const scene = await world.scene('ghost');
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'podloom-ghost' }, spec: { unschedulable: true } };
    await world.kube(['create', '--filename=-'], JSON.stringify(node));
    onTestFinished(async () => {
      await world.kube(['delete', 'node', 'podloom-ghost', '--ignore-not-found']);
      const field = '--field-selector=spec.nodeName=podloom-ghost';
      await world.kube(['delete', 'pods', '--all-namespaces', field, '--grace-period=0', '--force', '--wait']);
      await allReady();
    });
    await scene.apply(pod('lost', { podconfig: 'gone' }, 'podloom-ghost'));
    const status = {
      phase: 'Running',
      podIP: '10.255.255.254',
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          restartCount: 0,
          image: inject('toolsImage'),
          imageID: 'none',
          containerID: 'containerd://none',
          state: { running: {} },
        },
      ],
    };
    await scene.kube(
      'patch',
      'pod',
      'lost',
      '--subresource=status',
      '--type=merge',
      `--patch=${JSON.stringify({ status })}`,
    );
    await scene.apply(podConfig('gone', { name: 'w0', master: 'wbr0', cidr: '172.30.17.0/24' }));
    await eventually(async () => expect((await scene.network('lost')).spec.nodeName).toBe('podloom-ghost'));
    await eventually(async () =>
      expect((await scene.get<Source>('podconfig/gone')).metadata.finalizers).toHaveLength(1),
    );
    await scene.kube('delete', 'podconfig', 'gone', '--wait=false');
    await eventually(async () =>
      expect(await scene.condition('podconfig/gone', 'Ready')).toMatchObject({
        reason: 'Removing',
        message: expect.stringContaining('podloom-ghost') as string,
      }),
    );
    await world.kube(['delete', 'node', 'podloom-ghost']);
    await scene.kube('wait', 'podconfig/gone', '--for=delete', patience);
    await eventually(() => scene.holdsNothing());
  });
});
