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
import { type Wanted, isFinished, livingUid, releaseForGone, releaseUnneeded } from './release.ts';
import { hasNoAgent, isServed } from './served.ts';
import { keyOfSource } from './sources.ts';
import type { PodComposition } from './view.ts';
import { type Verdict, editionOf, verdictFor } from './verdicts.ts';

export async function reconcilePod(pod: Pod, context: NetworkContext, { signal }: ReconcileContext): Promise<Result> {
  const key = keyOf(pod);
  const found = context.podNetworks.get(key);
  const isForeign = found !== undefined && found.spec.podUid !== pod.metadata.uid;
  if (isForeign) {
    // The PodNetwork of the pod before this one; or of the one after it, of which only another leader has heard.
    if ((await livingUid(key, context, signal)) !== pod.metadata.uid) return done;
    await remove(found, context, signal);
  }
  await releaseForGone(key, pod.metadata.uid, context, signal);
  const node = context.caches.nodes.get(pod.spec?.nodeName ?? '');
  const isUnanswered = found !== undefined && !isForeign && hasNoAgent(node);
  if (isUnanswered) await remove(found, context, signal);

  const network = isForeign || isUnanswered ? undefined : found;
  if (isServed(pod, network) && (network || node)) {
    const composed = hasNoAgent(node) ? nothing : forPod(pod, network, context.view.compose(pod, network));
    const seen = new Map(context.view.choosing(pod).map((one) => [keyOfSource(one), editionOf(one)]));
    return await serve({ pod, network, seen, composed, nodeIsThere: node !== undefined, context, signal });
  }
  forget(pod, context);
  if (network) await remove(network, context, signal);
  if (isFinished(pod)) await releaseForGone(key, undefined, context, signal);
  return done;
}

/** One look at a pod that is served. */
interface Look {
  readonly pod: Pod;
  /** As it is before this look. */
  readonly network: PodNetwork | undefined;
  /** The objects that choose it, in the edition from which it is composed. */
  readonly seen: Verdict['seen'];
  readonly composed: PodComposition;
  readonly nodeIsThere: boolean;
  readonly context: NetworkContext;
  readonly signal: AbortSignal;
}

async function serve(look: Look): Promise<Result> {
  const { pod, network, composed, context, signal } = look;
  using _ = context.holds.use(composed.sources);
  // Said until it is over, and not anew at each try.
  const refusedBefore = (context.verdicts.of(pod)?.problems ?? []).filter(({ reason }) => reason === refused);
  await telling(look, () => context.holds.ensure(composed.sources));
  const addressed = await telling(look, () => giveAddresses(pod, composed, network, context));
  const spec = specOf(pod, composed, withUnread(addressed, network, composed));
  judge(look, spec, [...addressed.problems, ...refusedBefore]);

  const isOther = network ? !isSameJson(network.spec, spec) : !isIdle(spec);
  if (isOther) {
    await telling(look, () => (network ? update(network, spec, context, signal) : create(pod, spec, context, signal)));
  }
  if (refusedBefore.length > 0) judge(look, spec, addressed.problems);
  // After a write, the agent's answer brings us back here.
  if (!isOther) await takeBack(look, { spec, waiting: addressed.waiting });
  return addressed.retryMs === undefined ? done : retryAfter(addressed.retryMs, 'An address has to cool down');
}

/** Notes what was found for the pod: its objects report it. */
function judge(look: Look, spec: PodNetworkSpec, found: readonly Problem[]): void {
  const { pod, seen, composed, network, context } = look;
  const problems = problemsOf(pod, composed, found, network, context);
  context.verdicts.judge(pod, verdictFor(pod, { composed, spec, problems, seen }));
}

/** What the API server refuses is said by the objects, too: nobody would see it in our log. */
async function telling<T>(look: Look, write: () => Promise<T>): Promise<T> {
  const { pod, network, composed } = look;
  try {
    return await write();
  } catch (error) {
    if (isRefusal(error)) judge(look, network?.spec ?? specOf(pod, composed), refusalsFor(composed, error));
    throw error;
  }
}

/** What the pod does not need any more, as far as its agent has answered. */
async function takeBack({ pod, network, nodeIsThere, context, signal }: Look, wanted: Wanted): Promise<void> {
  if (network && isIdle(wanted.spec) && (isClean(network) || !nodeIsThere)) {
    await remove(network, context, signal);
    context.events.normal(pod, 'Detached', "Has no network besides the cluster's own any more");
    await releaseUnneeded(pod, undefined, wanted, context, signal);
  } else if (!network || isObserved(network) || !nodeIsThere) {
    await releaseUnneeded(pod, network, wanted, context, signal);
  }
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
