/**
 * `make deploy` and `make undeploy`: the chart on the current kubectl context, or off it. `installChart` and `removeChart` are the same for
 * who has a kubeconfig at hand (`make up`, the tests). Everything here can be repeated.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { parseDuration } from '@podloom/kube';
import { clusterLoad, type ClusterStatus } from '@podloom/local';
import { demandCluster, messageOf, privateCluster, run, type Tool, tools } from './clients.ts';

const root = join(import.meta.dirname, '..');
const release = 'podloom';
export const chartNamespace = 'podloom-system';
export const chartFolder = join(root, 'deploy/chart');
/** What was made here, and may go with the chart. */
const ours = 'app.kubernetes.io/part-of=podloom';
/** The Job of withdraw.yaml, which Helm leaves where it failed. */
const withdrawal = 'podloom-withdraw';

export interface InstallOptions {
  /** Left out, whatever kubectl uses by itself. */
  readonly kubeconfig?: string | undefined;
  /** As NAME:TAG, or NAME:TAG@sha256:… */
  readonly image: string;
  /** Of that image: pods are replaced when it changes, although the name does not. */
  readonly digest?: string | undefined;
  /** A file of values for the chart. */
  readonly values?: string | undefined;
  /** Values of the chart by their path: { 'networkOperator.replicas': 1 }. They win over the file. */
  readonly set?: Readonly<Record<string, unknown>> | undefined;
}

/** Installs or upgrades, and returns when its processes are ready. Values of the last time that nobody changes stay. */
export async function installChart({
  kubeconfig,
  image,
  digest = '',
  values,
  set = {},
}: InstallOptions): Promise<void> {
  const { kubectl, helm } = await tools(kubeconfig);
  await demandCluster(kubectl);
  await ensureNamespace(kubectl);
  await endWithdrawal(kubectl);
  const { repository, tag } = parseImage(image);
  const named = { 'image.repository': repository, 'image.tag': tag, 'image.digest': digest };
  const sets = Object.entries({ ...named, ...set }).flatMap(([path, value]) => [
    '--set-json',
    `${path}=${JSON.stringify(value)}`,
  ]);
  const files = values === undefined ? [] : [`--values=${values}`];
  // CRDs may be there already, from an earlier installation or by hand.
  const options = ['--namespace', chartNamespace, '--take-ownership', '--reset-then-reuse-values', ...files, ...sets];
  try {
    await keepRelease(helm);
    await helm('upgrade', '--install', release, chartFolder, ...options);
    // Not with Helm's --wait, which is content when three of four agents are ready.
    const there = [`--namespace=${chartNamespace}`, `--selector=${ours}`];
    for (const part of lines(await kubectl('get', 'deployments,daemonsets', ...there, '--output=name'))) {
      await kubectl('rollout', 'status', part, `--namespace=${chartNamespace}`, '--timeout=5m');
    }
  } catch (error) {
    const state = await kubectl('get', 'pods', `--namespace=${chartNamespace}`, '--output=wide').catch(messageOf);
    const why = `To see why: kubectl -n ${chartNamespace} describe daemonset,replicaset,pods; kubectl -n ${chartNamespace} logs POD`;
    throw new Error(`${messageOf(error)}\n\n${state}\n${why}`, { cause: error });
  }
}

/** A digest is part of the tag, and so of what the nodes pull. */
function parseImage(image: string): { repository: string; tag: string } {
  const found = /^(?<repository>[^@]+):(?<tag>[\w.-]+(@sha256:[0-9a-f]{64})?)$/.exec(image)?.groups;
  const { repository, tag } = found ?? {};
  if (repository === undefined || tag === undefined)
    throw new Error(`"${image}" has no tag: write NAME:TAG or NAME:TAG@sha256:DIGEST`);
  return { repository, tag };
}

/** Helm upgrades nothing that it began to uninstall, also where withdrawing failed and nothing was uninstalled. Going back to the same revision undoes that. */
async function keepRelease(helm: Tool): Promise<void> {
  const found = await releaseOf(helm);
  if (found?.info.status === 'uninstalling') {
    await helm('rollback', release, String(found.version), '--namespace', chartNamespace);
  }
}

interface Release {
  readonly version: number;
  readonly info: { readonly status: string };
}

/** Whatever state it is in; undefined where there is none. Not by `helm list`, which takes other flags in Helm 4 than in Helm 3. */
async function releaseOf(helm: Tool): Promise<Release | undefined> {
  try {
    return JSON.parse(await helm('status', release, '--namespace', chartNamespace, '--output=json')) as Release;
  } catch (error) {
    if (messageOf(error).includes('release: not found')) return undefined;
    throw error;
  }
}

/** One that never began would begin whenever a node has room for it, and take everything from a product that was kept. */
async function endWithdrawal(kubectl: Tool): Promise<void> {
  const there = [`--namespace=${chartNamespace}`, '--ignore-not-found', '--wait'];
  await kubectl('delete', 'job', withdrawal, ...there);
  // It starts the operator again before it ends.
  await kubectl('delete', 'pods', '--selector=app.kubernetes.io/component=withdraw', ...there);
}

export interface RemoveOptions {
  readonly kubeconfig?: string | undefined;
  /** Also the kinds, and with them every object of theirs that people wrote. */
  readonly crds?: boolean | undefined;
  readonly tell?: ((step: string) => void) | undefined;
}

/** What was found: nothing; a product that took back what it had configured; or one that was told to leave it (withdraw.onUninstall). */
export type Removal = 'nothing' | 'withdrawn' | 'left';

/** Takes back what was configured, then what was installed. */
export async function removeChart(options: RemoveOptions = {}): Promise<Removal> {
  const { kubeconfig, crds = false, tell = () => undefined } = options;
  const { kubectl, helm } = await tools(kubeconfig);
  await demandCluster(kubectl);
  let removal: Removal = 'nothing';
  if (await releaseOf(helm)) {
    const { withdraw } = await valuesOf(helm);
    removal = withdraw.onUninstall ? 'withdrawn' : 'left';
    try {
      // Longer than the withdrawal, which says why it failed; the rest is for its pod to start, and for what goes after it.
      const timeout = `--timeout=${parseDuration(withdraw.timeout) + 120_000}ms`;
      await helm('uninstall', release, '--namespace', chartNamespace, '--wait', timeout);
    } catch (error) {
      throw new Error(`${messageOf(error)}\n\n${await whyNotRemoved(kubectl)}`, { cause: error });
    }
  }
  // Also where the release went another way.
  await kubectl('delete', 'namespace', `--selector=${ours},kubernetes.io/metadata.name=${chartNamespace}`, '--wait');
  if (crds) await removeKinds(kubectl, tell);
  return removal;
}

/** As the chart was given them, with its defaults. */
async function valuesOf(helm: Tool): Promise<{ withdraw: { onUninstall: boolean; timeout: string } }> {
  const text = await helm('get', 'values', release, '--all', '--namespace', chartNamespace, '--output=json');
  return JSON.parse(text) as Awaited<ReturnType<typeof valuesOf>>;
}

/** Those of other projects with the same name are theirs: the chart does not label them. */
async function removeKinds(kubectl: Tool, tell: (step: string) => void): Promise<void> {
  const names = '--output=jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}';
  const kinds = lines(await kubectl('get', 'customresourcedefinitions', `--selector=${ours}`, names));
  if (kinds.length === 0) return;
  const plan: string[] = [];
  const held: string[] = [];
  for (const kind of kinds) {
    const each = '{range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.finalizers}{"\\n"}{end}';
    const objects = lines(await kubectl('get', kind, '--all-namespaces', `--output=jsonpath=${each}`));
    plan.push(`Deleting the kind ${kind}${objects.length === 0 ? '' : ` and ${objects.length} of it`}`);
    const waiting = objects.filter((object) => object.includes(ourFinalizers));
    held.push(...waiting.map((object) => `  ${kind} ${object.split(' ')[0]}`));
  }
  if (held.length > 0) {
    const why =
      'Podloom was uninstalled without taking back what it had configured, and only Podloom takes its finalizers from';
    throw new Error(`No kind was deleted. ${why}\n${held.join('\n')}\n${installAgain}`);
  }
  plan.forEach(tell);
  try {
    await kubectl('delete', 'customresourcedefinitions', ...kinds, '--ignore-not-found', '--wait', '--timeout=2m');
  } catch (error) {
    const look = `Something of these kinds has a finalizer, and goes when whoever put it there takes it away: kubectl get -A -o yaml ${kinds.join(',')}`;
    throw new Error(`${messageOf(error)}\n\n${look}\nIf it is one of Podloom's (…${ourFinalizers}): ${installAgain}`, {
      cause: error,
    });
  }
}

const ourFinalizers = '.finalizers.opdev.io';
const lines = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

const installAgain =
  'To have that taken back: install again, with withdraw.onUninstall on, then uninstall (make deploy, make undeploy)';

/** Helm deletes the Job that succeeded while it waited, and goes on to uninstall. */
async function whyNotRemoved(kubectl: Tool): Promise<string> {
  const there = `--namespace=${chartNamespace}`;
  const state = '--output=jsonpath={.metadata.name} {.status.succeeded}';
  const [found, succeeded] = (await kubectl('get', 'job', withdrawal, there, '--ignore-not-found', state)).split(' ');
  if (!found) return partlyRemoved;
  if (succeeded === '1') return `Everything was taken back, but only after Helm had given up. ${finish}`;
  const log = await kubectl('logs', `job/${withdrawal}`, there).catch(messageOf);
  await endWithdrawal(kubectl);
  return `${log}\n${notRemoved}`;
}

const finish = `What can be done next:
  make undeploy    uninstalls what is there
  make deploy      keep Podloom: all of it is there again, and configures what was taken back`;

const partlyRemoved = `Some of the chart may be gone already; what it had configured was taken back before, unless withdraw.onUninstall is off. What can be done next:
  make deploy      has all of it there again
  make undeploy    then takes it away`;

const notRemoved = `Nothing was uninstalled. The operator runs again and gives pods back what was already taken from them; only Helm calls
the release "uninstalling". What can be done next:
  make undeploy    try again, once the above is mended
  make deploy      keep Podloom: the release is "deployed" again
  helm uninstall ${release} -n ${chartNamespace} --no-hooks    leave behind what cannot be taken back: links, bridges, and
                   finalizers, with which nothing that people wrote can be deleted; to have them taken back later,
                   install again, then uninstall`;

/** One that is there already is somebody's, and stays as it is. */
export async function ensureNamespace(kubectl: Tool): Promise<void> {
  const found = await kubectl('get', 'namespace', chartNamespace, '--ignore-not-found', '--output=name');
  if (found.trim() === '') await kubectl('create', '--filename', join(root, 'deploy/namespace.yaml'));
}

export interface Archive {
  readonly file: string;
  readonly name: string;
  readonly digest: string;
}

/** Of an image that was built into dist/. */
export function archive(file: string): Archive {
  const path = join(root, 'dist', file);
  if (!existsSync(`${path}.json`)) throw new Error(`dist/${file} is not there; build it with: make image`);
  const { name, digest } = JSON.parse(readFileSync(`${path}.json`, 'utf8')) as { name: string; digest: string };
  return { file: path, name, digest };
}

/** Builds the image of the product where something changed. */
export async function buildProduct(): Promise<Archive> {
  const file = 'podloom-image.tar';
  await run(process.execPath, [join(root, 'deploy/image/build.ts'), '--out', join(root, 'dist', file)], process.env);
  return archive(file);
}

export interface PrivateOptions {
  /** A file of values for the chart. */
  readonly values?: string | undefined;
  /** They win over the file, see installChart. */
  readonly set?: Readonly<Record<string, unknown>> | undefined;
}

/** The images that were built here, on a private cluster of this machine. */
export async function installOnPrivate(
  { name: cluster, kubeconfig, addresses }: ClusterStatus,
  tell: (step: string) => void,
  { values, set: chosen = {} }: PrivateOptions = {},
): Promise<void> {
  const product = archive('podloom-image.tar');
  const sample = archive('tools-image.tar');
  const { helm } = await tools(kubeconfig);
  const written = values === undefined ? null : (parse(readFileSync(values, 'utf8')) as Values | null);
  const text = await helm('get', 'values', release, '--namespace', chartNamespace, '--output=json').catch(() => 'null');
  const kept = JSON.parse(text) as Values | null;
  const hasBastion = chosen[bastionSwitch] ?? written?.labs?.bastion?.enabled ?? kept?.labs?.bastion?.enabled ?? false;
  tell(`Putting the images on the nodes of ${cluster}`);
  for (const { file } of [product, sample, ...(hasBastion === true ? [archive('bastion-image.tar')] : [])]) {
    await clusterLoad({ name: cluster, archive: file });
  }
  tell('Installing Podloom with Helm');
  const set = { ...privateValues({ written, kept, sample: sample.name, range: addresses.range }), ...chosen };
  await installChart({ kubeconfig, image: product.name, digest: product.digest, values, set });
}

const bastionSwitch = 'labs.bastion.enabled';

interface Values {
  readonly networkOperator?: { readonly reservedCidrs?: readonly string[] };
  readonly sampleDeployment?: { readonly image?: string };
  readonly labs?: { readonly bastion?: { readonly enabled?: boolean } };
}

interface PrivateValues {
  /** In the file of this time, and of what was installed before. */
  readonly written: Values | null;
  readonly kept: Values | null;
  readonly sample: string;
  readonly range: string;
}

/** What a private cluster needs, beside what its administrator chose. */
export function privateValues({ written, kept, sample, range }: PrivateValues): Record<string, unknown> {
  const reserved = written?.networkOperator?.reservedCidrs ?? kept?.networkOperator?.reservedCidrs ?? [];
  const image = written?.sampleDeployment?.image ?? kept?.sampleDeployment?.image ?? sample;
  return {
    'networkOperator.reservedCidrs': [...new Set([...reserved, range])],
    // An image that was set here before may be older than the one that is there now.
    'sampleDeployment.image': image.startsWith('podloom.local/') ? sample : image,
  };
}

async function deploy(image: string | undefined, values: string | undefined): Promise<void> {
  const { kubectl } = await tools(undefined);
  await demandCluster(kubectl);
  if (image !== undefined) return installChart({ image, values });
  const cluster = await privateCluster(kubectl);
  if (cluster === undefined) {
    throw new Error(
      `This cluster cannot have ${archive('podloom-image.tar').name} by itself: it is no private one of this machine. Push dist/podloom-image.tar to a registry ` +
        `(such as: skopeo copy oci-archive:dist/podloom-image.tar docker://REGISTRY/podloom:TAG), then: make deploy IMAGE=REGISTRY/podloom:TAG`,
    );
  }
  await installOnPrivate(cluster, console.log, { values });
}

const removed: Record<Removal, string> = {
  nothing: 'Podloom is not installed here.',
  withdrawn: 'Podloom is uninstalled; nothing of it is left in pods or on nodes.',
  left: `Podloom is uninstalled. What it had configured was not taken back, because withdraw.onUninstall is off: links in pods, bridges on nodes,
and finalizers, with which nothing that people wrote can be deleted. ${installAgain}`,
};

if (import.meta.main) {
  const { values } = parseArgs({ options: { remove: { type: 'boolean' } } });
  const { CRDS, IMAGE, VALUES } = process.env;
  try {
    if (values.remove) {
      const crds = CRDS === '1';
      console.log(removed[await removeChart({ crds, tell: console.log })]);
      if (!crds) console.log('Its kinds and what people wrote stay; to remove them as well: make undeploy CRDS=1');
    } else {
      await deploy(IMAGE || undefined, VALUES || undefined);
      console.log(`Podloom runs in ${chartNamespace}. To grant it to a namespace, see docs/guides/install.md.`);
    }
  } catch (error) {
    console.error(`deploy: ${messageOf(error)}`);
    process.exitCode = 1;
  }
}
