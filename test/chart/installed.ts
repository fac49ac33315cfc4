/** An API server of the test's own with the chart on it, and kubectl and helm for it. The shared one would hand our policies to other tests. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binaries, startControlPlane } from '@podloom/local';

export const chart = join(import.meta.dirname, '../../deploy/chart');
export const namespace = 'podloom-system';

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Standard input is given where a manifest is to be read from `-`. */
export type Command = (args: readonly string[], input?: string) => Promise<Output>;

export interface Commands {
  readonly kubectl: Command;
  readonly helm: Command;
  /** The real command line. */
  readonly podloom: Command;
  /** As kubectl, but fails where it does, and returns what it printed. */
  readonly kube: (args: readonly string[], input?: string) => Promise<string>;
  /** `kubectl get … -o json`. */
  readonly get: <T>(...args: string[]) => Promise<T>;
}

export async function commandsFor(kubeconfig: string): Promise<Commands> {
  const built = await binaries({ modules: ['kubernetes', 'helm'] });
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const command =
    (file: string): Command =>
    (args, input) =>
      new Promise((resolve) => {
        const child = execFile(file, args, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
          resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
        );
        child.stdin?.end(input ?? '');
      });
  const kubectl = command(built.path('kubectl'));
  const kube = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  return {
    kubectl,
    helm: command(built.path('helm')),
    podloom: command(join(import.meta.dirname, '../../podloom')),
    kube,
    get: async <T>(...args: string[]) => JSON.parse(await kube(['get', ...args, '--output=json'])) as T,
  };
}

export interface Installed extends Commands {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** Objects only: no controller fills in what they mean. Values of the chart are given as for `helm --set`. */
export async function chartOnApiServer(...values: readonly string[]): Promise<Installed> {
  const dir = await mkdtemp(join(tmpdir(), 'podloom-chart-'));
  const controlPlane = await startControlPlane({ dir });
  const stop = async (): Promise<void> => {
    await controlPlane.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const commands = await commandsFor(controlPlane.kubeconfig);
    const sets = values.flatMap((value) => ['--set', value]);
    const install = ['install', 'podloom', chart, '-n', namespace, '--create-namespace', ...sets];
    const { code, stderr } = await commands.helm(install);
    if (code !== 0) throw new Error(stderr);
    await commands.kube(['wait', '--for=condition=Established', '--timeout=300s', 'crd', '--all']);
    return { ...commands, kubeconfig: controlPlane.kubeconfig, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A manifest as kubectl reads it from standard input. */
export const manifest = (...objects: object[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
