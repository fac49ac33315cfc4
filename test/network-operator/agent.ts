/** An agent without a kernel: it answers each PodNetwork of its node as a perfect node would. */
import { type PodNetwork, podNetworkKind } from '@podloom/api';
import { type Client, createLog, isApiError, startCache, toTime } from '@podloom/kube';

export interface Agent {
  /** From now on it answers nothing, until it is resumed. */
  pause(): void;
  resume(): void;
}

/** Everything attached, what is not asked for gone. */
export function startAgent(
  client: Client,
  namespace: string,
  node: string,
  signal: AbortSignal,
): Agent & { ended: Promise<void> } {
  const log = createLog({ name: 'agent', level: 'silent' });
  const fieldSelector = `spec.nodeName=${node}`;
  const cache = startCache({ client, resource: podNetworkKind.resource, namespace, fieldSelector, log, signal });
  let isPaused = false;
  let pid = 1_000;
  const pids = new Map<string, number>();
  const pending = new Set<Promise<void>>();

  async function answer(network: PodNetwork): Promise<void> {
    const { name = '', generation, uid = '' } = network.metadata;
    if (network.status?.observedGeneration === generation) return;
    pids.set(uid, pids.get(uid) ?? (pid += 1));
    const { primary } = network.spec;
    const status = {
      observedGeneration: generation,
      podPid: pids.get(uid),
      interfaces: network.spec.interfaces.map(({ key, namePrefix, name, addresses, bridge }) => ({
        key,
        name: name ?? `${namePrefix}${pids.get(uid)}`,
        hostName: `h${namePrefix}${pids.get(uid)}`,
        addresses,
        bridgeDevice: bridge?.device,
        state: 'Attached',
        since: toTime(Date.now()),
      })),
      ...(primary && {
        primary: {
          before: { mtuBytes: 1450 },
          applied: {
            ...(primary.mtuBytes && { mtuBytes: primary.mtuBytes }),
            ...(primary.sysctls && { sysctls: primary.sysctls }),
          },
        },
      }),
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Attached',
          message: '',
          lastTransitionTime: toTime(Date.now()),
          observedGeneration: generation,
        },
      ],
    };
    try {
      await client.apply(podNetworkKind.resource, { metadata: { name, namespace, uid }, status } as never, {
        fieldManager: 'agent',
        namespace,
        subresource: 'status',
        force: true,
        signal,
      });
    } catch (error) {
      if (!signal.aborted && !isApiError(error)) throw error;
    }
  }
  const look = (network: PodNetwork | undefined): void => {
    if (!network || isPaused) return;
    const one = answer(network).finally(() => pending.delete(one));
    pending.add(one);
  };
  cache.subscribe(({ now }) => look(now));
  return {
    pause: () => void (isPaused = true),
    resume() {
      isPaused = false;
      cache.list().forEach(look);
    },
    ended: cache.ended.then(async () => void (await Promise.allSettled(pending))),
  };
}
