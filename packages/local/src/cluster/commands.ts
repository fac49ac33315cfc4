/** Things to do with a running cluster: give it an image, run a command on a node, read a log. */
import { spawn } from 'node:child_process';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidInput } from '@podloom/api';
import { binaries } from '../binaries/build.ts';
import { nodePaths } from '../config/node.ts';
import { widePath } from '../process/path.ts';
import { run } from '../process/run.ts';
import { enterNode } from '../supervisor/namespaces.ts';
import { defaultName } from './plan.ts';
import { clusterModules } from './requirements.ts';
import { find, findRunning } from './status.ts';

export interface LoadOptions {
  name?: string;
  /** An OCI layout in a tar file. */
  archive: string;
  signal?: AbortSignal;
}

/** Puts the images of an archive on every node. Returns the names of the nodes. */
export async function clusterLoad({ name = defaultName, archive, signal }: LoadOptions): Promise<string[]> {
  const { state, plan } = await findRunning(name);
  const built = await binaries({ modules: clusterModules });
  await Promise.all(
    plan.members.map(async (node) => {
      // Handed over open, because a node sees other files than we do below /run, /etc and /var.
      await using file = await open(archive).catch((cause: unknown) => {
        throw new InvalidInput('NO_ARCHIVE', `${archive} cannot be read`, { cause });
      });
      const ctr = [built.path('ctr'), '--address', nodePaths.containerdSocket, '--namespace', 'k8s.io'];
      const pid = state.holders[node.name] ?? 0;
      await run('nsenter', [...enterNode(pid), ...ctr, 'images', 'import', '-'], {
        stdin: file.fd,
        ...(signal && { signal }),
      });
    }),
  );
  return plan.members.map((node) => node.name);
}

export interface ExecOptions {
  name?: string;
  node: string;
  command: readonly [string, ...string[]];
}

/** Runs a command on a node, with its network, mounts and host name and with our terminal. Returns its exit code. */
export async function clusterExec({ name = defaultName, node, command }: ExecOptions): Promise<number> {
  const { state, plan } = await findRunning(name);
  const pid = state.holders[node];
  if (pid === undefined || !plan.members.some((member) => member.name === node)) {
    const names = plan.members.map((member) => member.name).join(', ');
    throw new InvalidInput('NO_NODE', `Cluster ${name} has no node ${node}; it has ${names}`);
  }
  const built = await binaries({ modules: clusterModules });
  // Ours come last: one of the CNI plugins is called bridge, as is a command that people look for on a node.
  const path = `${widePath()}:${built.searchPath}`;
  const child = spawn('nsenter', [...enterNode(pid), ...command], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal ? 128 : 1)));
  });
}

/** Path of the log of one process, as named in the status. Without a name, that of the supervisor. */
export async function clusterLogs({
  name = defaultName,
  process: part = 'supervisor',
}: { name?: string; process?: string } = {}): Promise<string> {
  const { plan } = await find(name);
  const file = `${part.replace('/', '-')}.log`;
  const files = await readdir(plan.logs);
  if (!files.includes(file)) {
    const names = files.map((text) => text.replace(/\.log$/, '').replace(/^(n\d+)-/, '$1/'));
    throw new InvalidInput('NO_LOG', `There is no process ${part}; there are ${names.toSorted().join(', ')}`);
  }
  return join(plan.logs, file);
}
