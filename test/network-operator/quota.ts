/** A server that refuses to make something. */
import type { Client } from '@podloom/kube';

const quotas = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota', namespaced: true };

/** None of these may be made any more, once the server has heard of it. */
export async function quota(client: Client, namespace: string, resource: string): Promise<void> {
  const hard = { [`count/${resource}`]: '0' };
  await client.create(quotas, { metadata: { name: 'none', namespace }, spec: { hard } }, { namespace });
  // There is no controller that would count.
  const counted = { status: { hard, used: hard } };
  await client.patch(quotas, 'none', counted, { type: 'merge', namespace, subresource: 'status' });
}

export const removeQuota = (client: Client, namespace: string): Promise<void> =>
  client.delete(quotas, 'none', { namespace });
