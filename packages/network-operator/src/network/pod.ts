/**
 * From all objects that choose a pod to its one PodNetwork: compose from caches, see that each object has its finalizer, take addresses, write the
 * PodNetwork. In this order, so that whatever is written can be found again, and taken back, from what was written before.
 *
 * What goes is taken out of the PodNetwork first; its addresses are given back only when the agent has seen that, or when pod or node are no more.
 */
import {
  type KubeObject,
  type PodInterface,
  type PodNetwork,
  type PodNetworkSpec,
  type PodloomError,
  nodeLabel,
  parseIp,
  podNetworkKind,
  podNetworkRoom,
} from '@podloom/api';
import {
  type Node,
  type Pod,
  type ReconcileContext,
  type Result,
  done,
  findCondition,
  isAlreadyExists,
  isApiError,
  isForbidden,
  isSameJson,
  keyOf,
  objectKey,
  retryAfter,
  unlessGone,
} from '@podloom/kube';
import {
  type AddressRequest,
  type AllocationResult,
  type ComposedInterface,
  type ObjectRef,
  type PoolRequest,
  type Problem,
  coolDownMs,
  networkOf,
  refOf,
  withAddresses,
} from '@podloom/network';
import type { NetworkContext } from './context.ts';
import { isClean, isIdle, isObserved, isPrimaryApplied, isWaitingFor, withSpec } from './pod-network.ts';
import { type Wanted, isFinished, isRequested, livingUid, releaseForGone, releaseUnneeded } from './release.ts';
import { inNamespace, keyOfSource } from './sources.ts';
import type { PodComposition } from './view.ts';
import { editionOf } from './verdicts.ts';

const resource = podNetworkKind.resource;

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
const hasNoAgent = (node: Node | undefined): boolean => (systemOf(node) ?? 'linux') !== 'linux';

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

interface Addressed {
  readonly interfaces: readonly PodInterface[];
  readonly problems: readonly Problem[];
  readonly waiting: Wanted['waiting'];
  readonly retryMs?: number | undefined;
}

/** An interface that cannot have all its addresses is left out whole; the others go on. */
export async function giveAddresses(
  pod: Pod,
  { interfaces }: Pick<PodComposition, 'interfaces'>,
  network: PodNetwork | undefined,
  context: Pick<NetworkContext, 'allocator' | 'clock' | 'waiting'>,
): Promise<Addressed> {
  const outcomes = await Promise.all(interfaces.map((one) => giveTo(pod, one, network, context)));
  const lacking = outcomes.filter(({ problem }) => problem !== undefined);
  context.waiting.set(
    keyOf(pod),
    lacking.map(({ composed }) => composed),
  );
  const ends = lacking.flatMap(({ coolUntilMs }) => coolUntilMs ?? []);
  return {
    interfaces: outcomes.flatMap(({ link }) => link ?? []),
    problems: lacking.flatMap(({ problem }) => problem ?? []),
    waiting: new Map(lacking.map(({ composed, asked }) => [composed.interface.key, asked])),
    // A moment more, because time in a pool is compared by who reads it next.
    ...(ends.length === 0
      ? {}
      : { retryMs: Math.min(coolDownMs, Math.max(0, Math.min(...ends) - context.clock.now()) + 1) }),
  };
}

async function giveTo(
  pod: Pod,
  composed: ComposedInterface,
  network: PodNetwork | undefined,
  { allocator }: Pick<NetworkContext, 'allocator'>,
): Promise<{
  composed: ComposedInterface;
  asked: readonly AddressRequest[];
  link?: PodInterface;
  problem?: Problem;
  coolUntilMs?: number | undefined;
}> {
  const { name: podName = '', uid: podUid = '', namespace = '' } = pod.metadata;
  const { key: interfaceKey, source } = composed.interface;
  const before = network?.spec.interfaces.find(({ key }) => key === interfaceKey);
  // On another network the same address is another one.
  const has = before && networkOf(before) === networkOf(composed.interface) ? before.addresses : [];
  const give = async (range: AddressRequest): Promise<AllocationResult> => {
    const request: PoolRequest = { podName, podUid, interfaceKey, nodeName: pod.spec?.nodeName };
    const kept = has.find((one) => isRequested(one.split('/')[0] ?? '', range));
    const address = range.address ?? kept?.split('/')[0];
    if (address === undefined) return await allocator.allocate(namespace, range, request);
    // Most looks at a pod change nothing, and need not wait for those that do. The prefix is the range's, which may have grown.
    if (kept !== undefined && allocator.has(namespace, range, { ...request, address })) {
      return { address: `${address}/${range.cidr.split('/')[1]}` };
    }
    // What it has already stays, even if the pool was lost.
    const result = await allocator.allocate(namespace, range, { ...request, address, hasIt: kept !== undefined });
    return 'failed' in result && range.address === undefined
      ? await allocator.allocate(namespace, range, request)
      : result;
  };
  // One after the other and in everybody's order: of two pods that want the same two, neither has the one that the other lacks.
  const given = new Map<AddressRequest, string>();
  const order = composed.requests.toSorted(byAddress);
  for (const [i, range] of order.entries()) {
    const result = await give(range);
    if ('failed' in result) {
      const { failed: reason, message, coolUntilMs } = result;
      // What it has of those that come later is given back: another may have the first and wait for it.
      return { composed, asked: order.slice(0, i + 1), problem: { ref: source, reason, message }, coolUntilMs };
    }
    given.set(range, result.address);
  }
  const addresses = composed.requests.flatMap((range) => given.get(range) ?? []);
  return { composed, asked: order, link: withAddresses(composed, addresses) };
}

/** By family, then address, or else that of the range. */
function byAddress(a: AddressRequest, b: AddressRequest): number {
  const [x, y] = [placeOf(a), placeOf(b)];
  return x.family - y.family || Number(x.value - y.value);
}
const placeOf = ({ address, cidr }: AddressRequest): ReturnType<typeof parseIp> =>
  parseIp(address ?? cidr.split('/')[0] ?? '');

function problemsOf(
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

const refused = 'ApiRefused';

/** The API server will not have what we write: too much for one object, over a quota. Nobody would see it in our log. */
export const isRefusal = (error: unknown): error is PodloomError =>
  isForbidden(error) || (isApiError(error) && error.retry === 'whenChanged' && !isAlreadyExists(error));

const refusalsFor = ({ sources }: PodComposition, { message }: PodloomError): Problem[] =>
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

/** An annotation that cannot be read changes nothing: the pod keeps what it has of the objects that it named in it. */
export function withUnread<A extends Pick<Addressed, 'interfaces'>>(
  addressed: A,
  network: PodNetwork | undefined,
  { unread }: Pick<PodComposition, 'unread'>,
): A {
  const kept = (network?.spec.interfaces ?? []).filter(({ source }) => unread.includes(source.kind));
  return { ...addressed, interfaces: [...addressed.interfaces, ...kept] };
}

function specOf(
  pod: Pod,
  { primary, conflicts, problems: refused }: PodComposition,
  { interfaces, problems }: Pick<Addressed, 'interfaces' | 'problems'> = { interfaces: [], problems: [] },
): PodNetworkSpec {
  const lost = conflicts.map(({ loser: ref, reason, message }) => ({ ref, reason, message }));
  const waiting = [...lost, ...refused, ...problems]
    .slice(0, podNetworkRoom.waiting)
    .map(({ ref: source, reason, message }) => ({ source, reason, message: message.slice(0, 1_024) }));
  return {
    podUid: pod.metadata.uid ?? '',
    nodeName: pod.spec?.nodeName ?? '',
    interfaces: [...interfaces],
    ...(primary === undefined ? {} : { primary }),
    ...(waiting.length === 0 ? {} : { waiting }),
  };
}

async function create(
  pod: Pod,
  spec: PodNetworkSpec,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata } = pod;
  const { name = '', namespace, uid = '' } = metadata;
  const owner = { apiVersion, kind, name, uid };
  const draft = {
    metadata: { name, namespace, labels: { [nodeLabel]: spec.nodeName }, ownerReferences: [owner] },
    spec,
  };
  try {
    podNetworks.wrote(await client.create(resource, draft, { namespace, signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    // Another leader's last word, of which the cache has not heard: its arrival brings us back here.
    podNetworks.wrote(await client.get(resource, name, { namespace, signal }));
    throw error;
  }
}

async function update(
  network: PodNetwork,
  spec: PodNetworkSpec,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { namespace } = network.metadata;
  podNetworks.wrote(await client.update(resource, withSpec(network, spec), { namespace, signal }));
}

async function remove(
  network: PodNetwork,
  { client, podNetworks }: NetworkContext,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', namespace, uid } = network.metadata;
  await unlessGone(() => client.delete(resource, name, { namespace, uid, signal }));
  podNetworks.deleted(network);
}
