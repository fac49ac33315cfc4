/** `make labs` as the one who types it sees it: from nothing, again, and gone. In a cluster of its own. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { clusterStatus } from '@podloom/local';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Output } from '../chart/installed.ts';
import { eventually } from '../setup/eventually.ts';
import { guardCluster } from '../setup/guard.ts';
import { type Machine, observeMachine, processesOf } from './machine.ts';

const root = join(import.meta.dirname, '../..');
const name = `l${process.pid}`;
/** It ends with this process: what makes a cluster must not outlive the guard. */
const mortal = ['setpriv', '--pdeathsig', 'KILL', process.execPath, '--disable-warning=ExperimentalWarning'];

let before: Machine;
let printed = '';

beforeAll(() => {
  before = observeMachine([name]);
});
beforeAll(() => guardCluster(name));

function run([file = '', ...args]: readonly string[], env = process.env): Promise<Output> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
    );
  });
}

const labs = (): Promise<Output> => run([...mortal, 'tools/labs.ts', '--name', name]);

/** In a new shell that knows nothing of the cluster but the lines it is given. */
const inShell = (...lines: string[]): Promise<Output> =>
  run(['sh', '-c', lines.join('\n')], { HOME: process.env['HOME'], PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });

const commands = (): readonly string[] =>
  [...(printed.split('To go on:')[1] ?? '').matchAll(/^ {2}(\S.*?)(?: +# .*)?$/gm)].map(([, command = '']) => command);

function expectClass(stdout: string): void {
  expect(stdout).toMatch(/^chemistry +Chemistry +workspace-chemistry +true /m);
  expect(stdout).toMatch(/^teacher +manager +tenant-teacher +2 +4Gi +2 +true$/m);
  expect(stdout).toMatch(/^student-a +user +tenant-student-a +2 +4Gi +2 +true$/m);
  expect(stdout).toMatch(/^student-b +user +tenant-student-b +2 +4Gi +2 +true$/m);
  expect(stdout).toMatch(/^ssh -J bastion@10\.[\d.]+:\d+ crownlabs@10\.[\d.]+$/m);
  expect(stdout).toMatch(/^ {2}student-a: in tenant-student-a\/try-ssh, as user 1010$/m);
  expect(stdout).toMatch(/^ {2}student-b: Permission denied/m);
  expect(stdout).toMatch(/^ {2}somebody else: Permission denied \(publickey\)\.$/m);
  expect(stdout).toMatch(/^ {2}teacher: kubernetes:workspace-chemistry:manager$/m);
  for (const student of ['student-a', 'student-b'])
    expect(stdout).toMatch(new RegExp(`^ {2}${student}: kubernetes:workspace-chemistry:user$`, 'm'));
  for (const part of ['storage', 'identity', 'registry']) expect(stdout).toMatch(new RegExp(`^${part} +ready `, 'm'));
  expect(stdout).toContain('enforces no NetworkPolicies');
}

describe('make labs', () => {
  it('shows a class at work, from nothing', async () => {
    const { code, stdout, stderr } = await labs();
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Applying examples/labs/class') });
    expectClass(stdout);
    printed = stdout;
  });

  it('finds all of it done the next time, with the same keys', async () => {
    const folder = join((await clusterStatus({ name })).dir, 'labs');
    const files = readdirSync(folder).toSorted();
    const { code, stdout } = await labs();
    expect(code).toBe(0);
    expectClass(stdout);
    expect(/^ssh -J .*$/m.exec(stdout)?.[0]).toBe(/^ssh -J .*$/m.exec(printed)?.[0]);
    expect(readdirSync(folder).toSorted()).toEqual(files);
  });

  it('tells commands that do what it says of them', async () => {
    const [shell = '', look = '', why = '', quota = '', ssh = '', own = '', remove = ''] = commands();
    expect(shell).toContain(`KUBECONFIG=/var/lib/podloom/${name}/`);
    expect((await inShell(shell, look)).stdout).toMatch(/tenant\S*\/student-a /);
    expect((await inShell(shell, why)).stdout).toContain('Personal Namespace');
    expect((await inShell(shell, quota)).stdout).toMatch(/crownlabs-resource-quota[\s\S]*NetworkPolicy|PodSelector/);
    expect(await inShell(`${ssh} hostname`)).toMatchObject({ code: 0, stdout: 'try-ssh\n' });
    expect((await inShell(shell, own)).stdout).toMatch(/instances\.crownlabs\.polito\.it .*create/);
    expect(await inShell(shell, remove)).toMatchObject({ code: 0 });
    const { stdout: left } = await inShell(shell, 'kubectl get namespaces --output=name');
    expect(left).toContain('tenant-student-b');
    expect(left).not.toContain('tenant-student-a');
  });

  it('is taken down by the command that it told, and leaves nothing', async () => {
    const command = /; (.*) removes the cluster$/m.exec(printed)?.[1] ?? '';
    expect(command).toContain(`--name ${name}`);
    expect(await inShell(command)).toEqual({ code: 0, stdout: `Cluster ${name} is gone\n`, stderr: '' });
    expect(processesOf(name)).toEqual([]);
    // The kernel takes links and mounts of a namespace away after the last process of it.
    await eventually(() => expect(observeMachine([name])).toEqual(before));
  });
});
