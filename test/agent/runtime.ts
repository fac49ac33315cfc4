/**
 * Stands in for the container runtime: pods are processes that wait in network namespaces of their own, so /proc, netlink and the kernel are real
 * and only CRI's answers are made up. The real runtime is asked in the cluster tier.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { CriClient, CriEvent } from '@podloom/agent';
import { type Netns, open } from '@podloom/netlink';

interface Sandbox {
  readonly id: string;
  readonly netns: Netns;
  readonly pause: ChildProcess;
  container?: ChildProcess;
}

export interface Runtime extends AsyncDisposable {
  readonly cri: CriClient;
  /** A pod with an eth0 that the node's CNI made. Returns the process of its container. */
  start(podUid: string): number;
  /** The same while its first container is still to come, as when the image is being pulled: see `restartContainer`. */
  startSandbox(podUid: string): void;
  /** A pod of the host network. */
  startOnNode(podUid: string): void;
  restartContainer(podUid: string): Promise<number>;
  /** The sandbox dies and another takes its place. */
  recreate(podUid: string): Promise<void>;
  stop(podUid: string): Promise<void>;
  /** The runtime does not know of the pod, which runs, until what is returned is called. It tells that it does, unless it is one that tells nothing. */
  hide(podUid: string): (tells?: boolean) => void;
  netns(podUid: string): Netns;
}

export function runtime(node: Netns): Runtime {
  const pods = new Map<string, Sandbox>();
  const listeners = new Set<(event: CriEvent) => void>();
  let count = 0;

  const tell = (podUid: string, what: CriEvent['what']): void => {
    for (const hear of listeners) hear({ podUid, id: pods.get(podUid)?.id ?? '', what });
  };
  function startSandbox(podUid: string): void {
    count += 1;
    using made = open({ create: true });
    const pause = waitIn(made);
    const netns = open({ pid: pause.pid! });
    netns.link.set('lo', { up: true });
    node.link.add({ kind: 'veth', name: `cni${count}p`, up: true, peer: { name: 'eth0', netns } });
    netns.link.set('eth0', { up: true });
    netns.address.add({ link: 'eth0', address: `10.244.0.${(count % 250) + 2}/24` });
    pods.set(podUid, { id: `sandbox-${count}`, netns, pause });
    tell(podUid, 'containerStarted');
  }
  function startContainer(podUid: string): number {
    const sandbox = mustHave(podUid);
    sandbox.container = waitIn(sandbox.netns);
    tell(podUid, 'containerStarted');
    return sandbox.container.pid!;
  }
  function start(podUid: string): number {
    startSandbox(podUid);
    return startContainer(podUid);
  }
  function startOnNode(podUid: string): void {
    count += 1;
    const [pause, container] = [waitIn(node), waitIn(node)];
    pods.set(podUid, { id: `sandbox-${count}`, netns: open({ pid: pause.pid! }), pause, container });
  }
  async function stop(podUid: string): Promise<void> {
    const sandbox = pods.get(podUid);
    if (!sandbox) return;
    pods.delete(podUid);
    await Promise.all([sandbox.container && end(sandbox.container), end(sandbox.pause)]);
    sandbox.netns.close();
    tell(podUid, 'sandboxRemoved');
  }
  const mustHave = (podUid: string): Sandbox => {
    const found = pods.get(podUid);
    if (!found) throw new Error(`There is no pod ${podUid}`);
    return found;
  };
  const chosen = (podUid: string | undefined): [string, Sandbox][] =>
    [...pods].filter(([uid]) => podUid === undefined || uid === podUid);

  return {
    start,
    startSandbox,
    startOnNode,
    stop,
    netns: (podUid) => mustHave(podUid).netns,
    hide(podUid) {
      const sandbox = mustHave(podUid);
      pods.delete(podUid);
      tell(podUid, 'sandboxRemoved');
      return (tells = true) => {
        pods.set(podUid, sandbox);
        if (tells) tell(podUid, 'containerStarted');
      };
    },
    async restartContainer(podUid) {
      const { container } = mustHave(podUid);
      if (container) await end(container);
      return startContainer(podUid);
    },
    async recreate(podUid) {
      await stop(podUid);
      start(podUid);
    },
    cri: {
      version: () => Promise.resolve('stand-in'),
      sandboxes: (podUid) =>
        Promise.resolve(
          chosen(podUid).map(([uid, { id }]) => ({ id, podUid: uid, isReady: true, createdAt: BigInt(id.slice(8)) })),
        ),
      containers: (podUid) =>
        Promise.resolve(
          chosen(podUid).map(([, { id, container }]) => ({
            id: `${id}-c`,
            sandboxId: id,
            isRunning: container !== undefined,
            createdAt: 1n,
          })),
        ),
      sandboxPid: (id) => Promise.resolve([...pods.values()].find((one) => one.id === id)?.pause.pid),
      containerPid: (id) => Promise.resolve([...pods.values()].find((one) => `${one.id}-c` === id)?.container?.pid),
      events(listener, signal) {
        listeners.add(listener);
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => (listeners.delete(listener), resolve()), { once: true });
        });
      },
      close: () => undefined,
    },
    async [Symbol.asyncDispose]() {
      for (const podUid of pods.keys()) await stop(podUid);
    },
  };
}

/** It ends with us, also when we are killed: its input does. */
const waitIn = (netns: Netns): ChildProcess =>
  netns.run(() => spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] }) as unknown as ChildProcess & { then?: never });

async function end(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const ended = once(process, 'exit');
  process.kill('SIGKILL');
  await ended;
}
