/** Wires the agent of one node: the PodNetworks of the node, the container runtime, the kernel. No logic here. */
import { type PodNetwork, podNetworkKind } from '@podloom/api';
import {
  type Client,
  type Clock,
  type Log,
  type Metrics,
  type ObjectKey,
  type ServerOptions,
  controller,
  counted,
  delay,
  dependsOn,
  keyOf,
  knocks,
  startCache,
  startEvents,
  startServer,
  systemClock,
  telling,
} from '@podloom/kube';
import { type Netns, monitor, open } from '@podloom/netlink';
import { recordIn } from '@podloom/network';
import { fstatSync } from 'node:fs';
import { executorIn } from './cni/node.ts';
import { type CriClient, connectCri } from './cri/client.ts';
import { podFinder } from './cri/finder.ts';
import { followRuntime } from './cri/follow.ts';
import { findCriSocket } from './cri/socket.ts';
import { driftGuard } from './drift/judge.ts';
import { driftListener, nodeName as nodeKey, nodeTopics } from './drift/listener.ts';
import { agentMetrics } from './metrics.ts';
import { nodeView } from './observe/node.ts';
import { bridgeMtu, tidyNode } from './reconcile/node.ts';
import { patience } from './reconcile/patience.ts';
import { type PodDeps, type Remembered, podNetworkReconciler, releasePod } from './reconcile/pod.ts';
import { statusReporter } from './reconcile/reporter.ts';
import { servedPods } from './reconcile/served.ts';
import type { AgentSettings } from './settings.ts';

export interface AgentDeps {
  readonly client: Client;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics: Metrics;
  readonly clock?: Clock | undefined;
  /** For tests: a namespace that stands for the node's. Left out, the agent's own, which is the node's where it runs with host network. */
  readonly node?: Netns | undefined;
  /** For tests. Left out, the runtime at `criSocket`. */
  readonly cri?: CriClient | undefined;
}

/**
 * So many that no pod waits for the status of another to be written: only writing takes time, and the kernel's part of a reconcile is never
 * interrupted by another.
 */
const concurrency = 256;

/** So long an agent may take to end. */
const handOverMs = 30_000;

/** Serves the node until the signal aborts. Links stay as they are: an agent that ends, or is killed, takes nothing away. */
export async function runAgent(settings: AgentSettings, deps: AgentDeps): Promise<void> {
  const { metrics, clock = systemClock } = deps;
  const client = counted(deps.client, metrics);
  const log = deps.log.child({ node: settings.nodeName });
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  const cri = deps.cri ?? connectCri(await findCriSocket(settings.criSocket));
  const node = deps.node ?? open();

  const cache = startCache<PodNetwork, 'pod'>({
    client,
    resource: podNetworkKind.resource,
    fieldSelector: `spec.nodeName=${settings.nodeName}`,
    indexes: { pod: ({ spec }) => [spec.podUid] },
    log,
    signal,
    clock,
  });
  const finder = podFinder(cri);
  const view = nodeView(node);
  const plugins = executorIn(node, view, settings, { clock, log });
  // Also pods that went while no agent ran: what plugins made for them is released like that of any other.
  const doors = knocks(podNetworkKind.resource, () => plugins.pods());
  const failed = new Set<ObjectKey>();
  const measure = agentMetrics(metrics, cache, clock);
  const events = startEvents({
    client,
    component: 'podloom-agent',
    host: settings.nodeName,
    log,
    signal,
    metrics,
    clock,
  });

  const tidied = settings.driftPolicy === 'report' ? new Map<string, string>() : undefined;
  const lookAt = (key: ObjectKey): void => doors.knock(key);
  const lookAtPod = (podUid: string): void => cache.by('pod', podUid).forEach((network) => lookAt(keyOf(network)));
  const drift = driftListener({
    view,
    clock,
    log,
    lookAt,
    lookAtPod,
    lookAtBridge(device) {
      for (const network of cache.list()) {
        if (network.spec.interfaces.some(({ bridge }) => bridge && (device ?? bridge.device) === bridge.device)) {
          lookAt(keyOf(network));
        }
      }
      // A pod's plan adds what its bridge lacks; only the node's takes away what it should not have.
      if (settings.driftPolicy === 'repair') drift.tidy();
    },
    lookAtFailed: () => failed.forEach(lookAt),
    tidyNode() {
      // Before the first list is in, everything would look as if it belonged to nobody.
      if (cache.isSynced) tidyNode(cache.list(), { netns: node, view, log, tidied, kept: plugins.bridges() });
    },
    gone(key) {
      served.close(key);
      lookAt(key);
    },
  });
  const listening = monitor<string>((event) => drift.onEvent(event));
  // What happened in a pod before it was listened to was not heard: the same as where news was lost.
  const served = servedPods(listening, (key) => drift.onEvent({ kind: 'overflow', in: key }));
  const reporter = statusReporter(client);
  const remembered = new Map<ObjectKey, Remembered>();
  const podDeps: PodDeps = {
    node,
    plugins,
    nodeInode: fstatSync(node.fd).ino,
    view,
    finder,
    served,
    reporter,
    guard: driftGuard(settings.driftPolicy, clock),
    patience: patience(clock),
    events,
    clock,
    remembered,
    failed,
    bridgeMtu: (device) => bridgeMtu(cache.list(), device),
    tidy: () => drift.tidy(),
    attached: (key, steps) => measure.attached(key, steps),
    countFailure: (reason) => measure.failed(reason),
  };
  cache.subscribe(({ key, old, now }) => {
    // One without status was not looked at yet: its pod may have had another, deleted by hand a moment ago.
    const record = recordIn(now?.status?.primary);
    if (now && record) remembered.set(key, { podUid: now.spec.podUid, record });
    else if (now?.status) remembered.delete(key);
    if (!now) measure.forget(key);
    else if (old?.metadata.generation !== now.metadata.generation) measure.heard(key);
    // What was added cannot be in anyone's way; what was taken out may have been the last.
    if (old && old.metadata.generation !== now?.metadata.generation) drift.tidy();
  });
  const serving = controller<PodNetwork>({
    name: 'podnetwork',
    // A status that we wrote ourselves is no reason to look at the pod again.
    resource: telling(
      cache,
      (old, now) => old?.metadata.generation !== now.metadata.generation || !reporter.isOurs(now),
    ),
    reconcile: podNetworkReconciler(podDeps),
    reconcileAbsence: releasePod(podDeps),
    watches: [dependsOn(doors.source, ({ metadata: { name = '', namespace } }) => [{ name, namespace }])],
    concurrency,
    client,
    log,
    metrics,
    clock,
  });

  try {
    await plugins.load();
    listening.add(nodeKey, node, nodeTopics);
    if (settings.port !== 0) {
      const ready = { podnetworks: () => serving.isReady || 'The PodNetworks of this node are not known yet' };
      await serveWhenFree({ port: settings.port, health: {}, ready, metrics, log, signal }, clock);
    }
    const changed = (podUid: string): void => {
      for (const network of cache.by('pod', podUid)) measure.came(keyOf(network));
      lookAtPod(podUid);
    };
    const following = followRuntime({ cri, finder, changed, log, clock, signal });
    cache.waitForSync().then(
      () => drift.tidy(),
      () => undefined,
    );
    await serving.run(signal);
    await following;
  } finally {
    stop.abort();
    await drift.stop();
    await listening.close();
    served.closeAll();
    measure.end();
    if (!deps.node) node.close();
    if (!deps.cri) cri.close();
    await Promise.all([cache.ended, events.ended]);
  }
}

/** An agent that was forced away may not have ended yet, and has the port. Until then it also does the work. */
async function serveWhenFree(options: ServerOptions, clock: Clock): Promise<void> {
  const { log, signal } = options;
  for (const untilMs = clock.monotonicMs() + handOverMs; ;) {
    try {
      await startServer(options);
      return;
    } catch (error) {
      if (signal.aborted || clock.monotonicMs() > untilMs) throw error;
      log.info({ err: error }, 'The port is taken, waiting for the agent before this one to end');
      await delay(clock, 250, signal);
    }
  }
}
