/** Events: what is new since the last look at a pod, told to the pod's owner and to the owner of the object. What has been told is not repeated. */
import type { KubeObject, PodNetwork } from '@podloom/api';
import { type Metrics, type Pod, keyOf, objectKey } from '@podloom/kube';
import type { ObjectRef } from '@podloom/network';
import type { NetworkContext } from './context.ts';
import { isAttached, isObserved, isPrimaryApplied } from './pod-network.ts';
import type { Verdict } from './verdicts.ts';

interface News {
  readonly ref: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>;
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

export function tellNews(
  pod: Pod,
  old: Verdict | undefined,
  now: Verdict,
  { events, sources }: Pick<NetworkContext, 'events' | 'sources'>,
): void {
  const told = new Set(old?.podUid === now.podUid ? newsOf(old).map(textOf) : []);
  for (const one of newsOf(now).filter((news) => !told.has(textOf(news)))) {
    events.warning(pod, one.reason, one.message);
    const source: KubeObject | undefined = sources.get(one.ref.kind)?.get(objectKey(one.ref.name, one.ref.namespace));
    const whose = `Pod ${pod.metadata.name}`;
    if (source) {
      events.warning(source, one.reason, one.message.startsWith(whose) ? one.message : `${whose}: ${one.message}`);
    }
  }
}

/** How long it took until a pod that runs had what is asked for. */
export interface Progress {
  /** Called with each verdict. */
  follow(pod: Pod, verdict: Verdict): void;
  forget(pod: Pick<KubeObject, 'metadata'>): void;
}

/** Who was complete at the first look, as everyone after a restart, is no news. */
export function progress(
  context: Pick<NetworkContext, 'podNetworks' | 'events' | 'clock'>,
  metrics: Metrics,
): Progress {
  const took = metrics.histogram(
    'podloom_attach_seconds',
    'How long does it take from when a pod runs and something is asked for until it has it?',
  );
  /** Undefined of a pod that does not run yet. */
  const sinceMs = new Map<string, number | undefined>();
  return {
    follow(pod, verdict) {
      const key = keyOf(pod);
      const network = context.podNetworks.get(key);
      const { interfaces, primary } = verdict.composed;
      const isNothing = interfaces.length === 0 && primary === undefined;
      if (isNothing) sinceMs.delete(key);
      else if (!isComplete(network, verdict)) {
        // Until it runs, its images are being pulled.
        const isRunning = pod.status?.phase === 'Running';
        sinceMs.set(key, isRunning ? (sinceMs.get(key) ?? context.clock.monotonicMs()) : undefined);
      } else if (sinceMs.has(key)) {
        const nowMs = context.clock.monotonicMs();
        took.observe({}, (nowMs - (sinceMs.get(key) ?? nowMs)) / 1_000);
        sinceMs.delete(key);
        const names = (network?.status?.interfaces ?? []).flatMap(({ name, addresses }) =>
          [name, ...(addresses ?? [])].join(' '),
        );
        context.events.normal(
          pod,
          'Attached',
          names.length > 0 ? `Has ${names.join(', ')}` : 'The primary link is as asked for',
        );
      }
    },
    forget: (pod) => void sinceMs.delete(keyOf(pod)),
  };
}

/** Whether all that was composed for a pod is there, as its agent sees it. */
function isComplete(network: PodNetwork | undefined, { composed, problems }: Verdict): boolean {
  if (!network || problems.length > 0 || !isObserved(network)) return false;
  return (
    composed.interfaces.every((one) => isAttached(network, one.interface)) &&
    (composed.primary === undefined || isPrimaryApplied(network))
  );
}
