/** Leadership among real processes, seen by the one monotonic clock that they share. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient, leases, loadConfig } from '@podloom/kube';
import type { Client } from '@podloom/kube';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../setup/eventually.ts';
import { badNetwork } from './proxy.ts';
import { newNamespace } from './world.ts';

/** Long enough that a loaded machine does not miss a renewal. */
const leaseMs = 10_000;
const kubeconfig = inject('kubeconfig');
const program = fileURLToPath(new URL('leader-process.ts', import.meta.url));
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

interface Candidate {
  readonly identity: string;
  readonly child: ChildProcess;
  /** When it said each word, in milliseconds. */
  readonly said: { word: string; atMs: number }[];
  has(word: string): boolean;
  at(word: string): number;
}

let client: Client;
let server: URL;
let started: Candidate[] = [];

beforeAll(async () => {
  const config = await loadConfig({ path: kubeconfig });
  client = createClient(config);
  server = config.server;
});
afterEach(async () => {
  await Promise.all(started.map(({ child }) => end(child, 'SIGKILL')));
  started = [];
});
afterAll(() => client.close());

async function candidate(identity: string, namespace: string, via = server): Promise<Candidate> {
  const child = spawn(process.execPath, [program, kubeconfig, via.href, namespace, identity, String(leaseMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said: Candidate['said'] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [word = '', atNs = '0'] = line.split(' ');
    said.push({ word, atMs: Number(BigInt(atNs)) / 1e6 });
  });
  const one: Candidate = {
    identity,
    child,
    said,
    has: (word) => said.some((entry) => entry.word === word),
    at: (word) => said.find((entry) => entry.word === word)?.atMs ?? NaN,
  };
  started.push(one);
  await eventually(() => expect(one.has('candidate')).toBe(true));
  return one;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  // With the end of its output: what it said last is heard.
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}

async function leaderAmong(candidates: readonly Candidate[]): Promise<Candidate> {
  await eventually(() => expect(candidates.some((one) => one.has('begin'))).toBe(true));
  return candidates.find((one) => one.has('begin'))!;
}

describe('leadership', () => {
  it('passes to one other when the leader is killed', async () => {
    const namespace = await newNamespace(client);
    const all = [await candidate('a', namespace), await candidate('b', namespace), await candidate('c', namespace)];
    const first = await leaderAmong(all);
    const aliveMs = nowMs();
    await end(first.child, 'SIGKILL');
    const rest = all.filter((one) => one !== first);
    const second = await leaderAmong(rest);

    expect(second.at('begin')).toBeGreaterThan(aliveMs);
    expect(rest.filter((one) => one.has('begin'))).toEqual([second]);
    const lease = await client.get(leases, 'contested', { namespace });
    expect(lease.spec).toMatchObject({ holderIdentity: second.identity, leaseTransitions: 1 });
  });

  it('is given up before another can have it when the leader cannot reach the server', async () => {
    const namespace = await newNamespace(client);
    await using network = await badNetwork(server);
    const first = await candidate('cut-off', namespace, network.url);
    await eventually(() => expect(first.has('begin')).toBe(true));
    const second = await candidate('connected', namespace);
    network.stall();
    await eventually(() => expect(second.has('begin')).toBe(true));
    await eventually(() => expect(first.has('end')).toBe(true));
    expect(first.at('end')).toBeLessThan(second.at('begin'));
    network.heal();
    await end(second.child, 'SIGTERM');
    await eventually(() => expect(first.said.filter(({ word }) => word === 'begin')).toHaveLength(2));
  });

  it('passes on at once, without waiting for the lease, when the leader stops cleanly', async () => {
    const namespace = await newNamespace(client);
    const first = await candidate('first', namespace);
    await eventually(() => expect(first.has('begin')).toBe(true));
    const second = await candidate('second', namespace);
    await end(first.child, 'SIGTERM');
    await eventually(() => expect(second.has('begin')).toBe(true));
    expect(first.said.map(({ word }) => word)).toEqual(['candidate', 'begin', 'end', 'bye']);
    expect(first.at('end')).toBeLessThan(second.at('begin'));
    const { spec } = await client.get(leases, 'contested', { namespace });
    expect(second.at('begin') - first.at('end')).toBeLessThan((spec?.leaseDurationSeconds ?? 0) * 1_000);
  });

  it('has no candidate whose test is gone', async () => {
    const { child } = await candidate('orphan', await newNamespace(client));
    const closed = once(child, 'close');
    child.stdin?.end();
    expect(await closed).toEqual([0, null]);
  });
});
