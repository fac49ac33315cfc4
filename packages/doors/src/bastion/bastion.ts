/**
 * Keeps the bastion's file of keys as the Tenants have it. It works beside sshd in one pod, so each replica writes its own file and none has to lead. Until
 * all Tenants are known nothing is written: nobody loses access because we have just started.
 */
import { type Tenant, tenantKind } from '@podloom/api';
import {
  type Cache,
  type Client,
  type EventRecorder,
  type Log,
  type Metrics,
  aborted,
  counted,
  startCache,
  startEvents,
  startServer,
  workQueue,
} from '@podloom/kube';
import { authorizedKeysFile, tenantKeys } from './authorized-keys.ts';
import { replaceFile } from './key-file.ts';
import type { BastionSettings } from './settings.ts';

interface Tools {
  readonly client: Client;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

const component = 'podloom-bastion-operator';

/** Runs until the signal aborts. */
export async function runBastion(settings: BastionSettings, { log, metrics, ...tools }: Tools): Promise<void> {
  const client = counted(tools.client, metrics);
  // Stops everything started here, also after a failure.
  const own = new AbortController();
  const signal = AbortSignal.any([tools.signal, own.signal]);
  const events = startEvents({ client, component, log, signal, metrics });
  const tenants = startCache({ client, resource: tenantKind.resource, log, signal, keep: withKeysOnly });
  const file = keyFile(settings.authorizedKeysPath, tenants, log);
  try {
    if (settings.port > 0) {
      await startServer({ port: settings.port, ready: { keys: file.isWritten }, metrics, log, signal });
    }
    await Promise.race([tenants.waitForSync(), aborted(signal)]);
    if (signal.aborted) return;
    tenants.subscribe(({ old, now }) => {
      file.write();
      if (now) tellRefusals(events, old, now);
    });
    file.write();
    await aborted(signal);
  } finally {
    await file.stop();
    own.abort();
    await Promise.all([events.ended, tenants.ended]);
  }
}

/** A course has hundreds of people, and what else is said of them does not matter here. */
const withKeysOnly = ({ apiVersion, kind, metadata, spec }: Tenant): Tenant => {
  const { firstName, lastName, email, createSandbox, publicKeys } = spec;
  return { apiVersion, kind, metadata, spec: { firstName, lastName, email, createSandbox, publicKeys } };
};

function keyFile(path: string, tenants: Cache<Tenant>, log: Log) {
  let isWritten = false;
  // One key: however much changes meanwhile, there is one next write.
  const queue = workQueue<'file'>({
    concurrency: 1,
    backoff: { minMs: 100, maxMs: 10_000 },
    async run() {
      try {
        const changed = await replaceFile(path, authorizedKeysFile(tenants.list()));
        isWritten = true;
        if (changed) log.info({ tenants: tenants.size }, 'Wrote the keys of all Tenants');
        return 'done';
      } catch (error) {
        log.error({ err: error }, 'Could not write the keys, will retry');
        return 'failed';
      }
    },
  });
  return {
    write: (): void => queue.add('file'),
    isWritten: () => isWritten || 'The keys are not written yet',
    stop: () => queue.stop(),
  };
}

function tellRefusals(events: EventRecorder, old: Tenant | undefined, now: Tenant): void {
  const before = old ? sentencesOf(old) : [];
  for (const sentence of sentencesOf(now)) {
    if (!before.includes(sentence)) events.warning(now, 'PublicKeyRefused', sentence);
  }
}

const sentencesOf = (tenant: Tenant): string[] =>
  tenantKeys(tenant).refused.map(
    ({ index, reason }) => `The bastion leaves out spec.publicKeys[${index}]: it ${reason}`,
  );
