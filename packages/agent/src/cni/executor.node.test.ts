/** The executor with plugins that fail in every way, as small programs that the test writes. Real ones: test/agent/cni.node.test.ts. */
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PodInterface, PodNetwork } from '@podloom/api';
import { keyOf, manualClock, silentLog } from '@podloom/kube';
import { type Netns, open } from '@podloom/netlink';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type PodProcess, netnsOf } from '../cri/finder.ts';
import { configText } from '../testing/attachment.ts';
import { podSpec } from '../testing/specs.ts';
import { executorIn } from './node.ts';

const here: PodProcess = {
  sandboxId: 'b0c',
  netnsPid: process.pid,
  pid: process.pid,
  inode: netnsOf(process.pid)!,
  hasContainer: true,
};
let folder = '';
let node: Netns;

beforeEach(async () => {
  node = open();
  folder = await mkdtemp(join(tmpdir(), 'podloom-cni-'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(folder, 'calls'));
  await plugin('good', 'answer({ cniVersion: "1.0.0", ips: [{ address: "10.9.0.2/24" }] });');
});
afterEach(async () => {
  node.close();
  await rm(folder, { recursive: true });
});

/** A program that writes down how it was called, and then does as `body` says. */
const plugin = (name: string, body: string): Promise<void> =>
  writeFile(
    join(folder, 'bin', name),
    `#!${process.execPath}
    const { readFileSync, writeFileSync, readdirSync } = require('node:fs');
    const input = JSON.parse(readFileSync(0, 'utf8'));
    const command = process.env.CNI_COMMAND;
    const calls = ${JSON.stringify(join(folder, 'calls'))};
    const number = String(readdirSync(calls).length).padStart(3, '0');
    writeFileSync(calls + '/' + number, JSON.stringify({ plugin: input.type, command, input, env: process.env }));
    const answer = (value, code = 0) => { process.stdout.write(JSON.stringify(value)); process.exitCode = code; };
    ${body}`,
    { mode: 0o755 },
  );

interface Call {
  readonly plugin: string;
  readonly command: string;
  readonly input: Record<string, unknown>;
  readonly env: Record<string, string>;
}

const calls = async (): Promise<Call[]> => {
  const names = (await readdir(join(folder, 'calls'))).toSorted();
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(folder, 'calls', name), 'utf8')) as Call),
  );
};
const called = async (): Promise<string[]> => (await calls()).map(({ plugin: name, command }) => `${command} ${name}`);
const journal = (): Promise<string[]> => readdir(join(folder, 'state')).catch(() => []);

const pluginInterface = (plugins: readonly string[], more: object = {}): PodInterface => ({
  key: 'NetworkAttachmentDefinition/data/0',
  name: 'net1',
  source: { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'data' },
  link: { type: 'veth' },
  addresses: [],
  routes: [],
  cni: {
    config: configText(
      plugins.map((type) => ({ type })),
      more,
    ),
  },
});
const asks = (...interfaces: PodInterface[]): PodNetwork => ({
  apiVersion: 'podnetwork.opdev.io/v1alpha1',
  kind: 'PodNetwork',
  metadata: { name: 'pod', namespace: 'here', uid: 'u', generation: 1 },
  spec: podSpec('pod-uid', interfaces),
});

const links = () => new Set(['net1']);

/** An agent; another one is the same after a restart. */
function startExecutor(allowed = 'good,bad,later', clock = manualClock()) {
  const settings = { cniAllowedPlugins: allowed, cniBinPath: join(folder, 'bin'), cniStatePath: join(folder, 'state') };
  const executor = executorIn(node, { touchAll: () => undefined }, settings, { clock, log: silentLog, limitMs: 2_000 });
  return {
    clock,
    ...executor,
    serve: (network: PodNetwork, where: PodProcess = here) => executor.serve(network, where, links),
    serveStopped: (network: PodNetwork) => executor.serve(network, undefined, links),
    state: (network: PodNetwork) => executor.statuses(network, here),
  };
}

it('adds forward and deletes backward, each told what the one before it made', async () => {
  const executor = startExecutor();
  await plugin('later', 'answer({ ...input.prevResult, cniVersion: "1.0.0", later: true });');
  const network = asks(pluginInterface(['good', 'later']));
  expect(executor.state(network)).toMatchObject([{ state: 'Pending' }]);
  expect(await executor.serve(network)).toEqual({ isChanged: true, retryAfterMs: undefined });
  expect(executor.state(network)).toMatchObject([{ state: 'Attached', name: 'net1', addresses: ['10.9.0.2/24'] }]);
  expect(await journal()).toEqual(['b0c-net1.json']);
  expect((await stat(join(folder, 'state/b0c-net1.json'))).mode & 0o777).toBe(0o600);
  expect(await executor.serve(network)).toMatchObject({ isChanged: false });

  await executor.serve(asks());
  expect(await called()).toEqual(['ADD good', 'ADD later', 'DEL later', 'DEL good']);
  const [, second, third] = await calls();
  expect(second!.input['prevResult']).toMatchObject({ ips: [{ address: '10.9.0.2/24' }] });
  expect(third!.input['prevResult']).toMatchObject({ later: true });
  expect(await journal()).toEqual([]);
});

it('gives a plugin nothing of its own environment', async () => {
  vi.stubEnv('SECRET', 'of the agent');
  await startExecutor().serve(asks(pluginInterface(['good'])));
  vi.unstubAllEnvs();
  const [{ env }] = (await calls()) as [Call];
  expect(Object.keys(env).toSorted()).toEqual(
    ['CNI_ARGS', 'CNI_COMMAND', 'CNI_CONTAINERID', 'CNI_IFNAME', 'CNI_NETNS', 'CNI_PATH', 'PATH'].toSorted(),
  );
  expect(env['CNI_NETNS']).toBe(`/proc/${process.pid}/ns/net`);
});

describe('a plugin', () => {
  it.each([
    ['hangs', 'setInterval(() => {}, 1000);', 'PluginTimeout'],
    [
      'leaves a child that hangs',
      `require('node:child_process').spawn('sleep', ['100'], { stdio: 'inherit' }); setInterval(() => {}, 1000);`,
      'PluginTimeout',
    ],
    ['fails', 'answer({ code: 100, msg: "no" }, 1);', 'PluginFailed'],
    ['asks to come again', 'answer({ code: 11, msg: "busy" }, 1);', 'TryAgainLater'],
    ['prints garbage', 'process.stdout.write("all is well");', 'InvalidResult'],
    ['prints a megabyte', 'process.stdout.write("x".repeat(1 << 20));', 'InvalidResult'],
    ['dies', 'process.kill(process.pid, "SIGSEGV");', 'PluginFailed'],
  ])('that %s is undone and tried again later', async (_, body, reason) => {
    await plugin('bad', `if (command === 'ADD') { ${body} }`);
    const executor = startExecutor();
    const network = asks(pluginInterface(['good', 'bad']));
    const { retryAfterMs } = await executor.serve(network);
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(executor.state(network)).toMatchObject([{ state: 'Failed', reason }]);
    expect(await called()).toEqual(['ADD good', 'ADD bad', 'DEL bad', 'DEL good']);
    expect(await journal()).toEqual([]);

    expect(await executor.serve(network)).toMatchObject({ isChanged: false });
    await executor.clock.advance(300_000);
    await plugin('bad', 'answer({ cniVersion: "1.0.0" });');
    expect(await executor.serve(network)).toEqual({ isChanged: true, retryAfterMs: undefined });
    expect(executor.state(network)).toMatchObject([{ state: 'Attached' }]);
  });

  it('that says that its configuration is wrong waits for another one', async () => {
    await plugin('bad', 'if (command === "ADD") answer({ code: 7, msg: "no such mode" }, 1);');
    const executor = startExecutor();
    const network = asks(pluginInterface(['bad']));
    expect(await executor.serve(network)).toEqual({ isChanged: true, retryAfterMs: undefined });
    await executor.clock.advance(3_600_000);
    expect(await executor.serve(network)).toMatchObject({ isChanged: false });
    expect(executor.state(network)).toMatchObject([
      { state: 'Failed', message: expect.stringContaining('no such mode') as string },
    ]);
    await executor.serve(asks(pluginInterface(['good'])));
    expect(executor.state(asks(pluginInterface(['good'])))).toMatchObject([{ state: 'Attached' }]);
  });

  it('that is missing shows, and is used once it is there', async () => {
    const executor = startExecutor();
    const network = asks(pluginInterface(['later']));
    await executor.serve(network);
    expect(executor.state(network)).toMatchObject([{ state: 'Failed', reason: 'PluginMissing' }]);
    await plugin('later', 'answer({ cniVersion: "1.0.0" });');
    await executor.clock.advance(300_000);
    await executor.serve(network);
    expect(executor.state(network)).toMatchObject([{ state: 'Attached' }]);
  });

  it.each([
    [['good', 'other'], 'PluginNotAllowed'],
    [['good', '../bin/good'], 'InvalidConfig'],
    [['good', 'good;reboot'], 'InvalidConfig'],
  ])('of %j that may not be is refused before any is started', async (plugins, reason) => {
    await plugin('other', 'answer({});');
    const executor = startExecutor();
    const network = asks(pluginInterface(plugins));
    expect(await executor.serve(network)).toEqual({ isChanged: true, retryAfterMs: undefined });
    expect(executor.state(network)).toMatchObject([{ state: 'Failed', reason }]);
    expect([await called(), await journal()]).toEqual([[], []]);
  });

  it('that does not know the sandbox any more has nothing to delete', async () => {
    await plugin('good', 'if (command === "DEL") answer({ code: 3, msg: "unknown" }, 1); else answer({});');
    const executor = startExecutor();
    await executor.serve(asks(pluginInterface(['good'])));
    expect(await executor.serve(asks())).toEqual({ isChanged: true, retryAfterMs: undefined });
    expect(await journal()).toEqual([]);
  });
});

it('keeps what cannot be deleted and tries again, and adds nothing in its place before', async () => {
  await plugin('good', 'if (command === "DEL") answer({ code: 5, msg: "disk" }, 1); else answer({});');
  const executor = startExecutor();
  await executor.serve(asks(pluginInterface(['good'])));
  const changed = asks(pluginInterface(['good'], { more: 1 }));
  const { retryAfterMs } = await executor.serve(changed);
  expect(retryAfterMs).toBeGreaterThan(0);
  expect(executor.state(changed)).toMatchObject([
    { state: 'Failed', message: expect.stringContaining('disk') as string },
  ]);
  expect(await called()).toEqual(['ADD good', 'DEL good']);
  await plugin('good', 'answer({});');
  await executor.clock.advance(300_000);
  await executor.serve(changed);
  expect(executor.state(changed)).toMatchObject([{ state: 'Attached' }]);
  const [, , third] = await calls();
  expect(third!.input['more']).toBeUndefined();
});

describe('an agent that was killed', () => {
  const network = asks(pluginInterface(['good']));

  it('before ADD was written down undoes it, and then does it again', async () => {
    await startExecutor().serve(network);
    const file = join(folder, 'state/b0c-net1.json');
    const { result: _, ...begun } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    await writeFile(file, JSON.stringify(begun));
    await writeFile(join(folder, 'state/.b0c-net1.json.new'), '{"version"');
    const next = startExecutor();
    await next.load();
    await next.serve(network);
    expect(await called()).toEqual(['ADD good', 'DEL good', 'ADD good']);
    expect(next.state(network)).toMatchObject([{ state: 'Attached' }]);
    expect(await journal()).toEqual(['b0c-net1.json']);
  });

  it('checks once what it finds, and makes anew what is not as it was', async () => {
    await startExecutor().serve(network);
    for (let times = 0; times < 2; times += 1) {
      const next = startExecutor();
      await next.load();
      for (let looks = 0; looks < 2; looks += 1) await next.serve(network);
      if (times === 0) await plugin('good', 'answer({ code: 100, msg: "changed" }, command === "CHECK" ? 1 : 0);');
    }
    expect(await called()).toEqual(['ADD good', 'CHECK good', 'CHECK good', 'DEL good', 'ADD good']);
  });

  it('releases what belongs to a pod that is gone, without its namespace, with the text that ADD had', async () => {
    await startExecutor().serve(network, here);
    const file = join(folder, 'state/b0c-net1.json');
    const entry = JSON.parse(await readFile(file, 'utf8')) as { attachment: { netns: object } };
    entry.attachment.netns = { pid: here.pid, inode: 1 };
    await writeFile(file, JSON.stringify(entry));
    const next = startExecutor('nothing');
    await next.load();
    expect(next.pods()).toEqual([keyOf(network)]);
    expect(await next.release(keyOf(network))).toEqual({ isChanged: true, retryAfterMs: undefined });
    const [add, del] = await calls();
    expect(del!.command).toBe('DEL');
    expect(del!.env).not.toHaveProperty('CNI_NETNS');
    const { prevResult, ...input } = del!.input;
    expect(input).toEqual(add!.input);
    expect(prevResult).toMatchObject({ ips: [{ address: '10.9.0.2/24' }] });
    expect([next.pods(), await journal()]).toEqual([[], []]);
  });

  it('leaves a file alone that is none of its own', async () => {
    await mkdir(join(folder, 'state'));
    await writeFile(join(folder, 'state/b0c-net1.json'), 'not JSON');
    const next = startExecutor();
    await next.load();
    expect([next.pods(), await journal()]).toEqual([[], ['b0c-net1.json']]);
  });
});

it('gives another sandbox of the pod an interface of its own, and keeps what a pod has whose namespace lives', async () => {
  const executor = startExecutor();
  const network = asks(pluginInterface(['good']));
  await executor.serve(network);
  await executor.serveStopped(network);
  expect(await called()).toEqual(['ADD good']);
  await executor.serve(network, { ...here, sandboxId: 'n3w' });
  expect(await called()).toEqual(['ADD good', 'DEL good', 'ADD good']);
  expect(await journal()).toEqual(['n3w-net1.json']);
});
