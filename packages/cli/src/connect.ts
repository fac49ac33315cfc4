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

/**
 * Lends a client, and closes it, because an open connection would keep the process alive. What is asked for is lists of our kinds, which are
 * only missing together.
 */
export async function withClient<T>(
  { kubeconfig, context, namespace }: ConnectOptions,
  use: (client: Client, namespace: string) => Promise<T>,
): Promise<T> {
  const [{ createClient, isNotFound, loadConfig }, { Unavailable }] = await Promise.all([
    import('@podloom/kube'),
    import('@podloom/api'),
  ]);
  const config = await loadConfig({ ...(kubeconfig && { path: kubeconfig }), ...(context && { context }) });
  const client = createClient(config);
  try {
    return await use(client, namespace ?? client.namespace);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    const message = `Podloom is not installed on ${config.server.origin}: it does not know Podloom's kinds. Choose another cluster with --context or --kubeconfig, or install it: make deploy (see docs/guides/install.md)`;
    throw new Unavailable('NOT_INSTALLED', message, { cause });
  } finally {
    await client.close();
  }
}
