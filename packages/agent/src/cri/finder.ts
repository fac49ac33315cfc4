/**
 * From a pod to its processes. What was found once is kept, because asking the runtime takes longer than all the rest of an attachment,
 * and looked at again in /proc each time: a process that ended, or whose number another has now, is asked for anew.
 *
 * The namespace is taken from the sandbox's process, which lives as long as the sandbox; names are made of the first container's, as the
 * users know it.
 */
import { statSync } from 'node:fs';
import type { CriClient } from './client.ts';

export interface PodProcess {
  readonly sandboxId: string;
  /** A process in the pod's network namespace that lives as long as the sandbox (where the runtime has such a process). */
  readonly netnsPid: number;
  /** Inode of that namespace. */
  readonly inode: number;
  /** Process of the first container; the sandbox's while no container runs. */
  readonly pid: number;
  /** A container runs. Whether `pid` is its process depends on what the runtime tells of it. */
  readonly hasContainer: boolean;
}

export interface PodFinder {
  /** What is known and still true. */
  known(podUid: string): PodProcess | undefined;
  /** Undefined when the pod does not run. */
  find(podUid: string): Promise<PodProcess | undefined>;
  /** The pod whose sandbox this is, where it was found. */
  podOf(sandboxId: string): string | undefined;
  forget(podUid: string): void;
  /** Forgets whatever is not true any more. */
  forgetGone(): void;
}

/** Inode of a process's network namespace; undefined when the process is gone. */
export type NetnsOf = (pid: number) => number | undefined;

export const netnsOf: NetnsOf = (pid) => statSync(`/proc/${pid}/ns/net`, { throwIfNoEntry: false })?.ino;

export function podFinder(
  cri: Pick<CriClient, 'sandboxes' | 'containers' | 'sandboxPid' | 'containerPid'>,
  inodeOf: NetnsOf = netnsOf,
): PodFinder {
  const found = new Map<string, PodProcess>();
  const asking = new Map<string, Promise<PodProcess | undefined>>();

  function known(podUid: string): PodProcess | undefined {
    const one = found.get(podUid);
    if (!one || [one.netnsPid, one.pid].every((pid) => inodeOf(pid) === one.inode)) return one;
    found.delete(podUid);
    return undefined;
  }

  async function ask(podUid: string): Promise<PodProcess | undefined> {
    const [sandboxes, containers] = await Promise.all([cri.sandboxes(podUid), cri.containers(podUid)]);
    const [sandbox] = sandboxes.filter(({ isReady }) => isReady).toSorted((a, b) => Number(b.createdAt - a.createdAt));
    if (!sandbox) return undefined;
    const [container] = containers
      .filter((one) => one.sandboxId === sandbox.id && one.isRunning)
      .toSorted((a, b) => Number(a.createdAt - b.createdAt));
    const [sandboxPid, containerPid] = await Promise.all([
      cri.sandboxPid(sandbox.id),
      container && cri.containerPid(container.id),
    ]);
    const netnsPid = sandboxPid || containerPid;
    const inode = netnsPid ? inodeOf(netnsPid) : undefined;
    if (!netnsPid || inode === undefined) return undefined;
    // A number that another process has by now is in another namespace.
    const firstPid = containerPid && inodeOf(containerPid) === inode ? containerPid : undefined;
    const hasContainer = container !== undefined;
    const process = { sandboxId: sandbox.id, netnsPid, inode, pid: firstPid ?? netnsPid, hasContainer };
    if (firstPid !== undefined) found.set(podUid, process);
    return process;
  }

  return {
    known,
    find(podUid) {
      const one = known(podUid);
      if (one) return Promise.resolve(one);
      let pending = asking.get(podUid);
      if (!pending) {
        pending = ask(podUid).finally(() => asking.delete(podUid));
        asking.set(podUid, pending);
      }
      return pending;
    },
    podOf: (sandboxId) => found.entries().find(([, process]) => process.sandboxId === sandboxId)?.[0],
    forget: (podUid) => void found.delete(podUid),
    forgetGone: () => [...found.keys()].forEach(known),
  };
}
