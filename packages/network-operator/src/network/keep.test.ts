/** What an operator remembers of each pod. The fields are spelled out: who adds one says here that it is read, and by that what it costs. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubeObject } from '@podloom/api';
import { describe, expect, it } from 'vitest';
import { keepNode, keepPod, keepPodNetwork } from './keep.ts';
import { clutteredNode, clutteredPod, clutteredPodNetwork } from './testing/cluttered.ts';

/** Paths of everything that has a value; of a list the first entry. */
function paths(value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [at];
  if (Array.isArray(value)) return value.length === 0 ? [`${at}[]`] : paths(value[0], `${at}[]`);
  return Object.entries(value).flatMap(([key, inner]) => paths(inner, at === '' ? key : `${at}.${key}`));
}
const metadata = ['name', 'uid', 'resourceVersion', 'creationTimestamp', 'namespace', 'deletionTimestamp'];
const inMetadata = (...more: string[]): string[] => [...metadata, ...more].map((key) => `metadata.${key}`);
const kept = (object: KubeObject): string[] => paths(object).filter((path) => !path.startsWith('spec.'));

describe('of many objects the operator keeps what is read', () => {
  it('of a PodNetwork: the spec, and what the agent says of links, primary link and readiness', () => {
    const whole = clutteredPodNetwork(1);
    const { spec } = keepPodNetwork(whole);
    expect(spec).toEqual(whole.spec);
    expect(kept(keepPodNetwork(whole)).toSorted()).toEqual(
      [
        'apiVersion',
        'kind',
        ...inMetadata('annotations.podnetwork.opdev.io/leaving', 'generation'),
        'status.observedGeneration',
        ...['type', 'status', 'reason', 'message', 'lastTransitionTime', 'observedGeneration'].map(
          (key) => `status.conditions[].${key}`,
        ),
        ...['key', 'name', 'hostName', 'addresses[]', 'bridgeDevice', 'state', 'reason', 'message'].map(
          (key) => `status.interfaces[].${key}`,
        ),
        'status.primary.interfaceName',
        'status.primary.before.mtuBytes',
      ].toSorted(),
    );
  });

  it('of a pod: labels, node and phase', () => {
    expect(paths(keepPod(clutteredPod(1))).toSorted()).toEqual(
      [
        'apiVersion',
        'kind',
        ...inMetadata('labels.podconfig'),
        'spec.containers[]',
        'spec.nodeName',
        'spec.hostNetwork',
        'status.phase',
      ].toSorted(),
    );
  });

  it('of a node: labels, ranges and addresses', () => {
    expect(kept(keepNode(clutteredNode())).toSorted()).toEqual(
      [
        'apiVersion',
        'kind',
        ...inMetadata('labels.kubernetes.io/os').filter((path) => !/namespace|deletion/.test(path)),
        'status.addresses[].type',
        'status.addresses[].address',
      ].toSorted(),
    );
  });
});

it('many pods with their PodNetworks take less than half of what the objects would', async () => {
  const program = join(import.meta.dirname, 'testing/memory.ts');
  const measure = async (what: 'whole' | 'kept'): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, what, '4000']);
    return Number(stdout.split(' ')[0]);
  };
  const [whole, kept] = await Promise.all([measure('whole'), measure('kept')]);
  expect(whole).toBeGreaterThan(20);
  expect(kept).toBeLessThan(whole / 2);
});
