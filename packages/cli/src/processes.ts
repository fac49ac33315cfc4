/**
 * The long-running processes, as the image starts them. Their flags are declared in their own packages (settings), so they are read there.
 *
 * Each loads only what is its own, and the command tree is not among it: an agent is on every node, for months.
 */
import type { Client, Log, Metrics } from '@podloom/kube';

interface AloneTools {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

interface Tools extends AloneTools {
  readonly client: Client;
}

interface SettingsOf<T> {
  asksForHelp(args: readonly string[]): boolean;
  help(usage: string): string;
  read(sources: { args: readonly string[]; env: NodeJS.ProcessEnv }): T;
}

interface Program<T, P> {
  readonly settings: SettingsOf<T>;
  readonly run: (values: T, tools: P) => Promise<void>;
}

export type ProcessName =
  | 'agent'
  | 'bastion'
  | 'bastion host-keys'
  | 'image-list'
  | 'labs-operator'
  | 'network-operator'
  | 'network-operator withdraw'
  | 'ssh-tracker';

const processes: Readonly<Record<ProcessName, (args: readonly string[]) => Promise<void>>> = {
  async agent(args) {
    const { agentSettings, runAgent } = await import('@podloom/agent');
    return run('agent', args, { settings: agentSettings, run: runAgent });
  },
  async bastion(args) {
    const { bastionSettings, runBastion } = await import('@podloom/doors');
    return run('bastion', args, { settings: bastionSettings, run: runBastion });
  },
  async 'bastion host-keys'(args) {
    const { ensureHostKeys, hostKeySettings } = await import('@podloom/doors');
    return run('bastion host-keys', args, { settings: hostKeySettings, run: ensureHostKeys });
  },
  async 'ssh-tracker'(args) {
    const { runTracker, trackerSettings } = await import('@podloom/doors');
    return runAlone('ssh-tracker', args, { settings: trackerSettings, run: runTracker });
  },
  async 'image-list'(args) {
    const { imageListSettings, runImageList } = await import('@podloom/labs-operator');
    return run('image-list', args, { settings: imageListSettings, run: runImageList });
  },
  async 'labs-operator'(args) {
    const { labsOperatorSettings, runLabsOperator } = await import('@podloom/labs-operator');
    return run('labs-operator', args, { settings: labsOperatorSettings, run: runLabsOperator });
  },
  async 'network-operator'(args) {
    const { networkOperatorSettings, runNetworkOperator } = await import('@podloom/network-operator');
    return run('network-operator', args, { settings: networkOperatorSettings, run: runNetworkOperator });
  },
  async 'network-operator withdraw'(args) {
    const { withdraw, withdrawSettings } = await import('@podloom/network-operator');
    return run('network-operator withdraw', args, { settings: withdrawSettings, run: withdraw });
  },
};

export const runProcess = (name: ProcessName, args: readonly string[]): Promise<void> => processes[name](args);

/** The process that a command line names, and what is left for its settings. */
export function processNamed(words: readonly string[]): [name: ProcessName, args: readonly string[]] | undefined {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    if (Object.hasOwn(processes, name)) return [name as ProcessName, words.slice(length)];
  }
  return undefined;
}

async function run<T>(name: ProcessName, args: readonly string[], { settings, run }: Program<T, Tools>): Promise<void> {
  await runAlone(name, args, {
    settings,
    async run(values, tools) {
      const { createClient, loadConfig } = await import('@podloom/kube');
      const client = createClient(await loadConfig(), { userAgent: titleOf(name) });
      try {
        await run(values, { ...tools, client });
      } finally {
        await client.close();
      }
    },
  });
}

/** For a process that asks no API server. */
async function runAlone<T>(
  name: ProcessName,
  args: readonly string[],
  { settings, run }: Program<T, AloneTools>,
): Promise<void> {
  if (settings.asksForHelp(args)) {
    console.log(settings.help(`podloom ${name} [settings]`));
    return;
  }
  const { addProcessMetrics, createLog, createMetrics } = await import('@podloom/kube');
  const values = settings.read({ args, env: process.env });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const metrics = createMetrics();
  addProcessMetrics(metrics);
  await run(values, { log: createLog({ name: titleOf(name) }), metrics, signal: stop.signal });
}

const titleOf = (name: ProcessName): string => `podloom-${name.split(' ').at(-1)}`;
