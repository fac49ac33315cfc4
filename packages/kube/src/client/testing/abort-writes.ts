/**
 * Aborts many writes while their bodies still wait to be sent, in a process of its own: where that goes wrong the event loop stands still,
 * and no test could say so from inside. Prints what became of them; finishing.test.ts starts it and reads that.
 */
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { fixedCredentials } from '../../kubeconfig/cluster.ts';
import { configMaps } from '../builtin.ts';
import { createClient } from '../create-client.ts';
import { selfSigned } from './self-signed.ts';

const certificate = selfSigned('test server');
const firstCame = Promise.withResolvers<void>();
const server = createSecureServer(certificate, (request, response) => {
  if (request.method === 'GET') response.end('{"items":[]}');
  else firstCame.resolve();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const client = createClient({
  server: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
  namespace: 'default',
  tls: async () => ({ ca: certificate.cert, insecure: false }),
  proxy: undefined,
  credentials: fixedCredentials({}),
  headers: {},
});

const stop = new AbortController();
const writes = Array.from({ length: 400 }, (_, i) =>
  client.create(configMaps, { metadata: { name: `n${i}` } }, { signal: stop.signal }),
);
const outcomes = Promise.allSettled(writes);
await firstCame.promise;
stop.abort('enough');
const reasons = (await outcomes).map((outcome) => (outcome.status === 'rejected' ? outcome.reason : 'written'));
const { items } = await client.list(configMaps);
console.log(JSON.stringify({ count: reasons.length, reasons: [...new Set(reasons)], items }));
await client.close();
server.close();
