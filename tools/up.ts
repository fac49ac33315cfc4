/**
 * `make up`: the private cluster, the product on it, the first example in it, and what to type next. Everything here can be repeated; a
 * second run finds most of it done.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { progressOn } from '@podloom/cli';
import { binaries, clusterStatus, clusterUp } from '@podloom/local';
import { installOnPrivate } from './deploy.ts';

const root = join(import.meta.dirname, '..');
const namespace = 'cnf-test';
const sample = 'podconfig-sample-a';
const execute = promisify(execFile);
const startedAt = performance.now();
const progress = progressOn(process.stderr);
const step = (text: string): void => progress.tell({ kind: 'step', text });

try {
  await up();
} catch (error) {
  progress.end();
  console.error(`up: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

async function up(): Promise<void> {
  const cluster = await clusterUp({ progress: progress.tell });
  const built = await binaries({ progress: progress.tell });
  const kubectl = (...args: string[]) => run(built.path('kubectl'), ['--kubeconfig', cluster.kubeconfig, ...args]);
  const inNamespace = (...args: string[]) => kubectl('--namespace', namespace, ...args);

  step('Making the images');
  await run(process.execPath, ['deploy/image/build.ts']);
  await installOnPrivate(await clusterStatus({ name: cluster.name }), step);

  step('Applying examples/podconfig and waiting until it is configured');
  await kubectl('apply', '--filename', 'examples/podconfig/podconfig.yaml');
  // Of what else someone has made in the namespace, neither the state nor the image of the pods is known.
  await inNamespace('wait', '--for=jsonpath={.status.phase}=configured', `podconfig/${sample}`, '--timeout=120s');
  const found = ['--field-selector=status.phase=Running', '--output=jsonpath={.items[*].metadata.name}'];
  const pods = (await inNamespace('get', 'pods', `--selector=podconfig=${sample}`, ...found)).split(' ');
  const tookUp = performance.now() - startedAt;
  progress.end();

  console.log(await kubectl('get', 'nodes'));
  for (const pod of pods) console.log(`${pod}\n${await inNamespace('exec', pod, '--', 'ip', '-brief', 'address')}`);
  const [first = '', second = ''] = pods;
  for (const address of await addressesToReach(inNamespace, second)) {
    const answer = await inNamespace('exec', first, '--', 'ping', '-c', '1', '-W', '5', address);
    console.log(`${first} → ${address}: ${/time=.*/.exec(answer)?.[0] ?? 'answered'}`);
  }
  console.log(
    `\n${await run(process.execPath, ['packages/cli/src/main.ts', 'show', first, '-n', namespace, '--kubeconfig', cluster.kubeconfig])}`,
  );
  console.log(`Configured after ${seconds(tookUp)}, all shown after ${seconds(performance.now() - startedAt)}.`);
  console.log(`
To go on:

  export KUBECONFIG=${cluster.kubeconfig} PATH=$PATH:${dirname(built.path('kubectl'))}:${dirname(built.path('helm'))}
  kubectl -n ${namespace} get podconfigs,podnetworks,ippools       # what was asked for, what is, who has which address
  ./podloom plan -n ${namespace} -f examples/podconfig/podconfig.yaml   # edit it first: shows the kernel changes before they happen
  kubectl -n ${namespace} delete podconfig --all                   # and all of it is gone; make down removes the cluster
`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** The gateways, and what the other pod has, over every network. */
async function addressesToReach(inNamespace: (...args: string[]) => Promise<string>, pod: string): Promise<string[]> {
  const path = '{range .spec.interfaces[*]}{.bridge.gateways[*]}{" "}{.addresses[*]}{" "}{end}';
  const addresses = await inNamespace('get', 'podnetwork', pod, `--output=jsonpath=${path}`);
  return addresses
    .split(' ')
    .filter(Boolean)
    .map((address) => address.replace(/\/.*/, ''));
}

async function run(program: string, args: string[]): Promise<string> {
  const { stdout } = await execute(program, args, { cwd: root, maxBuffer: 64 << 20 });
  return stdout;
}
