/** From what the kernel tells of node and pods to what should be looked at again. */
import { type Clock, type Log, type ObjectKey, backoffMs, delay } from '@podloom/kube';
import type { LinkOutline, MonitorEvent, Topic } from '@podloom/netlink';
import { type ObservedLink, isOurs, routeProtocol } from '@podloom/network';
import { toObservedLink } from '../observe/link.ts';
import type { LinkChange, NodeChanges, NodeView } from '../observe/node.ts';

/** The name under which the node's namespace is listened to; no PodNetwork is called so. */
export const nodeName = '';

/** What is heard of the node. Not its neighbours and forwarding entries: there are too many, and ours are read with their port. */
export const nodeTopics: readonly Topic[] = ['link', 'address', 'route', 'rule', 'tc'];

export interface ListenerOptions {
  readonly view: NodeView;
  /** Resolves when no pod waits for its links, nor has for so long. */
  readonly calm: (signal: AbortSignal, forMs: number) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Owners of node ends, by their name. */
  readonly ports: ReadonlyMap<string, ObjectKey>;
  readonly look: (key: ObjectKey) => void;
  /** The pod is otherwise than we left it. */
  readonly isOther: (key: ObjectKey) => boolean;
  /** A bridge of ours is otherwise than it was; without a name, any of them may be. */
  readonly lookAtBridge: (device?: string) => void;
  /** A bridge of ours lost a port, which it may have been kept for. */
  readonly tidy: () => void;
  /** Something else on the node changed: who could not be served may be now. */
  readonly lookAtFailed: () => void;
  /** The process that held the pod's namespace ended. */
  readonly gone: (key: ObjectKey) => void;
}

/** All routes of ours on the node are over bridges; ports, which come and go with pods, have none. */
const isBridgeOfOurs = (link: LinkOutline): boolean => link.kind === 'bridge' && isOurs(toObservedLink(link));

/** Pods often come in a row, a few milliseconds apart: the echo of one must not be in the way of the next. */
const echoMs = 100;

/** Before the node is read again after it could not be, as where its links change faster than they can be listed. */
const backoff = { minMs: 100, maxMs: 5_000 };

export function driftListener(options: ListenerOptions): (event: MonitorEvent<string>) => void {
  const { view, calm, clock, log, signal, ports, look, isOther, lookAtBridge, tidy, lookAtFailed, gone } = options;
  const pods = new Set<ObjectKey>();
  let isAsked = false;
  let failures = 0;
  let isWaiting = false;

  /** Many messages come for one change; all that are there are read before anything is done. Most are the echo of our own steps: links come first. */
  function readSoon(): void {
    if (isAsked) return;
    isAsked = true;
    setImmediate(() => void readAll());
  }

  async function readAll(): Promise<void> {
    await calm(signal, echoMs);
    isAsked = false;
    if (signal.aborted) return;
    if (!isWaiting) readNode();
    const heard = [...pods];
    pods.clear();
    for (const key of heard) if (mayBeOther(key)) look(key);
  }

  function readNode(): void {
    let news: NodeChanges;
    try {
      news = view.news();
    } catch (error) {
      log.warn({ err: error }, 'Could not read what changed on the node, will retry');
      view.touchAll();
      void readLater();
      return;
    }
    failures = 0;
    const { links, routing } = news;
    for (const { old, now } of links) hearLink(old, now);
    if (links.some(leftOurs)) tidy();
    if (routing) lookAtBridge();
    if (links.length > 0) lookAtFailed();
  }

  /** What is heard of the node meanwhile is read then, too. */
  async function readLater(): Promise<void> {
    isWaiting = true;
    failures += 1;
    await delay(clock, backoffMs(failures, backoff), signal);
    isWaiting = false;
    readSoon();
  }

  /** A pod that cannot be read is looked at: that is tried again until it can. */
  function mayBeOther(key: ObjectKey): boolean {
    try {
      return isOther(key);
    } catch (error) {
      log.debug({ err: error, pod: key }, 'Could not read what changed in a Pod');
      return true;
    }
  }

  const leftOurs = ({ old, now }: LinkChange): boolean =>
    old?.master !== undefined &&
    old.master !== now?.master &&
    view.current().links.some((link) => link.index === old.master && isOurs(link));

  function hearLink(...states: readonly (ObservedLink | undefined)[]): void {
    for (const link of states) {
      if (!link || !isOurs(link)) continue;
      const key = ports.get(link.name);
      if (key !== undefined) look(key);
      if (link.kind === 'bridge') lookAtBridge(link.name);
    }
  }

  function hearNode(event: MonitorEvent<string>): void {
    switch (event.kind) {
      case 'link':
        view.touch(event.link.index);
        if (isBridgeOfOurs(event.link) && (event.change === 'delete' || !event.link.up)) view.touchRouting();
        break;
      case 'port':
        view.touch(event.port.index);
        break;
      case 'address':
        view.touch(event.address.index);
        // With the last address of a link, or the link itself, go its routes, and the kernel tells of none of them (fib_disable_ip).
        if (event.change === 'delete') view.touchRouting();
        break;
      case 'qdisc':
        view.touch(event.qdisc.index);
        break;
      case 'filter':
        view.touch(event.filter.index);
        break;
      case 'route':
        if (event.route.protocol !== routeProtocol) return;
        view.touchRouting();
        break;
      case 'rule':
        if (event.rule.protocol !== routeProtocol) return;
        view.touchRouting();
        break;
      case 'overflow':
        view.touchAll();
        break;
      case 'neighbour':
      case 'fdb':
      case 'class':
      case 'nexthop':
      case 'gone':
      default:
        return;
    }
    readSoon();
  }

  return (event) => {
    if (event.in === nodeName) hearNode(event);
    else if (event.kind === 'gone') gone(event.in as ObjectKey);
    else {
      pods.add(event.in as ObjectKey);
      readSoon();
    }
  };
}
