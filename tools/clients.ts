/** kubectl and Helm, and the cluster that they talk to: that of a kubeconfig, or else of the user's own current context. */
import { execFile } from 'node:child_process';
import { progressOn } from '@podloom/cli';
import { binaries, clusterNames, clusterStatus, type ClusterStatus } from '@podloom/local';

export type Tool = (...args: string[]) => Promise<string>;

/** On the user's own context the user's own programs, where both are there; else those that are built here, once. */
export async function tools(kubeconfig: string | undefined): Promise<{ kubectl: Tool; helm: Tool }> {
  const own = kubeconfig === undefined ? await ownTools() : undefined;
  if (own) return own;
  const built = await binaries({ modules: ['kubernetes', 'helm'], progress: progressOn(process.stderr).tell });
  const env = kubeconfig === undefined ? process.env : { ...process.env, KUBECONFIG: kubeconfig };
  const tool =
    (name: string): Tool =>
    (...args) =>
      run(built.path(name), args, env);
  return { kubectl: tool('kubectl'), helm: tool('helm') };
}

const onPath =
  (name: string): Tool =>
  (...args) =>
    run(name, args, process.env);

async function ownTools(): Promise<{ kubectl: Tool; helm: Tool } | undefined> {
  const kubectl = onPath('kubectl');
  const helm = onPath('helm');
  try {
    await kubectl('version', '--client');
    const version = (await helm('version', '--template={{.Version}}')).trim();
    const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
    // The first with --take-ownership.
    if (major > 3 || (major === 3 && minor >= 17)) return { kubectl, helm };
    throw new Error(
      `helm on the PATH is ${version}, and 3.17 or newer is needed: install that, or take it off the PATH to have one built`,
    );
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';

export function run(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message, { cause: error }));
      else resolve(stdout);
    });
  });
}

export async function demandCluster(kubectl: Tool): Promise<void> {
  // Only root can have one. Nothing is sent to one that is down: its address would lead out of this machine.
  const local = process.getuid?.() === 0 ? await privateCluster(kubectl) : undefined;
  if (local && (local.phase === 'stopped' || !local.linked)) {
    throw new Error(`No cluster: ${local.name} is down. Start it with: ./podloom cluster up --name ${local.name}`);
  }
  try {
    await kubectl('get', '--raw=/readyz', '--request-timeout=10s');
  } catch (cause) {
    const context = await kubectl('config', 'current-context').catch(() => '');
    const which =
      context.trim() === '' ? 'kubectl has no current context' : `context ${context.trim()} does not answer`;
    const way = 'Choose another with kubectl config use-context or KUBECONFIG, or make a private cluster: make up';
    throw new Error(`No cluster: ${which} (${messageOf(cause).split('\n')[0]}).\n${way}`, { cause });
  }
}

/** The private cluster of this machine that the current context leads to. */
export async function privateCluster(kubectl: Tool): Promise<ClusterStatus | undefined> {
  const output = '--output=jsonpath={.clusters[0].cluster.server}';
  // Without a current context this is an error, and nothing that leads anywhere.
  const server = await kubectl('config', 'view', '--minify', output).catch(() => '');
  for (const name of await clusterNames()) {
    const status = await clusterStatus({ name });
    if (status.addresses.apiServer === server.trim()) return status;
  }
  return undefined;
}

/** As above, for who has a kubeconfig. */
export const privateClusterOf = async (kubeconfig: string): Promise<ClusterStatus | undefined> =>
  privateCluster((await tools(kubeconfig)).kubectl);

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
