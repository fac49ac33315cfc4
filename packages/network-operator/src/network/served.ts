/** Which pods the operator serves: those of nodes that can have an agent, as long as they live. */
import type { PodNetwork } from '@podloom/api';
import type { Node, Pod } from '@podloom/kube';
import { isFinished } from './release.ts';

/**
 * A pod that is to have what its sources say, from the moment that it has a node: what it needs may be there before it runs. Not one that has ended,
 * nor one that is about to and has nothing yet.
 */
export function isServed(pod: Pod, network: PodNetwork | undefined): boolean {
  if (isFinished(pod) || !pod.spec?.nodeName) return false;
  return network?.spec.podUid === pod.metadata.uid || !pod.metadata.deletionTimestamp;
}

export const systemOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.['kubernetes.io/os'];

/** Agents run on Linux: where another system is named nobody would ever answer a PodNetwork. */
export const hasNoAgent = (node: Node | undefined): boolean => (systemOf(node) ?? 'linux') !== 'linux';
