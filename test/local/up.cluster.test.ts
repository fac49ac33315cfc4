/** `make up` as the one who types it sees it: from nothing, interrupted, again, when something is wrong, and gone. In a cluster of its own. */
import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { clusterStatus } from '@podloom/local';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Commands, commandsFor, namespace as system, type Output } from '../chart/installed.ts';
import { openNodes } from '../product/nodes.ts';
import type { Pod, PodNetwork } from '../product/objects.ts';
import { eventually } from '../setup/eventually.ts';
import { guardCluster } from '../setup/guard.ts';
import { type Machine, observeMachine, processesOf } from './machine.ts';

const root = join(import.meta.dirname, '../..');
const name = `u${process.pid}`;
const namespace = 'cnf-test';
/** It ends with this process: what makes a cluster must not outlive the guard. */
const mortal = ['setpriv', '--pdeathsig', 'KILL'];
const program = [...mortal, process.execPath, '--disable-warning=ExperimentalWarning', 'tools/up.ts'];

interface Network extends PodNetwork {
  readonly spec: PodNetwork['spec'] & { readonly interfaces: readonly { readonly addresses: readonly string[] }[] };
}

let before: Machine;
let cluster: Commands;
/** What the last run that ended well has printed. */
let printed = '';

beforeAll(() => {
  before = observeMachine([name]);
});
beforeAll(() => guardCluster(name));

function run([file = '', ...args]: readonly string[], env = process.env): Promise<Output> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
    );
  });
}

/** As by Ctrl-C, which all that the terminal runs gets, once this was said. */
function interruptAt(text: string): Promise<Output> {
  const [file, ...args] = [...program, '--name', name];
  const child = spawn(file, args, { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (printed.stdout += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    if (printed.stderr.includes(text)) return;
    printed.stderr += piece;
    if (printed.stderr.includes(text)) process.kill(-child.pid!, 'SIGINT');
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? -1, ...printed })));
}

const up = (): Promise<Output> => run([...program, '--name', name]);

/** In a new shell that knows nothing of the cluster but the lines it is given. */
const inShell = (...lines: string[]): Promise<Output> =>
  run(['sh', '-c', lines.join('\n')], { HOME: process.env['HOME'], PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });

/** The line that leads a shell to this cluster, and to no other: what is run after it removes things. */
function exportLine(text: string): string {
  const line = /^ {2}(export KUBECONFIG=.*)$/m.exec(text)?.[1] ?? '';
  expect(line).toContain(`KUBECONFIG=/var/lib/podloom/${name}/`);
  return line;
}

const podsIn = async (space: string): Promise<Pod[]> =>
  (await cluster.get<{ items: Pod[] }>('pods', '--namespace', space)).items;

/** In the order in which `up` names the pods. */
const networks = async (): Promise<Network[]> =>
  (await cluster.get<{ items: Network[] }>('podnetworks', '--namespace', namespace)).items;

/** Links with their first address, by pod, and who reached whom. */
function shownIn(text: string): { links: Record<string, string[]>; pings: string[] } {
  const links = [...text.matchAll(/^(cnf-example-a-\S+)\n((?:.+\n)+)/gm)].map(([, pod = '', lines = '']) => [
    pod,
    [...lines.matchAll(/^(\w+)\S* +\S+ +(\S+)/gm)].map(([, link, address]) => `${link} ${address}`),
  ]);
  const pings = [...text.matchAll(/^(\S+ → \S+): time=\d+(?:\.\d+)? ms$/gm)].map(([, ping = '']) => ping);
  return { links: Object.fromEntries(links), pings };
}

/** All that a second run could disturb: pods and their restarts, and links, of which one that was made anew has another number. */
async function observeWork(): Promise<object> {
  const pods = [...(await podsIn(namespace)), ...(await podsIn(system))];
  const nodes = await openNodes(name);
  return {
    pods: pods.map(({ metadata, status }) => [metadata.uid, status.containerStatuses?.map((one) => one.restartCount)]),
    inPods: await Promise.all(
      (await networks()).map((network) => nodes.asRootIn(network, 'ip', '-o', '-4', 'address')),
    ),
    onNodes: await nodes.ours(),
    supervisor: (await clusterStatus({ name })).supervisorPid,
  };
}

describe('make up', () => {
  it.each([
    // A namespace of users takes the rights of root, and not those to the files of this folder.
    ['without root', ['unshare', '--user', ...program, '--name', name], 'A private cluster needs root'],
    ['with a name that cannot be one', [...program, '--name', 'Mine'], '"Mine" cannot be a cluster\'s name'],
    ['with an option that is not there', [...program, '--nodes=3'], "Unknown option '--nodes'"],
  ])('says %s what is wrong, and does nothing', async (_, command, message) => {
    const { code, stdout, stderr } = await run(command);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^up: [^\n]+\n$/);
    expect(stderr).toContain(message);
    expect(observeMachine([name])).toEqual(before);
  });

  // What comes after this begins where the last one was interrupted.
  it.each(['Starting controllers', 'Installing Podloom', 'Applying examples'])(
    'can be interrupted where it says "%s"',
    async (text) => {
      const { code, stdout, stderr } = await interruptAt(text);
      expect(stderr).toContain(text);
      expect(stdout).toBe('');
      expect(code).not.toBe(0);
    },
  );

  it('shows two nodes, the networks of two pods, and that bridges and pods answer', async () => {
    const { code, stdout, stderr } = await up();
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('until it is configured') });
    printed = stdout;
    cluster = await commandsFor((await clusterStatus({ name })).kubeconfig);

    expect(stdout.match(/^n[12] +Ready /gm)).toEqual([expect.stringContaining('n1'), expect.stringContaining('n2')]);
    const { status } = await cluster.get<{ status: object }>('podconfig/podconfig-sample-a', '-n', namespace);
    expect(status).toMatchObject({ phase: 'configured' });
    expect(stdout).toMatch(/^Configured after \d+\.\d s, all shown after \d+\.\d s\.$/m);

    const pods = await networks();
    expect(pods).toHaveLength(2);
    const addressesOf = ({ spec }: Network): string[] => spec.interfaces.flatMap(({ addresses }) => addresses);
    const links = pods.map((pod) => [
      pod.metadata.name,
      [
        'lo 127.0.0.1/8',
        expect.stringMatching(/^eth0 10\./),
        ...addressesOf(pod).map((address, i) => `pc${i}${pod.status?.podPid} ${address}`),
      ],
    ]);
    const [first, second] = pods as [Network, Network];
    const [onFirst, onSecond] = addressesOf(second).map((address) => address.split('/')[0]);
    const reached = ['192.168.100.1', onFirst, '192.168.99.1', onSecond];
    expect(shownIn(stdout)).toEqual({
      links: Object.fromEntries(links),
      pings: reached.map((address) => `${first.metadata.name} → ${address}`),
    });

    const drawn = await cluster.podloom(['show', first.metadata.name, '-n', namespace]);
    expect(drawn.stdout).toMatch(/──▶ bridge pcbr0 .*[\s\S]*──▶ bridge pcbr1 /);
    expect(stdout).toContain(`\n${drawn.stdout}`);
  });

  it('finds all of it done the next time, also beside a pod of the user that has no programs', async () => {
    const own = { name: 'a-mine', namespace, labels: { podconfig: 'podconfig-sample-a' } };
    const spec = { terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'podloom.local/pause:v1' }] };
    await cluster.kube(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: own, spec }));
    await cluster.kube(['wait', 'pod/a-mine', '-n', namespace, '--for=condition=Ready', '--timeout=300s']);
    await eventually(async () => expect(await networks()).toHaveLength(3));
    await cluster.kube(['wait', 'podnetworks', '--all', '-n', namespace, '--for=condition=Ready', '--timeout=300s']);
    const work = await observeWork();
    const { code, stdout, stderr } = await up();
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('up:') });
    expect(await observeWork()).toEqual(work);
    expect(shownIn(stdout)).toEqual(shownIn(printed));
    printed = stdout;
  });

  it('says which address does not answer', async () => {
    const [, first] = (await networks()) as [Network, Network, Network];
    const nodes = await openNodes(name);
    const route = ['unreachable', '192.168.99.1'];
    await nodes.asRootIn(first, 'ip', 'route', 'add', ...route);
    const { code, stdout, stderr } = await up();
    await nodes.asRootIn(first, 'ip', 'route', 'delete', ...route);
    expect(code).toBe(1);
    expect(stderr).toContain(`\nup: ${first.metadata.name} does not reach 192.168.99.1. `);
    expect(stdout).toContain(`${first.metadata.name} → 192.168.100.1: time=`);
    expect(stdout).not.toContain('To go on');
  });

  it('tells three commands that do what it says of them', async () => {
    const commands = [...(printed.split('To go on:')[1] ?? '').matchAll(/^ {2}(\S.*?) +# (.*)$/gm)];
    expect(commands).toHaveLength(3);
    const [look = '', plan = '', remove = ''] = commands.map(([, command]) => command);

    const seen = await inShell(exportLine(printed), look);
    expect(seen).toMatchObject({ code: 0, stderr: '' });
    expect(seen.stdout).toMatch(/podconfig\S*\/podconfig-sample-a +configured +True/);
    expect(seen.stdout.match(/podnetwork\S*\/cnf-example-a-\S+ +n\d +pc0\d+,pc1\d+ +True/g)).toHaveLength(2);
    expect(seen.stdout.match(/ippool\S*\/pcbr[01]-\S+ +pcbr[01] +192\.168\.(100|99)\.0\/24 /g)).toHaveLength(2);

    const planned = await inShell(exportLine(printed), plan);
    expect(planned).toMatchObject({ code: 0, stdout: 'Nothing to do: no pod would change.\n' });

    const nodes = await openNodes(name);
    expect(await nodes.ours()).not.toEqual([]);
    expect(await inShell(exportLine(printed), remove)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/"podconfig-sample-a" deleted/),
    });
    await eventually(async () => {
      expect(await networks()).toEqual([]);
      expect(await nodes.ours()).toEqual([]);
      expect((await podsIn(namespace)).map(({ metadata }) => metadata.name)).toEqual(['a-mine']);
    });
  });

  it('says how to find out why the product does not start', async () => {
    // Without the deadline it would be waited for as long as it may take on a slow machine.
    const template = { spec: { nodeSelector: { on: 'no-node' } } };
    const patch = JSON.stringify({ spec: { progressDeadlineSeconds: 1, template } });
    await cluster.kube(['patch', 'deployment/podloom-network-operator', '-n', system, '--patch', patch]);
    await eventually(async () => expect((await podsIn(system)).map(({ status }) => status.phase)).toContain('Pending'));
    const { code, stdout, stderr } = await up();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('\nup: error: deployment "podloom-network-operator" exceeded its progress deadline\n');
    expect(stderr).toMatch(/^podloom-network-operator-\S+ +0\/1 +Pending /m);
    const advice = /^To see why: (kubectl [^;]+);/m.exec(stderr)?.[1] ?? '';
    expect(advice).toContain('describe');
    const shell = exportLine(stderr);
    // Events are written a little later than what they tell of.
    await eventually(async () =>
      expect(await inShell(shell, advice)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("didn't match Pod's node affinity/selector"),
      }),
    );
  });

  it('is taken down by the command that it told, and leaves nothing', async () => {
    const command = /; (.*) removes the cluster$/m.exec(printed)?.[1] ?? '';
    expect(command).toContain(`--name ${name}`);
    expect(processesOf(name).length).toBeGreaterThan(10);
    expect(await inShell(command)).toEqual({ code: 0, stdout: `Cluster ${name} is gone\n`, stderr: '' });
    expect(processesOf(name)).toEqual([]);
    // The kernel takes links and mounts of a namespace away after the last process of it.
    await eventually(() => expect(observeMachine([name])).toEqual(before));
  });
});
