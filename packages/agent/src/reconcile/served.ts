/** The pods that this agent has opened: their namespaces, by the PodNetwork that they are served for. */
import { fstatSync } from 'node:fs';
import { Unavailable } from '@podloom/api';
import type { Monitor, Netns } from '@podloom/netlink';
import { type Topic, open } from '@podloom/netlink';
import type { ObjectKey } from '@podloom/kube';
import type { PodProcess } from '../cri/finder.ts';

export interface ServedPod {
  readonly podUid: string;
  readonly process: PodProcess;
  readonly netns: Netns;
  /** The listener also hears of routes. Not always: a pod with a routing daemon has very many of them. */
  readonly hearsRoutes: boolean;
  isHeard: boolean;
}

export interface ServedPods {
  get(key: ObjectKey): ServedPod | undefined;
  /** The pod's namespace, opened; opened anew where the sandbox is another. */
  ensure(key: ObjectKey, podUid: string, process: PodProcess, hearRoutes: boolean): ServedPod;
  /** Begins to listen to the pod, if nobody does yet. To begin takes its time, so links come first; what changed meanwhile takes another look. */
  listen(key: ObjectKey): void;
  close(key: ObjectKey): void;
  closeAll(): void;
  readonly size: number;
}

export function servedPods(
  listening: Pick<Monitor<string>, 'add' | 'remove'>,
  lookAgain: (key: ObjectKey) => void,
): ServedPods {
  const all = new Map<ObjectKey, ServedPod>();

  function close(key: ObjectKey): void {
    const pod = all.get(key);
    if (!pod) return;
    all.delete(key);
    listening.remove(key);
    pod.netns.close();
  }

  return {
    get: (key) => all.get(key),
    ensure(key, podUid, process, hearsRoutes) {
      const known = all.get(key);
      const isSame =
        known?.podUid === podUid &&
        known.process.inode === process.inode &&
        known.process.netnsPid === process.netnsPid;
      if (isSame && known.hearsRoutes === hearsRoutes) return known;
      close(key);
      const netns = open({ pid: process.netnsPid });
      // The process may have ended meanwhile, and another, of whatever pod, have its number.
      if (fstatSync(netns.fd).ino !== process.inode) {
        netns.close();
        throw new Unavailable('POD_ENDED', 'The process that the pod was found by is another by now');
      }
      const pod = { podUid, process, netns, hearsRoutes, isHeard: false };
      all.set(key, pod);
      return pod;
    },
    listen(key) {
      const pod = all.get(key);
      if (!pod || pod.isHeard) return;
      const topics: Topic[] = pod.hearsRoutes ? ['link', 'address', 'route'] : ['link', 'address'];
      try {
        listening.add(key, pod.netns, topics);
      } catch (error) {
        close(key);
        throw error;
      }
      pod.isHeard = true;
      lookAgain(key);
    },
    close,
    closeAll() {
      for (const key of all.keys()) close(key);
    },
    get size() {
      return all.size;
    },
  };
}
