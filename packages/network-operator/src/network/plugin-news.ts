/** Events on a pod about its interfaces that CNI plugins make, under the names that the multi-network world knows: told when the agent has said so. */
import type { PodInterfaceStatus, PodNetwork } from '@podloom/api';
import type { EventRecorder } from '@podloom/kube';
import { isByPlugin, sourceOfKey } from '@podloom/network';

export interface PluginNews {
  readonly kind: 'normal' | 'warning';
  readonly reason: 'AddedInterface' | 'RemovedInterface' | 'FailedAddingInterface' | 'FailedRemovingInterface';
  readonly message: string;
}

/** Between two looks of the agent at the same pod. What was there when we began to look is no news. */
export function pluginNews(old: PodNetwork | undefined, now: PodNetwork | undefined): PluginNews[] {
  if (!old || (now && now.spec.podUid !== old.spec.podUid)) return [];
  const { namespace = '' } = old.metadata;
  const before = statusesOf(old);
  const after = statusesOf(now);
  const changed = [...after].flatMap(([key, status]) => newsOf(status, before.get(key), namespace) ?? []);
  const gone = [...before.values()].filter(({ key, state }) => state !== 'Failed' && !after.has(key));
  return [...changed, ...gone.map((one) => removed(one, namespace))];
}

export function tellPluginNews(
  pod: Parameters<EventRecorder['normal']>[0],
  news: readonly PluginNews[],
  events: EventRecorder,
): void {
  for (const { kind, reason, message } of news) events[kind](pod, reason, message);
}

const statusesOf = (network: PodNetwork | undefined): ReadonlyMap<string, PodInterfaceStatus> =>
  new Map((network?.status?.interfaces ?? []).filter(({ key }) => isByPlugin(key)).map((one) => [one.key, one]));

function newsOf(
  now: PodInterfaceStatus,
  before: PodInterfaceStatus | undefined,
  namespace: string,
): PluginNews | undefined {
  const what = `${now.name ?? 'an interface'} from ${networkOf(now, namespace)}`;
  if (now.state === 'Attached' && before?.state !== 'Attached') {
    const addresses = (now.addresses ?? []).join(', ');
    return { kind: 'normal', reason: 'AddedInterface', message: `Add ${what}${addresses && ` with ${addresses}`}` };
  }
  const isSame = before?.state === 'Failed' && before.message === now.message;
  if (now.state !== 'Failed' || isSame) return undefined;
  const reason = before?.state === 'Removing' ? 'FailedRemovingInterface' : 'FailedAddingInterface';
  return { kind: 'warning', reason, message: `${what}: ${now.message ?? now.reason ?? 'no reason given'}` };
}

const removed = (one: PodInterfaceStatus, namespace: string): PluginNews => ({
  kind: 'normal',
  reason: 'RemovedInterface',
  message: `Remove ${one.name ?? 'an interface'} of ${networkOf(one, namespace)}`,
});

function networkOf({ key }: PodInterfaceStatus, podNamespace: string): string {
  const { namespace, name } = sourceOfKey(key, podNamespace);
  return `${namespace}/${name}`;
}
