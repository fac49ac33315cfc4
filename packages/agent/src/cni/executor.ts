/**
 * Interfaces that CNI plugins make: for each pod the difference between what is asked for and what the journal has. Kernel steps are never kept
 * waiting by it. Pods are independent; of one pod, one plugin runs at a time.
 */
import { Conflict, type PodInterfaceStatus, type PodNetwork } from '@podloom/api';
import { type Clock, type Log, type ObjectKey, backoffMs, keyOf } from '@podloom/kube';
import type { PodProcess } from '../cri/finder.ts';
import { type Attachment, PluginFailure } from './attachment.ts';
import type { Chain } from './chain.ts';
import { ownBridge, parseConfig } from './config.ts';
import { decide, told } from './decide.ts';
import type { Entry, Journal } from './journal.ts';
import { statusesOf } from './status.ts';
import { isAlive, netnsPath, pluginInterfaces, wantedOf } from './wanted.ts';

export interface PluginExecutor {
  /** Once, before all else: what agents before this one began. */
  load(): Promise<void>;
  /** Pods that something was made for. */
  pods(): readonly ObjectKey[];
  /** Bridges that plugins use, or are about to. */
  bridges(): ReadonlySet<string>;
  /** Makes it so as far as it can be. Without process the pod does not run. */
  serve(network: PodNetwork, process: PodProcess | undefined, linksOf: LinksOf): Promise<Served>;
  /** The PodNetwork is gone: so is what was made for its pod. */
  release(pod: ObjectKey): Promise<Served>;
  /** As it is, of those that plugins make. */
  statuses(network: PodNetwork, process: PodProcess | undefined): PodInterfaceStatus[];
  forget(pod: ObjectKey): void;
}

/** Names of the links that the pod has. Asked only where one of them matters. */
type LinksOf = () => ReadonlySet<string>;

export interface Served {
  /** A plugin was run. */
  readonly isChanged: boolean;
  /** What failed is tried again after so long. */
  readonly retryAfterMs: number | undefined;
}

export interface ExecutorDeps {
  readonly chain: Chain;
  readonly journal: Journal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  /** The bridge is there, and ours; throws where it cannot be. */
  readonly ensureBridge: (name: string) => void;
}

interface Failed {
  readonly key: string;
  readonly told: string;
  readonly failure: PluginFailure;
  readonly count: number;
  /** Infinite where only another configuration helps. */
  readonly untilMs: number;
}

const backoff = { minMs: 1_000, maxMs: 120_000 };

export function pluginExecutor({ chain, journal, clock, log, ensureBridge }: ExecutorDeps): PluginExecutor {
  /** By pod, then by key of the interface. */
  const failures = new Map<ObjectKey, Map<string, Failed>>();
  /** Those that this agent made, or looked at since it started. */
  const verified = new Set<string>();

  const entriesOf = (pod: ObjectKey): readonly Entry[] => journal.of(pod);

  async function serve(network: PodNetwork, process: PodProcess | undefined, linksOf: LinksOf): Promise<Served> {
    const pod = keyOf(network);
    const entries = entriesOf(pod);
    const wanted = process ? wantedOf(network, process) : [];
    // While its namespace lives, a pod that the runtime does not tell of just now may still use what it has.
    const settled = process
      ? entries
      : entries.filter((entry) => !isAlive(entry.attachment) || !isAsked(network, entry));
    const broken = process ? await brokenOf(wanted, settled, linksOf) : new Set<Entry>();
    return carryOut(
      pod,
      decide(wanted, settled, (entry) => broken.has(entry)),
      process,
    );
  }

  /** The link is gone; or an agent before this one made it, and its plugins say now that it is not as it was. */
  async function brokenOf(wanted: readonly Attachment[], entries: readonly Entry[], linksOf: LinksOf) {
    const broken = new Set<Entry>();
    const { keep } = decide(wanted, entries);
    const links = keep.length === 0 ? new Set() : linksOf();
    for (const entry of keep) {
      const { attachment, result } = entry;
      const name = told(attachment);
      if (!links.has(attachment.interfaceName)) broken.add(entry);
      else if (!verified.has(name)) {
        try {
          await chain.verify(attachment, netnsPath(attachment), result);
          verified.add(name);
        } catch (error) {
          if (!(error instanceof PluginFailure)) throw error;
          log.warn({ ...named(attachment), err: error }, 'A CNI plugin found its interface changed, will make it anew');
          broken.add(entry);
        }
      }
    }
    return broken;
  }

  async function carryOut(
    pod: ObjectKey,
    { remove, add, keep }: ReturnType<typeof decide>,
    process: PodProcess | undefined,
  ): Promise<Served> {
    const known = failures.get(pod) ?? new Map<string, Failed>();
    const next = new Map<string, Failed>();
    failures.set(pod, next);
    let isChanged = false;
    const attempt = async (attachment: Attachment, command: 'ADD' | 'DEL', work: () => Promise<void>) => {
      const id = `${command} ${attachment.sandboxId} ${attachment.key}`;
      const last = known.get(id);
      const before = last?.told === told(attachment) ? last : undefined;
      if (before && before.untilMs > clock.monotonicMs()) {
        next.set(id, before);
        return;
      }
      isChanged = true;
      try {
        await work();
      } catch (error) {
        const failure = toFailure(error);
        const count = (before?.count ?? 0) + 1;
        const untilMs = failure.isRetryable ? clock.monotonicMs() + backoffMs(count, backoff) : Infinity;
        next.set(id, { key: attachment.key, told: told(attachment), failure, count, untilMs });
        log.warn({ ...named(attachment), command, err: error }, 'A CNI plugin failed');
      }
    };
    for (const entry of remove) await attempt(entry.attachment, 'DEL', () => del(entry, process));
    const stuck = new Set(
      entriesOf(pod)
        .filter((entry) => !keep.includes(entry))
        .map(slotOf),
    );
    for (const attachment of add) {
      // After an ADD that is not undone yet, another one of the same name would meet its remains.
      if (!stuck.has(slotOf({ attachment }))) await attempt(attachment, 'ADD', () => makeNew(attachment, process));
    }
    const untilMs = Math.min(...next.values().map((one) => one.untilMs));
    if (next.size === 0) failures.delete(pod);
    const leftMs = Number.isFinite(untilMs) ? Math.max(1, untilMs - clock.monotonicMs()) : undefined;
    return { isChanged, retryAfterMs: leftMs };
  }

  async function makeNew(attachment: Attachment, process: PodProcess | undefined): Promise<void> {
    const list = chain.check(attachment);
    const bridge = ownBridge(list);
    if (!isAlive(attachment)) throw new PluginFailure('PodNotRunning', 'The pod ended before the CNI plugin was run');
    try {
      await journal.write({ attachment });
      if (bridge !== undefined) ensureBridge(bridge);
      const result = await chain.add(attachment, netnsPath(attachment));
      await journal.write({ attachment, result });
      verified.add(told(attachment));
      log.info(named(attachment), 'Attached an interface by a CNI plugin');
    } catch (error) {
      try {
        await del({ attachment }, process);
      } catch (undo) {
        // Its entry stays, so the next look goes on with DEL.
        log.warn({ ...named(attachment), err: undo }, 'Could not undo what a CNI plugin began, will retry');
      }
      throw error;
    }
  }

  async function del({ attachment, result }: Entry, process: PodProcess | undefined): Promise<void> {
    verified.delete(told(attachment));
    const isHere = process?.sandboxId === attachment.sandboxId;
    const here = isHere ? { ...attachment, netns: { pid: process.netnsPid, inode: process.inode } } : attachment;
    await chain.del(attachment, isAlive(here) ? netnsPath(here) : undefined, result);
    await journal.remove(attachment);
    log.info(named(attachment), 'Detached an interface by a CNI plugin');
  }

  return {
    async load() {
      const unknown = await journal.load();
      for (const path of unknown) log.error({ path }, 'A file of the CNI journal is no entry of it, left as it is');
    },
    pods: () => journal.pods(),
    bridges: () =>
      new Set(
        journal
          .pods()
          .flatMap(entriesOf)
          .flatMap(({ attachment }) => bridgeOf(attachment) ?? []),
      ),
    serve,
    release: (pod) => carryOut(pod, { remove: entriesOf(pod).toReversed(), add: [], keep: [] }, undefined),
    statuses(network, process) {
      const pod = keyOf(network);
      const failed = [...(failures.get(pod)?.values() ?? [])].map(({ key, failure }) => [key, failure] as const);
      return statusesOf(network, process, { entries: entriesOf(pod), failures: new Map(failed) });
    },
    forget: (pod) => void failures.delete(pod),
  };
}

const named = ({ pod, interfaceName, key }: Attachment) => ({
  pod: `${pod.namespace}/${pod.name}`,
  link: interfaceName,
  key,
});

/** What one ADD is told from another by: CNI knows no more. */
const slotOf = ({ attachment: { sandboxId, interfaceName } }: Pick<Entry, 'attachment'>): string =>
  `${sandboxId}/${interfaceName}`;

function isAsked(network: PodNetwork, { attachment }: Entry): boolean {
  const isOfPod = attachment.pod.uid === network.spec.podUid;
  return isOfPod && pluginInterfaces(network).some(({ key }) => key === attachment.key);
}

/** Another version of the agent may have taken a text that this one refuses. */
function bridgeOf({ config }: Attachment): string | undefined {
  try {
    return ownBridge(parseConfig(config));
  } catch (error) {
    if (error instanceof PluginFailure) return undefined;
    throw error;
  }
}

/** What the agent itself could not do is the node's trouble, and may be over at the next try. */
function toFailure(error: unknown): PluginFailure {
  if (error instanceof PluginFailure) return error;
  if (error instanceof Conflict) return new PluginFailure(error.code, error.message);
  const message = error instanceof Error ? error.message : String(error);
  return new PluginFailure('NodeFailed', `The node could not run the CNI plugin: ${message}`);
}
