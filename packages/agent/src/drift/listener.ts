/**
 * From what the kernel tells of node and pods to what is looked at again. Many messages come for one change, and most are the echo of our own
 * steps, so there is one debounce: what has changed is read, and the node tidied, so long after the first message or request.
 */
import { type Clock, type Log, type ObjectKey, workQueue } from '@podloom/kube';
import type { LinkOutline, MonitorEvent, Topic } from '@podloom/netlink';
import { type ObservedLink, isOurs, podOfMark, routeProtocol } from '@podloom/network';
import { toObservedLink } from '../observe/link.ts';
import type { LinkChange, NodeChanges, NodeView } from '../observe/node.ts';

/** The name under which the node's namespace is listened to; no PodNetwork is called so. */
export const nodeName = '';

/** What is heard of the node. Not its neighbours and forwarding entries: there are too many, and ours are read with their port. */
export const nodeTopics: readonly Topic[] = ['link', 'address', 'route', 'rule', 'tc'];

export const debounceMs = 100;

export interface ListenerOptions {
  readonly view: NodeView;
  readonly clock: Clock;
  readonly log: Log;
  /** Something in the pod of this PodNetwork changed. */
  readonly lookAt: (key: ObjectKey) => void;
  /** The node's end of a link of this pod changed. */
  readonly lookAtPod: (podUid: string) => void;
  /** A bridge of ours is otherwise than it was; without a name, any of them may be. */
  readonly lookAtBridge: (device?: string) => void;
  /** Something else on the node changed: who could not be served may be now. */
  readonly lookAtFailed: () => void;
  /** Removes from the node what nobody needs any more. Throws where it could not: it is then tried again. */
  readonly tidyNode: () => void;
  /** The process that held the pod's namespace ended. */
  readonly gone: (key: ObjectKey) => void;
}

export interface DriftListener {
  onEvent(event: MonitorEvent<string>): void;
  /** Something that may have been the last of its kind is gone. */
  tidy(): void;
  stop(): Promise<void>;
}

type Task = 'read the node' | 'look at pods' | 'tidy the node';

/** Where the node's links change faster than they can be listed, it cannot be read for a while. */
const backoff = { minMs: debounceMs, maxMs: 5_000 };

/** All routes of ours on the node are over bridges; ports, which come and go with pods, have none. */
const isBridgeOfOurs = (link: LinkOutline): boolean => link.kind === 'bridge' && isOurs(toObservedLink(link));

export function driftListener(options: ListenerOptions): DriftListener {
  const { view, clock, log, lookAt, lookAtPod, lookAtBridge, lookAtFailed, tidyNode, gone } = options;
  const pods = new Set<ObjectKey>();
  const tasks: { readonly [K in Task]: () => void } = {
    'read the node': readNode,
    'look at pods': () => {
      pods.forEach(lookAt);
      pods.clear();
    },
    'tidy the node': () => {
      tidyNode();
      lookAtFailed();
    },
  };
  const queue = workQueue<Task>({
    clock,
    backoff,
    async run(task) {
      try {
        tasks[task]();
        return 'done';
      } catch (error) {
        log.warn({ err: error, task }, 'Could not look at the node, will retry');
        return 'failed';
      }
    },
  });
  const soon = (task: Task): void => queue.addAfter(task, debounceMs);

  function readNode(): void {
    let news: NodeChanges;
    try {
      news = view.news();
    } catch (error) {
      view.touchAll();
      throw error;
    }
    for (const { old, now } of news.links) onLinkChange(old, now);
    if (news.links.some(leftOurs)) soon('tidy the node');
    if (news.routing) lookAtBridge();
    if (news.links.length > 0) lookAtFailed();
  }

  /** A bridge of ours lost a port, which it may have been kept for. */
  const leftOurs = ({ old, now }: LinkChange): boolean =>
    old?.master !== undefined &&
    old.master !== now?.master &&
    view.current().links.some((link) => link.index === old.master && isOurs(link));

  function onLinkChange(...states: readonly (ObservedLink | undefined)[]): void {
    for (const link of states) {
      if (!link || !isOurs(link)) continue;
      const owner = podOfMark(link.alias);
      if (owner) lookAtPod(owner.podUid);
      if (link.kind === 'bridge') lookAtBridge(link.name);
    }
  }

  /** False where the event is not about anything of ours. */
  function touch(event: MonitorEvent<string>): boolean {
    switch (event.kind) {
      case 'link':
        view.touch(event.link.index);
        if (isBridgeOfOurs(event.link) && (event.change === 'delete' || !event.link.up)) view.touchRouting();
        return true;
      case 'port':
        view.touch(event.port.index);
        return true;
      case 'address':
        view.touch(event.address.index);
        // With the last address of a link, or the link itself, go its routes, and the kernel tells of none of them (fib_disable_ip).
        if (event.change === 'delete') view.touchRouting();
        return true;
      case 'qdisc':
        view.touch(event.qdisc.index);
        return true;
      case 'filter':
        view.touch(event.filter.index);
        return true;
      case 'route':
        if (event.route.protocol === routeProtocol) view.touchRouting();
        return event.route.protocol === routeProtocol;
      case 'rule':
        if (event.rule.protocol === routeProtocol) view.touchRouting();
        return event.rule.protocol === routeProtocol;
      case 'overflow':
        view.touchAll();
        return true;
      case 'neighbour':
      case 'fdb':
      case 'class':
      case 'nexthop':
      case 'gone':
      default:
        return false;
    }
  }

  return {
    onEvent(event) {
      if (event.in === nodeName) {
        if (touch(event)) soon('read the node');
      } else if (event.kind === 'gone') gone(event.in as ObjectKey);
      else {
        pods.add(event.in as ObjectKey);
        soon('look at pods');
      }
    },
    tidy: () => soon('tidy the node'),
    stop: () => queue.stop(),
  };
}
