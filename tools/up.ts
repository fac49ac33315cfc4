/**
 * `make up`: the private cluster, the product on it, the first example in it, and what to type next. Everything here can be repeated; a
 * second run finds most of it done. `--name` chooses the cluster, as for `podloom cluster`.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { progressOn } from '@podloom/cli';
import { binaries, clusterStatus, clusterUp } from '@podloom/local';
import { installOnPrivate } from './deploy.ts';

const root = join(import.meta.dirname, '..');
const namespace = 'cnf-test';
const sample = 'podconfig-sample-a';
const deployment = 'cnf-example-a';
const execute = promisify(execFile);
const startedAt = performance.now();
const progress = progressOn(process.stderr);
const step = (text: string): void => progress.tell({ kind: 'step', text });
/** What a shell needs to talk to the cluster, once that is there. */
let shell = '';

try {
  await up();
} catch (error) {
  progress.end();
  console.error(`up: ${messageOf(error)}`);
  if (shell !== '') console.error(`\nThe cluster runs; to look at it:\n\n  ${shell}\n`);
  process.exitCode = 1;
}

async function up(): Promise<void> {
  const { name } = parseArgs({ options: { name: { type: 'string' } } }).values;
  const cluster = await clusterUp({ ...(name !== undefined && { name }), progress: progress.tell });
  const built = await binaries({ progress: progress.tell });
  shell = `export KUBECONFIG=${cluster.kubeconfig} PATH=$PATH:${dirname(built.path('kubectl'))}:${dirname(built.path('helm'))}`;
  const kubectl = (...args: string[]) => run(built.path('kubectl'), ['--kubeconfig', cluster.kubeconfig, ...args]);
  const inNamespace = (...args: string[]) => kubectl('--namespace', namespace, ...args);

  step('Making the images');
  await run(process.execPath, ['deploy/image/build.ts']);
  await installOnPrivate(await clusterStatus({ name: cluster.name }), step);

  step('Applying examples/podconfig and waiting until it is configured');
  await kubectl('apply', '--filename', 'examples/podconfig/podconfig.yaml');
  // A phase alone may be that of what the object was before; kubectl believes no condition of an older generation.
  for (const fact of ['condition=Ready', 'jsonpath={.status.phase}=configured']) {
    await inNamespace('wait', `--for=${fact}`, `podconfig/${sample}`, '--timeout=120s');
  }
  const pods = await samplePods(inNamespace);
  const [first, second] = pods;
  if (first === undefined || second === undefined) {
    throw new Error(`Of Deployment ${namespace}/${deployment} two pods are to run, and ${pods.length} do`);
  }
  const tookUp = performance.now() - startedAt;
  progress.end();

  console.log(await kubectl('get', 'nodes'));
  for (const pod of pods) console.log(`${pod}\n${await inNamespace('exec', pod, '--', 'ip', '-brief', 'address')}`);
  for (const address of await addressesToReach(inNamespace, second)) {
    const answer = await inNamespace('exec', first, '--', 'ping', '-c', '1', '-W', '5', address).catch(
      (cause: unknown) => {
        throw new Error(`${first} does not reach ${address}. ${messageOf(cause)}`, { cause });
      },
    );
    console.log(`${first} → ${address}: ${/time=.*/.exec(answer)?.[0] ?? 'answered'}`);
  }
  console.log(
    `\n${await run(process.execPath, ['packages/cli/src/main.ts', 'show', first, '-n', namespace, '--kubeconfig', cluster.kubeconfig])}`,
  );
  console.log(`Configured after ${seconds(tookUp)}, all shown after ${seconds(performance.now() - startedAt)}.`);
  console.log(`
To go on:

  ${shell}
  kubectl -n ${namespace} get podconfigs,podnetworks,ippools       # what was asked for, what is, who has which address
  ./podloom plan -n ${namespace} -f examples/podconfig/podconfig.yaml   # edit it first: shows the kernel changes before they happen
  kubectl -n ${namespace} delete podconfig --all                   # and all of it is gone; ${name === undefined ? 'make down' : `./podloom cluster down --name ${name}`} removes the cluster
`);
}

/** Of what else someone has made in the namespace, or has given the sample's label, neither the state nor the image is known. */
async function samplePods(inNamespace: (...args: string[]) => Promise<string>): Promise<string[]> {
  const running = [`--selector=podconfig=${sample}`, '--field-selector=status.phase=Running', '--output=json'];
  const { items } = JSON.parse(await inNamespace('get', 'pods', ...running)) as {
    items: { metadata: { name: string; deletionTimestamp?: string } }[];
  };
  return items
    .filter(({ metadata }) => metadata.name.startsWith(`${deployment}-`) && metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function run(program: string, args: string[]): Promise<string> {
  const { stdout } = await execute(program, args, { cwd: root, maxBuffer: 64 << 20 });
  return stdout;
}
