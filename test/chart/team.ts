/** Where the operator works with the rights that the chart gives it, and no others: its chart, a namespace of tenants, and a node. */
import { type Client, createClient, loadConfig, namespaces, nodes, serviceAccounts } from '@podloom/kube';
import { chartOnApiServer, namespace } from './installed.ts';

export const team = 'team';

export interface TeamServer {
  /** May do everything. */
  readonly client: Client;
  /** What it can do, the chart's roles and policies let the operator do. */
  readonly operator: Client;
  stop(): Promise<void>;
}

export async function chartWithTeam(): Promise<TeamServer> {
  const installed = await chartOnApiServer();
  const config = await loadConfig({ path: installed.kubeconfig });
  const headers = { 'impersonate-user': `system:serviceaccount:${namespace}:podloom-network-operator` };
  const client = createClient(config);
  const operator = createClient({ ...config, headers });
  const stop = async (): Promise<void> => {
    await client.close();
    await operator.close();
    await installed.stop();
  };
  try {
    await client.create(namespaces, { metadata: { name: team } });
    await client.create(serviceAccounts, { metadata: { name: 'default', namespace: team } });
    await client.create(nodes, { metadata: { name: 'n1' } });
    return { client, operator, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
