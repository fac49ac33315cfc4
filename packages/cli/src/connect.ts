/** The options and the connection of commands that talk to a cluster. */
import type { Client } from '@podloom/kube';
import type { Command } from 'commander';

export interface ConnectOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

export function withConnection(command: Command): Command {
  return command
    .option('-n, --namespace <name>', "namespace (default: the context's)")
    .option('--kubeconfig <file>', 'kubeconfig (default: $KUBECONFIG, the pod we are in, or ~/.kube/config)')
    .option('--context <name>', 'context of the kubeconfig');
}

/** Lends a client, and closes it, because an open connection would keep the process alive. */
export async function withClient<T>(
  { kubeconfig, context, namespace }: ConnectOptions,
  use: (client: Client, namespace: string) => Promise<T>,
): Promise<T> {
  const { createClient, loadConfig } = await import('@podloom/kube');
  const config = await loadConfig({ ...(kubeconfig && { path: kubeconfig }), ...(context && { context }) });
  const client = createClient(config);
  try {
    return await use(client, namespace ?? client.namespace);
  } finally {
    await client.close();
  }
}
