/**
 * The operator of the labs with a thousand people, on an API server without any controller: from nothing until all of them are ready, against a loop
 * that writes the same objects to another API server, one after another. Then a second pass, which must not write.
 */
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { tenantKind, workspaceKind } from '@podloom/api';
import { type Client, silentLog, startCache } from '@podloom/kube';
import type { Bench, Report } from '../report.ts';
import { readMade, versions, writeAll } from './objects.ts';
import { type Operator, startOperator } from './operator.ts';
import { counts, startServer, writePeople } from './people.ts';

const task = `${counts.tenants} Tenants in ${counts.workspaces} Workspaces`;
const patienceMs = 900_000;

export const bench: Bench = {
  async run(progress): Promise<Report> {
    await using server = await startServer();
    progress('writing people');
    await writePeople(server);
    progress('the operator makes what they should have');
    const ours = await makeAll(server);
    progress('a second pass');
    const before = await versions(server.client);
    const passMs = await secondPass(server.kubeconfig);
    const changed = changes(before, await versions(server.client));
    const made = await readMade(server.client);

    await using other = await startServer();
    progress('writing people once more');
    await writePeople(other);
    progress('the loop writes the same');
    const startMs = performance.now();
    const writes = await writeAll(other.client, made);
    const loop = performance.now() - startMs;

    return {
      title: 'labs: from people to all that they should have',
      ours: 'podloom',
      measurements: [
        { task, who: 'podloom', samples: [ours] },
        { task, who: 'plain loop', samples: [loop] },
        { task: 'a second pass over all', who: 'podloom', samples: [passMs] },
      ],
      bars: [
        { text: 'from nothing, of a plain loop', value: ours / loop, limit: 1.5, unit: '×' },
        { text: 'objects that a second pass changes', value: changed, limit: 0, unit: 'objects' },
      ],
      notes: [
        `The loop makes ${made.children.length} objects and writes each person twice, ${writes} writes in all, one after another, in this process as the operator.`,
        `The operator starts with nothing in its caches and has its defaults. Neither Keycloak nor storage nor any controller of Kubernetes is there.`,
        `Load of the machine at the end: ${loadavg()[0]?.toFixed(1)}.`,
      ],
    };
  },
};

/** Milliseconds from the start of an operator until everybody is ready. */
async function makeAll({ client, kubeconfig }: { client: Client; kubeconfig: string }): Promise<number> {
  const stop = new AbortController();
  const common = { client, log: silentLog, signal: stop.signal };
  const tenants = startCache({ ...common, resource: tenantKind.resource });
  const workspaces = startCache({ ...common, resource: workspaceKind.resource });
  await Promise.all([tenants.waitForSync(), workspaces.waitForSync()]);
  const isReady = (): boolean =>
    tenants.size === counts.tenants &&
    [...tenants.list(), ...workspaces.list()].every(({ status }) => status?.ready === true);
  const startMs = performance.now();
  await using operator = await startOperator(kubeconfig);
  await until(isReady);
  const took = performance.now() - startMs;
  await idle(operator);
  stop.abort();
  await Promise.all([tenants.ended, workspaces.ended]);
  return took;
}

/** Milliseconds until a new operator has looked at everything. */
async function secondPass(kubeconfig: string): Promise<number> {
  const startMs = performance.now();
  await using operator = await startOperator(kubeconfig);
  await until(
    async () =>
      (await operator.reconciles('tenant')) >= counts.tenants &&
      (await operator.reconciles('workspace')) >= counts.workspaces,
  );
  const took = performance.now() - startMs;
  await idle(operator);
  return took;
}

/** What was heard of late is looked at as well. */
async function idle(operator: Operator): Promise<void> {
  let seen = -1;
  await until(async () => {
    const now = (await operator.reconciles('tenant')) + (await operator.reconciles('workspace'));
    const isIdle = now === seen && (await operator.waiting()) === 0;
    seen = now;
    if (!isIdle) await sleep(1_000);
    return isIdle;
  });
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() > untilMs) throw new Error(`Not so after ${patienceMs / 1000} s: ${isTrue.toString()}`);
    await sleep(50);
  }
}

const changes = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): number =>
  [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key)).length;
