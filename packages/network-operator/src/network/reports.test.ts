import { Conflict, type KubeObject, type PodNetwork, Unavailable, podNetworkKind } from '@podloom/api';
import { type Change, type Outcome, manualClock, silentLog } from '@podloom/kube';
import { describe, expect, it } from 'vitest';
import type { Caches } from './caches.ts';
import { reportAfterMs, sourceReports } from './reports.ts';
import { keyOfRef } from './sources.ts';

type Listener = (change: Change<never>) => void;

function world(outcome: () => Promise<Outcome> = () => Promise.resolve('done')) {
  const clock = manualClock();
  const reported: string[] = [];
  const listeners = new Map<string, Listener>();
  const cache = (name: string, objects: readonly KubeObject[] = []) => ({
    by: () => objects,
    subscribe(listener: Listener) {
      listeners.set(name, listener);
      return () => listeners.delete(name);
    },
  });
  const networks = [network('a')];
  const caches = {
    sources: new Map([['PodConfig', cache('podconfigs')]]),
    podNetworks: cache('podnetworks', networks),
    nodes: cache('nodes'),
    deployments: cache('deployments'),
  } as unknown as Caches;
  const stop = new AbortController();
  const reports = sourceReports({
    caches,
    clock,
    log: silentLog,
    signal: stop.signal,
    report: (key) => {
      reported.push(key);
      return outcome();
    },
  });
  const tell = (name: string, old: KubeObject | undefined, now: KubeObject | undefined): void =>
    listeners.get(name)?.({ key: 'any', old, now } as never);
  return { clock, reported, reports, tell, listeners };
}

/** With an interface of PodConfig `c`. */
const network = (name: string): PodNetwork =>
  podNetworkKind.parse({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name, namespace: 'ns' },
    spec: {
      podUid: name,
      nodeName: 'n1',
      interfaces: [
        {
          key: 'PodConfig/c/pc0',
          namePrefix: 'pc0',
          linkType: 'veth',
          source: { apiVersion: 'podconfig.opdev.io/v1alpha1', kind: 'PodConfig', name: 'c' },
          routes: [],
        },
      ],
    },
  });
const mine = keyOfRef({ namespace: 'ns', kind: 'PodConfig', name: 'c' });

describe('an object with news', () => {
  it('is looked at once for all that came within a short time', async () => {
    const { clock, reported, tell, reports } = world();
    for (let i = 0; i < 20; i += 1) {
      tell('podnetworks', undefined, network(`pod-${i}`));
      await clock.advance(reportAfterMs / 40);
    }
    expect(reported).toEqual([]);
    await clock.advance(reportAfterMs / 2);
    expect(reported).toEqual([mine]);
    await reports.stop();
  });

  it('is looked at as often while news come, and never later than that', async () => {
    const { clock, reported, reports } = world();
    for (let i = 0; i < 100; i += 1) {
      reports.soon(mine);
      await clock.advance(reportAfterMs / 10);
    }
    expect(reported.length).toBeGreaterThanOrEqual(9);
    expect(reported.length).toBeLessThanOrEqual(10);
    await reports.stop();
  });

  it('hears of a node that comes or goes, and not of its heartbeat', async () => {
    const { clock, reported, tell, reports } = world();
    const node: KubeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
    tell('nodes', node, node);
    await clock.advance(reportAfterMs);
    expect(reported).toEqual([]);
    tell('nodes', node, undefined);
    await clock.advance(reportAfterMs);
    expect(reported).toEqual([mine]);
    await reports.stop();
  });

  it('is tried again after a failure, and not where it must change first', async () => {
    const failures: Error[] = [new Unavailable('AWAY', 'It is away'), new Conflict('TAKEN', 'It is taken')];
    const { clock, reported, reports } = world(() => {
      const failure = failures.shift();
      return failure ? Promise.reject(failure) : Promise.resolve('done');
    });
    reports.soon(mine);
    await clock.advance(60_000);
    expect(reported).toEqual([mine, mine]);
    await reports.stop();
  });

  it('is heard of no more when this has stopped', async () => {
    const { clock, reported, reports, listeners } = world();
    reports.soon(mine);
    await reports.stop();
    await clock.advance(60_000);
    expect([reported, listeners.size, clock.pending]).toEqual([[], 0, 0]);
  });
});
