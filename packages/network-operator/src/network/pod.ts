/**
 * From all objects that choose a pod to its one PodNetwork: compose from caches, see that each object has its finalizer, take addresses, write the
 * PodNetwork. In this order, so that whatever is written can be found again, and taken back, from what was written before.
 *
 * What goes is taken out of the PodNetwork first; its addresses are given back only when the agent has seen that, or when pod or node are no more.
 */
import type { KubeObject, PodNetwork, PodNetworkSpec } from '@podloom/api';
import {
  type Pod,
  type ReconcileContext,
  type Result,
  done,
  isSameJson,
  keyOf,
  objectKey,
  retryAfter,
} from '@podloom/kube';
import type { Problem } from '@podloom/network';
import { giveAddresses } from './addresses.ts';
import type { NetworkContext } from './context.ts';
import { isClean, isIdle, isObserved } from './pod-network.ts';
import { create, remove, specOf, update, withUnread } from './pod-network-writes.ts';
import { isRefusal, problemsOf, refusalsFor, refused } from './problems.ts';
import { isFinished, livingUid, releaseForGone, releaseUnneeded } from './release.ts';
import { hasNoAgent, isServed } from './served.ts';
import { keyOfSource } from './sources.ts';
import type { PodComposition } from './view.ts';
import { editionOf } from './verdicts.ts';

export async function reconcilePod(pod: Pod, context: NetworkContext, { signal }: ReconcileContext): Promise<Result> {
  const { caches, podNetworks } = context;
  const key = keyOf(pod);
  let network = podNetworks.get(key);
  if (network && network.spec.podUid !== pod.metadata.uid) {
    // The PodNetwork of the pod before this one; or of the one after it, of which only another leader has heard.
    if ((await livingUid(key, context, signal)) !== pod.metadata.uid) return done;
    await remove(network, context, signal);
    network = undefined;
  }
  await releaseForGone(key, pod.metadata.uid, context, signal);

  const node = caches.nodes.get(pod.spec?.nodeName ?? '');
  const nodeIsThere = node !== undefined;
  if (network && hasNoAgent(node)) {
    await remove(network, context, signal);
    network = undefined;
  }
  if (!isServed(pod, network) || (!network && !nodeIsThere)) {
    forget(pod, context);
    if (network) await remove(network, context, signal);
    if (isFinished(pod)) await releaseForGone(key, undefined, context, signal);
    return done;
  }

  const seen = new Map(context.view.choosing(pod).map((one) => [keyOfSource(one), editionOf(one)]));
  const composed = hasNoAgent(node) ? nothing : forPod(pod, network, context.view.compose(pod));
  using _ = context.holds.use(composed.sources);
  const judge = (spec: PodNetworkSpec, found: readonly Problem[]): void => {
    const problems = problemsOf(pod, composed, found, network, context);
    context.verdicts.judge(pod, { podUid: pod.metadata.uid ?? '', composed, spec, problems, seen });
  };
  // Said until it is over, and not anew at each try.
  const refusedBefore = (context.verdicts.of(pod)?.problems ?? []).filter(({ reason }) => reason === refused);
  const telling = async <T>(write: () => Promise<T>): Promise<T> => {
    try {
      return await write();
    } catch (error) {
      if (isRefusal(error)) judge(network?.spec ?? specOf(pod, composed), refusalsFor(composed, error));
      throw error;
    }
  };
  await telling(() => context.holds.ensure(composed.sources));
  const addressed = await telling(() => giveAddresses(pod, composed, network, context));
  const spec = specOf(pod, composed, withUnread(addressed, network, composed));
  const wanted = { spec, waiting: addressed.waiting };
  judge(spec, [...addressed.problems, ...refusedBefore]);

  const isOther = network ? !isSameJson(network.spec, spec) : !isIdle(spec);
  if (isOther) {
    await telling(() => (network ? update(network, spec, context, signal) : create(pod, spec, context, signal)));
  }
  if (refusedBefore.length > 0) judge(spec, addressed.problems);
  const later = addressed.retryMs === undefined ? done : retryAfter(addressed.retryMs, 'An address has to cool down');
  if (isOther) return later; // the agent's answer brings us back here
  if (network && isIdle(spec) && (isClean(network) || !nodeIsThere)) {
    await remove(network, context, signal);
    context.events.normal(pod, 'Detached', "Has no network besides the cluster's own any more");
    await releaseUnneeded(pod, undefined, wanted, context, signal);
  } else if (!network || isObserved(network) || !nodeIsThere) {
    await releaseUnneeded(pod, network, wanted, context, signal);
  }
  return later;
}

/** The pod is gone: so is its PodNetwork, and its addresses come back. */
export async function reconcileGonePod(
  { name, namespace = '' }: { readonly name: string; readonly namespace?: string | undefined },
  context: NetworkContext,
  { signal }: ReconcileContext,
): Promise<Result> {
  const key = objectKey(name, namespace);
  forget({ metadata: { name, namespace } }, context);
  const network = context.podNetworks.get(key);
  if (network) {
    if ((await livingUid(key, context, signal)) === network.spec.podUid) return done;
    await remove(network, context, signal);
  }
  await releaseForGone(key, undefined, context, signal);
  return done;
}

function forget(pod: Pick<KubeObject, 'metadata'>, { verdicts, waiting }: NetworkContext): void {
  verdicts.forget(pod);
  waiting.set(keyOf(pod), []);
}

const nothing: PodComposition = { interfaces: [], conflicts: [], problems: [], unread: [], sources: [] };

/** A pod that is about to end keeps what it has until then, as far as it is still asked for, and gets nothing new. */
function forPod(pod: Pod, network: PodNetwork | undefined, composed: PodComposition): PodComposition {
  if (!pod.metadata.deletionTimestamp) return composed;
  const has = new Set(network?.spec.interfaces.map(({ key }) => key));
  const { primary, ...rest } = composed;
  return {
    ...rest,
    ...(network?.spec.primary && primary ? { primary } : {}),
    interfaces: composed.interfaces.filter((one) => has.has(one.interface.key)),
  };
}
