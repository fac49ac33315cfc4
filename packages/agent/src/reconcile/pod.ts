/** One PodNetwork: find the pod, observe, plan, apply, report. Between observing and the last step nothing else runs. */
import {
  type PodInterfaceStatus,
  type PodNetwork,
  type PodNetworkStatus,
  type PrimaryLinkRecord,
  Unavailable,
} from '@podloom/api';
import {
  type Clock,
  type EventRecorder,
  type ObjectKey,
  type ObjectName,
  type Reconciler,
  type Result,
  done,
  isConditionTrue,
  keyOf,
  retry,
  retryAfter,
  setCondition,
} from '@podloom/kube';
import { type Netns, isNetlinkError } from '@podloom/netlink';
import {
  type LinkNames,
  type Observed,
  type PodPlan,
  type Step,
  chooseNames,
  interfaceOf,
  isOurs,
  planPod,
} from '@podloom/network';
import { type Outcome, applySteps } from '../apply/run.ts';
import { describeFailure } from '../apply/step.ts';
import type { PluginExecutor, Served } from '../cni/executor.ts';
import type { PodFinder, PodProcess } from '../cri/finder.ts';
import { type DriftGuard, contestedMs, driftIn } from '../drift/judge.ts';
import type { NodeView } from '../observe/node.ts';
import { observePod, wantsRoutes } from '../observe/pod.ts';
import { isLeaving } from './node.ts';
import type { Patience } from './patience.ts';
import type { Reporter } from './reporter.ts';
import type { ServedPod, ServedPods } from './served.ts';
import { type Failure, statusOf } from './status.ts';

export interface PodDeps {
  readonly node: Netns;
  /** Inode of the node's namespace: a pod in it is a pod of the host network. */
  readonly nodeInode: number | undefined;
  readonly view: NodeView;
  readonly finder: PodFinder;
  readonly served: ServedPods;
  readonly reporter: Reporter;
  readonly guard: DriftGuard;
  readonly patience: Patience;
  readonly events: Pick<EventRecorder, 'warning'>;
  readonly clock: Clock;
  /** What makes the interfaces that are not the kernel's to make. */
  readonly plugins: PluginExecutor;
  /** What primary links had, also of PodNetworks that are gone until that is seen to. */
  readonly remembered: Map<ObjectKey, Remembered>;
  /** Who could not be served as declared. */
  readonly failed: Set<ObjectKey>;
  /** As all PodNetworks of the node want it. */
  readonly bridgeMtu: (device: string) => number | undefined;
  /** The node should be tidied: something that may have been the last of its kind is gone. */
  readonly tidy: () => void;
  /** The kernel is as declared, all of it: steps that it took. */
  readonly attached: (key: ObjectKey, steps: number) => void;
  readonly countFailure: (reason: string) => void;
}

export interface Remembered {
  readonly podUid: string;
  readonly record: PrimaryLinkRecord;
}

/** A pod without sandbox is looked at when the runtime says that one came; this is for runtimes that say nothing. */
const sandboxRetryMs = 5_000;

/** Restoring one primary link, recording another, changing it, seeing that it holds, taking what another link gave up: each needs a look. */
const mostLooks = 5;

interface Pass {
  readonly status: PodNetworkStatus;
  readonly recordFirst: boolean;
  /**
   * The primary link was changed, perhaps back, and only another look can see which records are no longer needed; or something waits for what was given up.
   */
  readonly lookAgain: boolean;
  /** The pod was not served before. What is done in a second look is then not drift either. */
  readonly isNew: boolean;
  readonly error?: unknown;
  readonly retryAfterMs?: number | undefined;
}

export function podNetworkReconciler(deps: PodDeps): Reconciler<PodNetwork> {
  return async (network, { signal }): Promise<Result> => {
    const { podUid, interfaces, primary } = network.spec;
    const [key, { generation }] = [keyOf(network), network.metadata];
    const waitMs = deps.patience.leftMs(key, generation);
    if (waitMs > 0) return retryAfter(waitMs, 'The kernel refused it a moment ago');
    const former = deps.remembered.get(key);
    // Deleted by hand and composed again at once: the pod's link is still as the former one asked for.
    if (former?.podUid === podUid && !deps.reporter.current(network)) {
      await deps.reporter.report(network, { primary: former.record }, signal);
    }
    const find = async () => {
      const found = deps.finder.known(podUid) ?? (await deps.finder.find(podUid));
      return isStarting(found, deps.reporter.current(network)) ? undefined : found;
    };
    // Whatever the runtime takes to answer, others are not kept waiting for it.
    let process: PodProcess | undefined;
    try {
      process = await find();
    } catch (error) {
      // Without patience: when the runtime is back, whoever waits for it is looked at at once.
      await deps.reporter.report(network, unseen(network, error, deps), signal);
      return retry(error);
    }
    let pass = tryToAttach(network, process, deps);
    for (let looks = 1; looks < mostLooks && (pass.recordFirst || pass.lookAgain); looks += 1) {
      if (pass.recordFirst) {
        await deps.reporter.report(network, pass.status, signal);
        process = await find(); // writing took its time
      }
      pass = tryToAttach(network, process, deps, pass.isNew);
    }
    await deps.reporter.report(network, pass.status, signal);
    // After the kernel, and after its part was reported: a plugin takes as long as it likes.
    const plugins = await runPlugins(network, process, deps);
    if (plugins.isChanged) {
      pass = tryToAttach(network, deps.finder.known(podUid), deps, pass.isNew);
      await deps.reporter.report(network, pass.status, signal);
    }
    if (pass.error !== undefined) {
      deps.patience.failed(key, generation);
      return retry(toRetry(pass.error));
    }
    deps.patience.forget(key);
    if (pass.retryAfterMs !== undefined) return retryAfter(pass.retryAfterMs, 'A link is changed again and again');
    if (plugins.retryAfterMs !== undefined) return retryAfter(plugins.retryAfterMs, 'A CNI plugin failed');
    if (pass.recordFirst) return retryAfter(sandboxRetryMs, 'The primary link is not recorded yet');
    const isWaiting = !process && (interfaces.length > 0 || primary !== undefined || pass.status.primary !== undefined);
    return isWaiting ? retryAfter(sandboxRetryMs, 'The pod has no sandbox yet') : done;
  };
}

/** Nothing, where the pod asks for none and has none. The host's own network is nobody's to add to. */
function runPlugins(network: PodNetwork, process: PodProcess | undefined, deps: PodDeps): Promise<Served> {
  const pod = process?.inode === deps.nodeInode ? undefined : process;
  const netns = deps.served.get(keyOf(network))?.netns;
  return deps.plugins.serve(network, pod, () => new Set(netns?.link.list().map(({ name }) => name)));
}

/**
 * Links are named by the process of the first container. A PodNetwork may be there before it: until then, a pod that was never served waits for the
 * container as it waits for its sandbox.
 */
const isStarting = (process: PodProcess | undefined, seen: PodNetworkStatus | undefined): boolean =>
  process !== undefined && !process.hasContainer && seen?.podPid === undefined;

function tryToAttach(network: PodNetwork, process: PodProcess | undefined, deps: PodDeps, wasNew = false): Pass {
  try {
    return attach(network, process, deps, wasNew);
  } catch (error) {
    return { status: unseen(network, error, deps), recordFirst: false, lookAgain: false, isNew: wasNew, error };
  }
}

/** What could not even be looked at shows on the PodNetwork, too, beside what was known of it. */
function unseen(network: PodNetwork, error: unknown, deps: PodDeps): PodNetworkStatus {
  deps.failed.add(keyOf(network));
  const old = deps.reporter.current(network);
  const { reason, message } = describeFailure(error);
  const observedGeneration = network.metadata.generation ?? 0;
  const ready = {
    type: 'Ready',
    status: 'False',
    reason,
    message: message.slice(0, 4_096),
    observedGeneration,
  } as const;
  return { ...old, conditions: setCondition(old?.conditions, ready, deps.clock.now()) };
}

function attach(network: PodNetwork, process: PodProcess | undefined, deps: PodDeps, wasNew: boolean): Pass {
  const { node, view, clock, reporter } = deps;
  const key = keyOf(network);
  const old = reporter.current(network);
  const spec = isLeaving(network) ? { ...network.spec, interfaces: [], primary: undefined } : network.spec;
  const isHostNetwork = process !== undefined && process.inode === deps.nodeInode;
  const known = deps.served.get(key)?.process.inode;
  const pod = enter(key, network, isHostNetwork ? undefined : process, deps);

  const record = recordFor(pod, old?.primary);
  const pid = old?.podPid ?? process?.pid;
  const observed: Observed = { node: view.current(), pod: pod && observePod(pod.netns, spec, record) };
  const names = pod && pid !== undefined ? chooseNames({ spec, status: old, pid, observed }) : recordedNames(old);
  const { bridgeMtu } = deps;
  const desired = { namespace: network.metadata.namespace ?? '', spec, names, primaryRecord: record, bridgeMtu };
  const plan = planPod(desired, observed);

  const isNew = wasNew || (known === undefined ? !wasServed(pod, observed, record) : known !== pod?.process.inode);
  const judged = { key, network, old, steps: plan.steps, guard: deps.guard };
  const drift = isNew ? undefined : driftIn(judged);
  const heldMs = isNew ? 0 : contestedMs(judged);
  const steps = drift?.hold ? plan.steps.filter((step) => !drift.steps.includes(step)) : plan.steps;
  const outcome = applySteps(steps, { node, pod: pod?.netns });
  view.touchedBy(outcome.touched.get('node'));
  if (pod) whileItRuns(spec.podUid, deps, () => deps.served.listen(key));
  if (drift) warn(network, drift.hold ? 'Drift' : 'DriftRepaired', drift.message, deps);
  if (steps.some((step) => step.do === 'deleteLink' || isOtherMtu(step))) deps.tidy();

  const problems = problemsOf(plan, outcome, drift, isHostNetwork);
  const seenStatus = statusOf({
    network,
    old,
    plan,
    plugins: pluginStatuses(network, process, isHostNetwork, deps),
    ...problems,
    podPid: pod ? pid : old?.podPid,
    sandboxId: pod ? pod.process.sandboxId : old?.primary?.sandboxId,
    nowMs: clock.now(),
  });
  const status = old && heldMs > 0 ? old : seenStatus;
  tell(network, old, status, deps);
  if (status.interfaces?.some(({ state }) => state === 'Failed')) deps.failed.add(key);
  else deps.failed.delete(key);
  if (isConditionTrue(status.conditions, 'Ready')) deps.attached(key, steps.length);
  const primaryChanged = steps.some((step) => step.owner === 'primary');
  return {
    status,
    recordFirst: plan.recordFirst,
    lookAgain:
      outcome.errors.length === 0 && (primaryChanged || (plan.lookAgain && outcome.failed.size === 0 && !drift?.hold)),
    isNew,
    error: [...outcome.failed.values(), ...outcome.errors][0],
    retryAfterMs: drift?.retryAfterMs ?? (heldMs || undefined),
  };
}

function pluginStatuses(
  network: PodNetwork,
  process: PodProcess | undefined,
  isHostNetwork: boolean,
  { plugins }: PodDeps,
): PodInterfaceStatus[] {
  if (!isHostNetwork) return plugins.statuses(network, process);
  return plugins
    .statuses(network, undefined)
    .map(({ key, name }) => Object.assign({ key, name, state: 'Failed' } as const, hostNetwork));
}

const hostNetwork: Failure = {
  reason: 'HostNetwork',
  message: "The pod uses the node's own network; no network can be added to it",
};

/** What another sandbox's link had is not this one's to get back. Records that were written before they named the sandbox are of the one that there is. */
const recordFor = (pod: ServedPod | undefined, record: PrimaryLinkRecord | undefined): PrimaryLinkRecord | undefined =>
  pod && (record?.sandboxId ?? pod.process.sandboxId) !== pod.process.sandboxId ? undefined : record;

/**
 * An agent before this one had this very sandbox. The node's ends say nothing: those of a sandbox that is gone stay until the kernel finds the time. One
 * that lost all of its links meanwhile looks like a new one.
 */
const wasServed = (pod: ServedPod | undefined, seen: Observed, record: PrimaryLinkRecord | undefined): boolean =>
  pod !== undefined && (record?.sandboxId === pod.process.sandboxId || (seen.pod?.links ?? []).some(isOurs));

/** The pod's namespace, where it runs. */
function enter(
  key: ObjectKey,
  { spec }: PodNetwork,
  process: PodProcess | undefined,
  deps: PodDeps,
): ServedPod | undefined {
  if (process) {
    const ensure = () => deps.served.ensure(key, spec.podUid, process, wantsRoutes(spec));
    return whileItRuns(spec.podUid, deps, ensure);
  }
  deps.served.close(key);
  return undefined;
}

function whileItRuns<T>(podUid: string, { finder }: PodDeps, work: () => T): T {
  try {
    return work();
  } catch (error) {
    finder.forget(podUid);
    if (!isNetlinkError(error)) throw error;
    throw new Unavailable('POD_ENDED', 'The pod ended while it was looked at', { cause: error });
  }
}

/** Of a port: a bridge that does not follow by itself goes up when the node is tidied. */
const isOtherMtu = (step: Step): boolean =>
  step.do === 'setLink' &&
  step.in === 'node' &&
  interfaceOf(step.owner) !== undefined &&
  step.was?.mtuBytes !== undefined;

const recordedNames = (status: PodNetworkStatus | undefined): Map<string, LinkNames> =>
  new Map(
    (status?.interfaces ?? []).flatMap(({ key, name, hostName = '' }) =>
      name ? [[key, { pod: name, node: hostName }] as const] : [],
    ),
  );

function problemsOf(
  plan: PodPlan,
  { failed, errors }: Outcome,
  drift: ReturnType<typeof driftIn>,
  isHostNetwork: boolean,
): { readonly failed: Map<string, Failure>; readonly failures: Failure[] } {
  const byKey = new Map([...failed].map(([key, error]) => [key, describeFailure(error)]));
  const failures = errors.map(describeFailure);
  if (isHostNetwork) {
    for (const { key } of plan.interfaces) byKey.set(key, hostNetwork);
    if (plan.primary) failures.push(hostNetwork);
  }
  if (drift?.hold) {
    const problem = { reason: drift.reason, message: drift.message };
    const keys = new Set(drift.steps.flatMap(({ owner }) => interfaceOf(owner) ?? []));
    for (const key of keys) byKey.set(key, problem);
    if (drift.steps.some(({ owner }) => interfaceOf(owner) === undefined)) failures.push(problem);
  }
  return { failed: byKey, failures };
}

/** Where the pod's owner looks, and where an administrator does. */
function warn(network: PodNetwork, reason: string, message: string, { events }: PodDeps): void {
  const { name, namespace } = network.metadata;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid: network.spec.podUid } };
  for (const object of [network, pod]) events.warning(object, reason, message);
}

/** Failures that were not there before, as Events on the PodNetwork and on the pod. */
function tell(network: PodNetwork, old: PodNetworkStatus | undefined, now: PodNetworkStatus, deps: PodDeps): void {
  for (const { key, state, reason = 'Failed', message = '' } of now.interfaces ?? []) {
    if (state !== 'Failed') continue;
    const known = old?.interfaces?.find((entry) => entry.key === key);
    if (known?.state === state && known.reason === reason && known.message === message) continue;
    deps.countFailure(reason);
    warn(network, reason, `${key}: ${message}`, deps);
  }
}

/** What the kernel refused may work when something changed that we do not hear of: all of it is tried again. */
function toRetry(error: unknown): unknown {
  if (!isNetlinkError(error)) return error;
  return new Unavailable('KERNEL_REFUSED', error.message, { cause: error });
}

/** The PodNetwork is gone. Its links are the node's to tidy; the primary link gets back what it had. */
export function releasePod(deps: PodDeps): Reconciler<ObjectName> {
  return async ({ name, namespace }, { log }) => {
    const key = keyOf({ metadata: { name, ...(namespace === undefined ? {} : { namespace }) } });
    const pod = deps.served.get(key);
    const record = recordFor(pod, deps.remembered.get(key)?.record);
    if (pod && record) {
      const spec = { podUid: pod.podUid, interfaces: [], primary: undefined };
      const observed = { node: deps.view.current(), pod: observePod(pod.netns, spec, record) };
      const plan = planPod({ namespace: namespace ?? '', spec, names: new Map(), primaryRecord: record }, observed);
      const outcome = applySteps(plan.steps, { node: deps.node, pod: pod.netns });
      deps.view.touchedBy(outcome.touched.get('node'));
      const [error] = outcome.errors;
      if (error !== undefined) return retry(toRetry(error));
      log.info({ pod: key }, 'Restored the primary link of a Pod');
    }
    // Before its namespace is let go of: a plugin may still find it there.
    const plugins = await deps.plugins.release(key);
    if (plugins.retryAfterMs !== undefined) return retryAfter(plugins.retryAfterMs, 'A CNI plugin failed');
    deps.served.close(key);
    deps.plugins.forget(key);
    deps.reporter.forget(key);
    deps.failed.delete(key);
    deps.patience.forget(key);
    deps.guard.forget(key);
    deps.remembered.delete(key);
    deps.tidy();
    return done;
  };
}
