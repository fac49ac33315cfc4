/**
 * `make up`: the private cluster, the product on it, the first example in it, and what to type next. Everything here can be repeated; a
 * second run finds most of it done. `--name` chooses the cluster, as for `podloom cluster`.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, run } from './clients.ts';
import { installOnPrivate } from './deploy.ts';
import { buildImages, type Narrator, narrate, root, seconds } from './narrated.ts';

const namespace = 'cnf-test';
const sample = 'podconfig-sample-a';
const deployment = 'cnf-example-a';
const startedAt = performance.now();

await narrate('up', up);

async function up({ step, end, startCluster }: Narrator): Promise<void> {
  const { name } = parseArgs({ options: { name: { type: 'string' } } }).values;
  const { cluster, kubectl, shell, down } = await startCluster({ name });
  const inNamespace = (...args: string[]) => kubectl('--namespace', namespace, ...args);

  step('Making the images');
  await buildImages();
  await installOnPrivate(cluster, step);

  step('Applying examples/podconfig and waiting until it is configured');
  await kubectl('apply', '--filename', join(root, 'examples/podconfig/podconfig.yaml'));
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
  end();

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
  const show = [join(root, 'packages/cli/src/main.ts'), 'show', first, '-n', namespace];
  console.log(`\n${await run(process.execPath, [...show, '--kubeconfig', cluster.kubeconfig], process.env)}`);
  console.log(`Configured after ${seconds(tookUp)}, all shown after ${seconds(performance.now() - startedAt)}.`);
  console.log(`
To go on:

  ${shell}
  kubectl -n ${namespace} get podconfigs,podnetworks,ippools       # what was asked for, what is, who has which address
  ./podloom plan -n ${namespace} -f examples/podconfig/podconfig.yaml   # edit it first: shows the kernel changes before they happen
  kubectl -n ${namespace} delete podconfig --all                   # and all of it is gone; ${down} removes the cluster
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

/** The gateways, and what the other pod has, over every network. */
async function addressesToReach(inNamespace: (...args: string[]) => Promise<string>, pod: string): Promise<string[]> {
  const path = '{range .spec.interfaces[*]}{.bridge.gateways[*]}{" "}{.addresses[*]}{" "}{end}';
  const addresses = await inNamespace('get', 'podnetwork', pod, `--output=jsonpath=${path}`);
  return addresses
    .split(' ')
    .filter(Boolean)
    .map((address) => address.replace(/\/.*/, ''));
}
