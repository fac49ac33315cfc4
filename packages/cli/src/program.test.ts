import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const podloom = (...args: string[]) =>
  run(process.execPath, [`${import.meta.dirname}/main.ts`, ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );

describe('podloom', () => {
  it('shows its commands and exit codes with --help', async () => {
    const { code, stdout } = await podloom('--help');
    expect(code).toBe(0);
    expect(stdout).toContain('cluster');
    expect(stdout).toContain('Exit codes:');
  });

  it.each([['cluster'], ['cluster', 'up'], ['cluster', 'exec'], ['completion']])(
    'has help for %s %s',
    async (...path) => {
      const { code, stdout } = await podloom(...path.filter(Boolean), '--help');
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: podloom ${path.filter(Boolean).join(' ')}`);
    },
  );

  it.each([
    ['agent'],
    ['image-list'],
    ['labs-operator'],
    ['bastion'],
    ['bastion', 'host-keys'],
    ['network-operator'],
    ['network-operator', 'withdraw'],
    ['ssh-tracker'],
  ])('has the settings of %s %s', async (...path) => {
    const { code, stdout } = await podloom(...path.filter(Boolean), '--help');
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: podloom ${path.filter(Boolean).join(' ')} [settings]`);
  });

  it.each([
    ['a setting of the agent that there is not', ['agent', '--knots', '2'], /Unknown option '--knots'/],
    ['a command that there is not', ['clutser'], /unknown command 'clutser'/],
    ['an option that there is not', ['cluster', 'up', '--knots', '2'], /unknown option '--knots'/],
    ['a plan of nothing', ['plan'], /name a pod, or a file/],
    ['a count that is none', ['cluster', 'up', '--nodes', 'two'], /whole number/],
    ['a name that a link cannot carry', ['cluster', 'status', '--name', '../etc'], /cannot be a cluster's name/],
    ['a cluster that there is not', ['cluster', 'status', '--name', 'nowhere'], /no cluster nowhere; make it with/],
  ])('answers %s on stderr with exit code 2', async (_, args, message) => {
    const { code, stdout, stderr } = await podloom(...args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it.each([
    ['a command', ['clutser']],
    ['a command of a command', ['cluster', 'pu']],
    ['an option of a command', ['show', '--knots']],
    ['an option of a command of a command', ['cluster', 'up', '--knots']],
  ])('hints at --help for %s that there is not', async (_, args) => {
    expect((await podloom(...args)).stderr).toContain('(--help shows what there is)');
  });
});
