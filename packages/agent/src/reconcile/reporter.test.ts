import type { PodNetwork } from '@podloom/api';
import { type Client, keyOf } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import { podSpec } from '../testing/specs.ts';
import { statusReporter } from './reporter.ts';

const network = (uid: string, resourceVersion: string): PodNetwork => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: 'pod', namespace: 'here', uid, resourceVersion },
  spec: podSpec('pod-uid', []),
});
const { signal } = new AbortController();
const status = { podPid: 7 };

/** A server that takes every status. */
async function reported() {
  const client = { apply: () => Promise.resolve({ ...network('u', '9'), status }) } as unknown as Client;
  const reporter = statusReporter(client);
  await reporter.report(network('u', '8'), status, signal);
  return reporter;
}

describe('a status that was written', () => {
  it('counts until the cache has it', async () => {
    const reporter = await reported();
    expect(reporter.current(network('u', '8'))).toEqual(status);
    expect(reporter.isOurs(network('u', '9'))).toBe(true);
    expect(reporter.current(network('u', '10'))).toBeUndefined();
  });

  it('is not that of another object of the same name', async () => {
    const reporter = await reported();
    expect(reporter.current(network('another', '8'))).toBeUndefined();
    expect(reporter.isOurs(network('another', '9'))).toBe(false);
  });

  it('is forgotten with its object, also where it was written after that went', async () => {
    const reporter = await reported();
    reporter.forget(keyOf(network('u', '8')));
    expect(reporter.current(network('u', '8'))).toBeUndefined();
  });
});
