/**
 * `podloom operator` and `podloom agent`: the long-running processes, as the image starts them. Their flags are declared in their own
 * packages (settings), so they are read there and not by commander.
 */
import type { Client, Log, Metrics } from '@podloom/kube';
import { Command } from 'commander';

interface Tools {
  readonly client: Client;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

interface SettingsOf<T> {
  asksForHelp(args: readonly string[]): boolean;
  help(usage: string): string;
  read(sources: { args: readonly string[]; env: NodeJS.ProcessEnv }): T;
}

/** Loaded when needed: each process holds in memory only what is its own. */
const operator = async () => {
  const { operatorSettings, runOperator } = await import('@podloom/operator');
  return { settings: operatorSettings, run: runOperator };
};
const withdrawal = async () => {
  const { withdraw, withdrawSettings } = await import('@podloom/operator');
  return { settings: withdrawSettings, run: withdraw };
};
const agent = async () => {
  const { agentSettings, runAgent } = await import('@podloom/agent');
  return { settings: agentSettings, run: runAgent };
};

export function operatorCommand(): Command {
  const does = 'run the operator: composes PodNetworks, gives addresses, reports; one leads';
  const takesBack = 'take everything back, in order, before the product is uninstalled';
  return processCommand('operator', does, operator).addCommand(processCommand('withdraw', takesBack, withdrawal));
}

export function agentCommand(): Command {
  return processCommand('agent', 'run the agent of one node: makes its pods as declared; needs root', agent);
}

function processCommand<T>(
  name: string,
  description: string,
  load: () => Promise<{ settings: SettingsOf<T>; run: (values: T, tools: Tools) => Promise<void> }>,
): Command {
  return new Command(name)
    .description(description)
    .helpOption(false)
    .allowUnknownOption()
    .argument('[settings...]', 'see --help')
    .action(async (args: string[], _options: unknown, command: Command) => {
      const usage = command.parent?.parent ? `${command.parent.name()} ${name}` : name;
      const { settings, run } = await load();
      if (settings.asksForHelp(args)) {
        console.log(settings.help(`podloom ${usage} [settings]`));
        return;
      }
      const { addProcessMetrics, createClient, createLog, createMetrics, loadConfig } = await import('@podloom/kube');
      const values = settings.read({ args, env: process.env });
      const stop = new AbortController();
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
      const log = createLog({ name: `podloom-${name}` });
      const metrics = createMetrics();
      addProcessMetrics(metrics);
      const client = createClient(await loadConfig(), { userAgent: `podloom-${name}` });
      try {
        await run(values, { client, log, metrics, signal: stop.signal });
      } finally {
        await client.close();
      }
    });
}
