/** What keeps objects from having in a pod what they ask for: found when composing, by the allocator, by the API server, or by the pod's agent. */
import type { PodInterface, PodNetwork, PodloomError } from '@podloom/api';
import { type Node, type Pod, findCondition, isAlreadyExists, isApiError, isForbidden } from '@podloom/kube';
import { type ObjectRef, type Problem, refOf } from '@podloom/network';
import type { NetworkContext } from './context.ts';
import { isObserved, isPrimaryApplied, isWaitingFor } from './pod-network.ts';
import { hasNoAgent, systemOf } from './served.ts';
import { inNamespace } from './sources.ts';
import type { PodComposition } from './view.ts';

export function problemsOf(
  pod: Pod,
  composed: PodComposition,
  addressing: readonly Problem[],
  network: PodNetwork | undefined,
  { view, caches }: NetworkContext,
): Problem[] {
  const why = whyNothing(pod, caches.nodes.get(pod.spec?.nodeName ?? ''));
  const unserved: Problem[] = why ? view.choosing(pod).map((source) => Object.assign({ ref: refOf(source) }, why)) : [];
  return [...unserved, ...composed.problems, ...addressing, ...failuresOf(pod, network)];
}

/** Why the pod can have no network at all. */
function whyNothing({ metadata: { name }, spec }: Pod, node: Node | undefined): Omit<Problem, 'ref'> | undefined {
  if (hasNoAgent(node)) {
    const message = `Pod ${name} is on node ${spec?.nodeName}, which runs ${systemOf(node)}: Podloom serves nodes with Linux; have the pod placed on one, or choose other pods`;
    return { reason: 'NodeUnsupported', message };
  }
  if (!spec?.hostNetwork) return undefined;
  return {
    reason: 'HostNetwork',
    message: `Pod ${name} uses the network of its node and has none of its own`,
  };
}

export const refused = 'ApiRefused';

/** The API server will not have what we write: too much for one object, over a quota. Nobody would see it in our log. */
export const isRefusal = (error: unknown): error is PodloomError =>
  isForbidden(error) || (isApiError(error) && error.retry === 'whenChanged' && !isAlreadyExists(error));

export const refusalsFor = ({ sources }: PodComposition, { message }: PodloomError): Problem[] =>
  sources.map((source) => ({ ref: refOf(source), reason: refused, message }));

/** Reasons of an agent that has not finished, as opposed to one that failed. */
const unfinished = new Set(['Waiting', 'PodNotRunning']);

/** What the agent tried and could not do. */
function failuresOf(pod: Pod, network: PodNetwork | undefined): Problem[] {
  if (!network || !isObserved(network)) return [];
  const { interfaces, primary } = network.spec;
  const here = (ref: PodInterface['source']): ObjectRef => inNamespace(ref, network.metadata.namespace ?? '');
  const sources = new Map(interfaces.map(({ key, source }) => [key, here(source)]));
  const problem = (ref: ObjectRef, reason = 'Failed', message = 'no reason given'): Problem => ({
    ref,
    reason,
    message: `Pod ${pod.metadata.name}: ${message}`,
  });
  const failed = (network.status?.interfaces ?? []).flatMap(({ key, state, reason, message }) => {
    const ref = sources.get(key);
    return state === 'Failed' && ref ? [problem(ref, reason, message)] : [];
  });
  const why = network.status?.primary?.state === 'Failed' ? network.status.primary : primaryGuess(network, failed);
  return [
    ...failed,
    ...(why && primary ? primary.sources.map((ref) => problem(here(ref), why.reason, why.message)) : []),
  ];
}

/** Of agents that do not say what is wrong with the primary link: what keeps it is said for the pod as a whole. */
function primaryGuess(
  network: PodNetwork,
  failed: readonly Problem[],
): { readonly reason: string; readonly message: string } | undefined {
  const ready = findCondition(network.status?.conditions, 'Ready');
  if (failed.length > 0 || !network.spec.primary || isPrimaryApplied(network)) return undefined;
  if (ready?.status !== 'False' || unfinished.has(ready.reason) || isWaitingFor(network, ready.reason))
    return undefined;
  return ready;
}
