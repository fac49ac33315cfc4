import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { podNetworkKind } from '@podloom/api';
import { expect, it, onTestFinished } from 'vitest';
import { withClient } from './connect.ts';

it('says that Podloom is not installed where the API server does not know its kinds', async () => {
  // As an API server answers for a group that nobody has defined.
  const server = createServer((_, response) => response.writeHead(404).end('404 page not found\n')).listen(0);
  await once(server, 'listening');
  const folder = mkdtempSync(join(tmpdir(), 'podloom-connect-'));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const kubeconfig = join(folder, 'kubeconfig');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster: { server: url } }],
      users: [{ name: 'a', user: { token: 'x' } }],
    }),
  );
  const list = withClient({ kubeconfig }, (client, namespace) => client.list(podNetworkKind.resource, { namespace }));
  await expect(list).rejects.toThrow(/Podloom is not installed on http:.*make deploy/);
});
