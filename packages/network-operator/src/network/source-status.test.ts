import { type PodConfig, type PodNetwork, mostListed, podConfigKind, podNetworkKind } from '@podloom/api';
import { sourceTypeOf } from '@podloom/network';
import { describe, expect, it } from 'vitest';
import { type PodState, reportOf } from './source-status.ts';
import { digestOf, verdictFor } from './verdicts.ts';

const source = podConfigKind.parse({
  apiVersion: podConfigKind.apiVersion,
  kind: 'PodConfig',
  metadata: { name: 'c', namespace: 'x', generation: 1 },
  spec: {},
}) as PodConfig;

/** Has so many links, and all of them are attached. */
function attached(name: string, links: number): PodState {
  const ref = { apiVersion: source.apiVersion, kind: source.kind, namespace: 'x', name: 'c' };
  const interfaces = Array.from({ length: links }, (_, i) => ({
    key: `PodConfig/c/n${i}`,
    namePrefix: `n${i}`,
    source: ref,
    link: { type: 'veth' as const },
    routes: [],
  }));
  const network: PodNetwork = podNetworkKind.parse({
    apiVersion: podNetworkKind.apiVersion,
    kind: 'PodNetwork',
    metadata: { name, namespace: 'x', generation: 1 },
    spec: { podUid: name, nodeName: 'n', interfaces },
    status: { observedGeneration: 1, interfaces: interfaces.map(({ key }) => ({ key, name: key, state: 'Attached' })) },
  });
  const composed = {
    interfaces: interfaces.map((one) => ({ interface: one, requests: [] })),
    conflicts: [],
    problems: [],
    unread: [],
    sources: [source],
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'x', uid: name } };
  const verdict = verdictFor(pod, { composed, spec: network.spec, seen: new Map(), problems: [] });
  return { name, isEnding: false, verdict, network };
}

const reportFor = (pods: readonly PodState[]) =>
  reportOf({ source, type: sourceTypeOf('PodConfig')!, pods, conflicts: [], expectedPods: 0, problems: [] }, 0);

describe('the status of an object', () => {
  it.each([1, 2])('with more pods of %i links than it has room for lists as many as fit, and says so', (links) => {
    const fit = mostListed / links;
    const pods = Array.from({ length: fit + 1 }, (_, i) => attached(`p${i}`, links));
    const { status } = reportFor(pods);
    expect(status['podConfigurations']).toHaveLength(fit);
    expect(status.conditions).toMatchObject([
      {
        reason: 'Configured',
        message: `${fit + 1} pods are as declared; the list has room for ${fit} of ${fit + 1} pods`,
      },
    ]);
    expect(reportFor(pods.slice(1)).status.conditions).toMatchObject([{ message: `${fit} pods are as declared` }]);
  });

  it('waits for a PodNetwork that does not say yet what the pod is to have', () => {
    const pod = attached('p', 1);
    const { spec } = pod.network!;
    const digest = digestOf({ ...spec, interfaces: [{ ...spec.interfaces[0]!, mtuBytes: 1400 }] });
    expect(reportFor([pod]).status['phase']).toBe('configured');
    expect(reportFor([{ ...pod, verdict: { ...pod.verdict, digest } }]).status['phase']).toBe('configuring');
  });
});
