import { createClient, loadConfig, namespaces } from '@podloom/kube';
import { expect, inject, it } from 'vitest';
import '../../test/setup/provided.ts';
import { claimNamespace, namespace } from './world.ts';

it('refuses to share its namespace with an earlier run, and says how to remove that', async () => {
  const client = createClient(await loadConfig({ path: inject('kubeconfig') }));
  await claimNamespace(client, '/some/kubeconfig');
  await expect(claimNamespace(client, '/some/kubeconfig')).rejects.toThrow(
    'Namespace bench was left by an earlier run; remove it with: kubectl --kubeconfig /some/kubeconfig delete namespace bench',
  );
  await client.delete(namespaces, namespace);
  await client.close();
});
