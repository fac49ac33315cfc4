import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { completeWords, completionScripts } from './completion.ts';
import { program } from './program.ts';

describe('completeWords', () => {
  it.each([
    [
      'offers the commands at the start',
      [''],
      [
        'agent',
        'attach',
        'bastion',
        'cluster',
        'completion',
        'detach',
        'image-list',
        'labs-operator',
        'network-operator',
        'plan',
        'show',
        'ssh-tracker',
      ],
    ],
    ['offers the subcommands of a command', ['cluster', 'ku'], ['kubeconfig']],
    ['offers the options of a command', ['cluster', 'up', '--n'], ['--name', '--nodes']],
    ['offers the choices of an argument', ['completion', ''], ['bash', 'fish', 'zsh']],
    ['offers nothing where nothing fits', ['cluster', 'nope'], []],
  ])('%s', (_, words, candidates) => {
    expect(completeWords(program(), words)).toEqual(candidates);
  });
});

describe('completionScripts', () => {
  it('gives bash a script that it can read', () => {
    expect(() => execFileSync('bash', ['-n'], { input: completionScripts.bash })).not.toThrow();
  });
});
