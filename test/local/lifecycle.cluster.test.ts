/** What happens to a private cluster in its life, and that it leaves the machine as it was. Makes clusters of its own. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { type ClusterStatus, clusterDown, clusterExec, clusterNames, clusterStatus, clusterUp } from '@podloom/local';
import { createClient, loadConfig, namespaces, pods, type Client } from '@podloom/kube';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { installChart } from '../../tools/deploy.ts';
import { guardCluster } from '../setup/guard.ts';
import { type Machine, isAlive, observeMachine, processesOf, removeGroups } from './machine.ts';

const name = `a${process.pid}`;
const other = `b${process.pid}`;
const ours = [name, other];
const soon = { timeout: 300_000, interval: 100 };
let before: Machine;

beforeAll(() => {
  before = observeMachine(ours);
});
beforeAll(() => guardCluster(name));
beforeAll(() => guardCluster(other));

async function withClient<T>(cluster: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { kubeconfig } = await clusterStatus({ name: cluster });
  const client = createClient(await loadConfig({ path: kubeconfig }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/**
 * Returns when they are gone: a signal takes a moment. One that ended by itself meanwhile is gone, too; but a process that was not found must not be
 * taken for number 0, which is everybody in the group of this one.
 */
async function killAll(pids: readonly (number | null | undefined)[]): Promise<void> {
  for (const pid of pids) {
    if (!pid) throw new Error('There is no process to kill');
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  await vi.waitFor(() => expect(pids.filter((pid) => pid && isAlive(pid))).toEqual([]), soon);
}

/** Those that leave the process by other than a socket's path. */
function connectionsOverIp(calls: readonly unknown[]): string[] {
  return calls.map((call) => JSON.stringify(call)).filter((call) => call.includes('"port"'));
}

/** Returns when the node is ready: under load it is not, now and then, for a moment. */
const hasReadyNode = (cluster: string): Promise<ClusterStatus> =>
  vi.waitFor(async () => {
    const status = await clusterStatus({ name: cluster });
    expect(status).toMatchObject({ phase: 'ready', nodes: [{ name: 'n1', ready: true }] });
    return status;
  }, soon);

async function restartsOf(part: string): Promise<number> {
  const { processes } = await clusterStatus({ name });
  return processes.find((process) => process.name === part)?.restarts ?? -1;
}

async function commandOf(cluster: string, part: string): Promise<string[]> {
  const { processes } = await clusterStatus({ name: cluster });
  const pid = processes.find((process) => process.name === part)?.pid;
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
}

describe('a private cluster', () => {
  it('comes up with ready nodes and changes none of the settings, mounts and rules of the machine', async () => {
    expect(await clusterUp({ name, nodes: 1 })).toMatchObject({ started: true, nodes: ['n1'] });
    const status = await hasReadyNode(name);
    expect(status.processes.map((process) => process.name).toSorted()).toEqual([
      'coredns',
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'n1/containerd',
      'n1/kube-proxy',
      'n1/kubelet',
    ]);
    const { mounts, rules, sysctls } = observeMachine(ours);
    expect({ mounts, rules, sysctls }).toEqual({ mounts: before.mounts, rules: before.rules, sysctls: before.sysctls });
  });

  it('is left alone by a second up, and refuses another number of nodes', async () => {
    const { supervisorPid } = await clusterStatus({ name });
    expect(await clusterUp({ name })).toMatchObject({ started: false });
    expect((await clusterStatus({ name })).supervisorPid).toBe(supervisorPid);
    await expect(clusterUp({ name, nodes: 2 })).rejects.toThrow(/has 1 nodes; take it down first/);
  });

  it("runs a node's own commands where a CNI plugin has the name of one", async () => {
    const command = ['sh', '-c', 'bridge -json link | grep -q "^."'] as const;
    expect(await clusterExec({ name, node: 'n1', command })).toBe(0);
  });

  it('starts a process again that was killed, and shows it', async () => {
    for (const part of ['etcd', 'kube-apiserver', 'n1/containerd', 'n1/kubelet']) {
      const found = await vi.waitFor(async () => {
        const process = (await clusterStatus({ name })).processes.find((one) => one.name === part);
        expect(process?.state).toBe('running');
        return process;
      }, soon);
      const restarts = found?.restarts ?? 0;
      await killAll([found?.pid]);
      await vi.waitFor(async () => expect(await restartsOf(part)).toBeGreaterThan(restarts), soon);
    }
    await vi.waitFor(async () => {
      const { nodes, processes } = await clusterStatus({ name });
      expect(nodes[0]?.ready).toBe(true);
      expect(processes.filter(({ state }) => state !== 'running')).toEqual([]);
    }, soon);
  });

  it('lives beside another with other ranges', async () => {
    await clusterUp({ name: other, nodes: 1, throwAway: true });
    const [first, second] = [await hasReadyNode(name), await hasReadyNode(other)];
    expect(first.addresses.range).not.toBe(second.addresses.range);
    expect(await clusterNames()).toEqual(expect.arrayContaining([name, other]));
    await withClient(other, async (client) => client.create(namespaces, { metadata: { name: 'only-there' } }));
    const here = await withClient(name, async (client) => client.list(namespaces));
    expect(here.items.map((item) => item.metadata.name)).not.toContain('only-there');
  });

  it('waits for the disk, unless it was made to be thrown away', async () => {
    expect(await commandOf(name, 'etcd')).not.toContain('--unsafe-no-fsync');
    expect(await commandOf(other, 'etcd')).toContain('--unsafe-no-fsync');
  });

  it('is asked nothing over the network when its link is gone, or when it is down', async () => {
    const connect = vi.spyOn(Socket.prototype, 'connect');
    try {
      await hasReadyNode(other);
      expect(connectionsOverIp(connect.mock.calls)).not.toEqual([]);

      execFileSync('ip', ['link', 'delete', `pl-${other}`]);
      connect.mockClear();
      expect(await clusterStatus({ name: other })).toMatchObject({ phase: 'ready', linked: false });
      expect(connectionsOverIp(connect.mock.calls)).toEqual([]);

      await killAll(processesOf(other));
      connect.mockClear();
      const stopped = await clusterStatus({ name: other });
      expect(stopped).toMatchObject({ phase: 'stopped', nodes: [{ name: 'n1', ready: undefined }], processes: [] });
      expect(connectionsOverIp(connect.mock.calls)).toEqual([]);
      const status = ['packages/cli/src/main.ts', 'cluster', 'status', '--name', other];
      const shown = execFileSync(process.execPath, status, { encoding: 'utf8' });
      expect(shown).toContain(`${other}, stopped; start it with: podloom cluster up --name ${other}`);
      const install = installChart({ kubeconfig: stopped.kubeconfig, image: 'podloom:none' });
      await expect(install).rejects.toThrow(`No cluster: ${other} is down`);
    } finally {
      connect.mockRestore();
    }
  });

  it('comes back with its objects after everything was killed at once and its control groups are gone, as in a reboot', async () => {
    await withClient(name, async (client) => client.create(namespaces, { metadata: { name: 'kept' } }));
    await clusterUp({ name, with: ['storage'] });
    const pids = processesOf(name);
    expect(pids.length).toBeGreaterThan(8);
    await killAll(pids);
    expect((await clusterStatus({ name })).phase).toBe('stopped');
    await vi.waitFor(() => expect(processesOf(name)).toEqual([]), soon);
    // A group counts those who have ended a little longer than /proc shows them.
    await vi.waitFor(() => removeGroups(name), soon);
    expect(await clusterUp({ name })).toMatchObject({ started: true });
    const kept = await withClient(name, async (client) => client.get(namespaces, 'kept'));
    expect(kept.metadata.name).toBe('kept');
    expect(await hasReadyNode(name)).toMatchObject({ parts: [{ name: 'storage', state: 'ready' }] });
  });

  it('starts once when two want it up at the same time', async () => {
    await clusterDown({ name: other });
    const results = await Promise.all([clusterUp({ name: other, nodes: 1 }), clusterUp({ name: other, nodes: 1 })]);
    expect(results.map(({ started }) => started).filter(Boolean)).toEqual([true]);
    await hasReadyNode(other);
  });

  it('comes back when only its supervisor was killed', async () => {
    const { supervisorPid } = await clusterStatus({ name });
    await killAll([supervisorPid]);
    expect(await clusterUp({ name })).toMatchObject({ started: true });
    const kept = await withClient(name, async (client) => client.get(namespaces, 'kept'));
    expect(kept.metadata.name).toBe('kept');
  });

  it('runs without a part that cannot start, says why, and gets it when it can', async () => {
    const inTheWay = join((await clusterStatus({ name })).dir, 'registry');
    writeFileSync(inTheWay, 'not a folder');
    await expect(clusterUp({ name, with: ['registry'] })).rejects.toThrow(
      /cluster runs, but registry does not: .*EEXIST/,
    );
    expect(await clusterStatus({ name })).toMatchObject({
      phase: 'ready',
      parts: [{ state: 'ready' }, { name: 'registry' }],
    });
    rmSync(inTheWay);
    expect(await clusterUp({ name })).toMatchObject({ started: false, parts: ['storage', 'registry'] });
    expect((await clusterStatus({ name })).parts.map(({ state }) => state)).toEqual(['ready', 'ready']);
  });

  it('makes a node anew whose namespaces were lost', async () => {
    const lost = (await clusterStatus({ name })).nodes[0]?.pid;
    await killAll([lost]);
    await vi.waitFor(async () => {
      const { phase, nodes } = await clusterStatus({ name });
      expect(nodes[0]?.pid).not.toBe(lost);
      expect({ phase, ready: nodes[0]?.ready }).toEqual({ phase: 'ready', ready: true });
    }, soon);
  });

  it('starts the containers of its pods again after it was killed', async () => {
    await withClient(name, async (client) => {
      await client.create(pods, {
        metadata: { name: 'sleeper', namespace: 'kept' },
        spec: { containers: [{ name: 'main', image: 'podloom.local/pause:v1', imagePullPolicy: 'Never' }] },
      });
      await vi.waitFor(async () => {
        const pod = await client.get(pods, 'sleeper', { namespace: 'kept' });
        expect(pod.status?.containerStatuses?.[0]?.state).toHaveProperty('running');
      }, soon);
    });
    await killAll(processesOf(name));
    expect(await clusterUp({ name })).toMatchObject({ started: true });
    await withClient(name, async (client) =>
      vi.waitFor(async () => {
        const pod = await client.get(pods, 'sleeper', { namespace: 'kept' });
        const [container] = pod.status?.containerStatuses ?? [];
        expect(container?.restartCount).toBeGreaterThan(0);
        expect(container?.state).toHaveProperty('running');
      }, soon),
    );
  });

  it('goes down whole also while it is still starting', async () => {
    await clusterDown({ name: other });
    const interrupted = new AbortController();
    const up = clusterUp({ name: other, signal: interrupted.signal, progress: () => interrupted.abort() });
    await expect(up).rejects.toThrow(/abort/);
    expect(await clusterDown({ name: other })).toBe(true);
    expect(processesOf(other)).toEqual([]);
    expect(await clusterDown({ name: other })).toBe(false);
  });

  it('leaves nothing behind', async () => {
    await clusterDown({ name });
    await clusterDown({ name: other });
    expect(processesOf(name)).toEqual([]);
    expect(processesOf(other)).toEqual([]);
    // The kernel takes links and mounts of a namespace away after the last process of it.
    await vi.waitFor(() => expect(observeMachine(ours)).toEqual(before), soon);
  });
});
