import { describe, expect, it } from 'vitest';
import type { CriContainer, CriSandbox } from './client.ts';
import { type PodFinder, podFinder } from './finder.ts';

interface World {
  sandboxes: CriSandbox[];
  containers: CriContainer[];
  /** Processes by the id of their sandbox or container. */
  pids: Record<string, number>;
  /** Network namespaces by process. */
  namespaces: Record<number, number>;
  asked: number;
}

const sandbox = (id: string, createdAt: bigint, isReady = true): CriSandbox => ({
  id,
  podUid: 'pod',
  isReady,
  createdAt,
});
const container = (id: string, sandboxId: string, createdAt: bigint, isRunning = true): CriContainer => ({
  id,
  sandboxId,
  isRunning,
  createdAt,
});

function make(more: Partial<World>): { world: World; finder: PodFinder } {
  const world: World = { sandboxes: [], containers: [], pids: {}, namespaces: {}, asked: 0, ...structuredClone(more) };
  const finder = podFinder(
    {
      sandboxes() {
        world.asked += 1;
        return Promise.resolve(world.sandboxes);
      },
      containers: () => Promise.resolve(world.containers),
      sandboxPid: (id) => Promise.resolve(world.pids[id]),
      containerPid: (id) => Promise.resolve(world.pids[id]),
    },
    (pid) => world.namespaces[pid],
  );
  return { world, finder };
}

const running = {
  sandboxes: [sandbox('s', 1n)],
  containers: [container('second', 's', 3n), container('first', 's', 2n)],
  pids: { s: 10, first: 11, second: 12 },
  namespaces: { 10: 77, 11: 77, 12: 77 },
};

describe('a pod finder', () => {
  it('takes the name from the first container and the namespace from the sandbox', async () => {
    const { finder } = make(running);
    expect(await finder.find('pod')).toEqual({ sandboxId: 's', netnsPid: 10, inode: 77, pid: 11, hasContainer: true });
  });

  it('asks the runtime once, and not again while the process is there', async () => {
    const { world, finder } = make(running);
    await Promise.all([finder.find('pod'), finder.find('pod')]);
    await finder.find('pod');
    expect(world.asked).toBe(1);
    expect(finder.known('pod')?.pid).toBe(11);
  });

  it.each<[string, (world: World) => void]>([
    ['ended', (world) => void delete world.namespaces[11]],
    ['has a number that another process has now', (world) => void (world.namespaces[11] = 5)],
  ])('does not name a pod after a first container that %s', async (_, change) => {
    const { world, finder } = make(running);
    await finder.find('pod');
    change(world);
    expect(finder.known('pod')).toBeUndefined();
    world.containers = [container('again', 's', 9n), container('first', 's', 2n, false)];
    world.pids['again'] = 13;
    world.namespaces[13] = 77;
    expect(await finder.find('pod')).toEqual({ sandboxId: 's', netnsPid: 10, inode: 77, pid: 13, hasContainer: true });
  });

  it.each<[string, (world: World) => void]>([
    ['ended', (world) => void delete world.namespaces[10]],
    ['has a number that another process has now', (world) => void (world.namespaces[10] = 5)],
  ])('asks again when the sandbox %s', async (_, change) => {
    const { world, finder } = make(running);
    await finder.find('pod');
    change(world);
    expect(finder.known('pod')).toBeUndefined();
    world.sandboxes = [sandbox('s', 1n, false), sandbox('t', 9n)];
    world.containers = [container('third', 't', 10n)];
    Object.assign(world.pids, { t: 20, third: 21 });
    Object.assign(world.namespaces, { 20: 78, 21: 78 });
    expect(await finder.find('pod')).toEqual({ sandboxId: 't', netnsPid: 20, inode: 78, pid: 21, hasContainer: true });
  });

  it('knows whose sandbox one is until it is told to forget the pod', async () => {
    const { finder } = make(running);
    await finder.find('pod');
    expect([finder.podOf('s'), finder.podOf('t')]).toEqual(['pod', undefined]);
    finder.forget('pod');
    expect(finder.podOf('s')).toBeUndefined();
  });

  it('forgets pods that are gone, and asks nobody about those that are not', async () => {
    const { world, finder } = make(running);
    await finder.find('pod');
    finder.forgetGone();
    await finder.find('pod');
    expect([finder.podOf('s'), world.asked]).toEqual(['pod', 1]);
    world.namespaces = {};
    finder.forgetGone();
    expect(finder.podOf('s')).toBeUndefined();
  });

  it('prefers the newest of two sandboxes that are ready', async () => {
    const { finder } = make({
      ...running,
      sandboxes: [sandbox('s', 1n), sandbox('t', 2n)],
      pids: { ...running.pids, t: 20 },
      namespaces: { ...running.namespaces, 20: 78 },
    });
    expect((await finder.find('pod'))?.sandboxId).toBe('t');
  });

  it('goes by the sandbox while no container runs, and looks again later', async () => {
    const { world, finder } = make({ ...running, containers: [container('first', 's', 2n, false)] });
    expect(await finder.find('pod')).toMatchObject({ pid: 10, hasContainer: false });
    world.containers = running.containers;
    expect((await finder.find('pod'))?.pid).toBe(11);
  });

  it('goes by the container where the runtime has no process for a sandbox', async () => {
    const { finder } = make({ ...running, pids: { s: 0, first: 11, second: 12 } });
    expect(await finder.find('pod')).toEqual({ sandboxId: 's', netnsPid: 11, inode: 77, pid: 11, hasContainer: true });
  });

  it('does not believe a container whose process is in another namespace', async () => {
    const { finder } = make({ ...running, namespaces: { ...running.namespaces, 11: 4 } });
    expect(await finder.find('pod')).toMatchObject({ pid: 10, hasContainer: true });
  });

  it.each([
    ['there is no sandbox', { ...running, sandboxes: [] }],
    ['the sandbox is not ready', { ...running, sandboxes: [sandbox('s', 1n, false)] }],
    ['its process is gone', { ...running, namespaces: {} }],
  ])('finds nothing when %s', async (_, world) => {
    expect(await make(world).finder.find('pod')).toBeUndefined();
  });
});
