/** What `make up` and `make labs` have in common: a story with progress lines, about a private cluster, and what is said when it ends badly. */
import { dirname, join } from 'node:path';
import { progressOn } from '@podloom/cli';
import { binaries, clusterStatus, type ClusterStatus, clusterUp, type PartName } from '@podloom/local';
import { messageOf, run, type Tool } from './clients.ts';

export const root = join(import.meta.dirname, '..');

export interface Scene {
  readonly cluster: ClusterStatus;
  readonly kubectl: Tool;
  /** What a shell needs to talk to the cluster. */
  readonly shell: string;
  /** What to type to remove it. */
  readonly down: string;
}

export interface Narrator {
  readonly step: (text: string) => void;
  /** Before anything is printed as a result. */
  readonly end: () => void;
  readonly startCluster: (options: {
    readonly name: string | undefined;
    readonly with?: readonly PartName[];
  }) => Promise<Scene>;
}

/** Runs it, and says of a failure what it was and how to look at what there is. */
export async function narrate(title: string, story: (narrator: Narrator) => Promise<void>): Promise<void> {
  const progress = progressOn(process.stderr);
  let shell = '';
  const startCluster: Narrator['startCluster'] = async ({ name, with: parts = [] }) => {
    const up = await clusterUp({ ...(name !== undefined && { name }), with: parts, progress: progress.tell });
    const built = await binaries({ progress: progress.tell });
    shell = `export KUBECONFIG=${up.kubeconfig} PATH=$PATH:${dirname(built.path('kubectl'))}:${dirname(built.path('helm'))}`;
    const kubectl: Tool = (...args) =>
      run(built.path('kubectl'), ['--kubeconfig', up.kubeconfig, ...args], process.env);
    const down = name === undefined ? 'make down' : `./podloom cluster down --name ${name}`;
    return { cluster: await clusterStatus({ name: up.name }), kubectl, shell, down };
  };
  try {
    await story({
      step: (text) => progress.tell({ kind: 'step', text }),
      end: () => progress.end(),
      startCluster,
    });
  } catch (error) {
    progress.end();
    console.error(`${title}: ${messageOf(error)}`);
    if (shell !== '') console.error(`\nThe cluster runs; to look at it:\n\n  ${shell}\n`);
    process.exitCode = 1;
  }
}

/** Those that are built here, where something in them has changed. */
export const buildImages = (): Promise<string> =>
  run(process.execPath, [join(root, 'deploy/image/build.ts')], process.env);

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
