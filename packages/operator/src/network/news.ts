/** Events: what is new since the last look at a pod, told to the pod's owner and to the owner of the object. What has been told is not repeated. */
import type { KubeObject } from '@podloom/api';
import { type Pod, keyOf, objectKey } from '@podloom/kube';
import type { NetworkContext } from './context.ts';
import { isAttached, isObserved, isPrimaryApplied } from './pod-network.ts';
import type { Verdict } from './verdicts.ts';

interface News {
  readonly ref: { readonly kind: string; readonly name: string };
  readonly reason: string;
  readonly message: string;
}

const newsOf = (verdict: Verdict | undefined): News[] => [
  ...(verdict?.problems ?? []),
  ...(verdict?.composed.conflicts ?? []).flatMap(({ loser, winner, reason, message }) => [
    { ref: loser, reason, message },
    { ref: winner, reason, message: `${loser.kind} ${loser.name} wants the same: ${message}` },
  ]),
];

const textOf = ({ ref, reason, message }: News): string => `${ref.kind} ${ref.name} ${reason} ${message}`;

export function tellNews(pod: Pod, old: Verdict | undefined, now: Verdict, { events, sources }: NetworkContext): void {
  const told = new Set(old?.podUid === now.podUid ? newsOf(old).map(textOf) : []);
  const namespace = pod.metadata.namespace ?? '';
  for (const one of newsOf(now).filter((news) => !told.has(textOf(news)))) {
    events.warning(pod, one.reason, one.message);
    const source: KubeObject | undefined = sources.get(one.ref.kind)?.get(objectKey(one.ref.name, namespace));
    if (source) events.warning(source, one.reason, `Pod ${pod.metadata.name}: ${one.message}`);
  }
}

/** Whether all that was composed for a pod is there, as its agent sees it. */
export function isComplete(pod: Pod, { composed, problems }: Verdict, { podNetworks }: NetworkContext): boolean {
  const network = podNetworks.get(keyOf(pod));
  const waits = problems.length > 0;
  if (!network || waits || !isObserved(network)) return false;
  return (
    composed.interfaces.every((one) => isAttached(network, one.interface)) &&
    (composed.primary === undefined || isPrimaryApplied(network))
  );
}
