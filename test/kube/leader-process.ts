/**
 * A candidate in a process of its own, for leader.api.test.ts: node leader-process.ts KUBECONFIG SERVER NAMESPACE IDENTITY LEASE_MS. It says when it
 * begins and ends to lead, by the clock that all processes of one machine share. It ends with its input: with the test, that is, also with one that was killed.
 */
import { createClient, loadConfig, runAsLeader, silentLog } from '@podloom/kube';

const [path = '', server = '', namespace = '', identity = '', leaseMs = ''] = process.argv.slice(2);
const say = (what: string) => process.stdout.write(`${what} ${process.hrtime.bigint()}\n`);

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
process.stdin.on('end', () => process.exit()).unref();
process.stdin.resume();
const config = await loadConfig({ path });
const client = createClient({ ...config, server: new URL(server) }, { pingIntervalMs: 500 });
say('candidate');
await runAsLeader(
  {
    client,
    name: 'contested',
    namespace,
    identity,
    leaseMs: Number(leaseMs),
    log: silentLog,
    lead: async (signal) => {
      say('begin');
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve, { once: true });
      });
      say('end');
    },
  },
  stop.signal,
);
await client.close();
say('bye');
