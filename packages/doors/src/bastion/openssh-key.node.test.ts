/** Host keys as OpenSSH's own programs read them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeHostKeys } from './openssh-key.ts';

describe('host keys', () => {
  it('are read by ssh-keygen, each as what its name says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'podloom-host-keys-'));
    try {
      const shown = Object.entries(makeHostKeys()).map(([name, text]) => {
        const file = join(folder, name);
        writeFileSync(file, text, { mode: 0o600 });
        const publicKey = execFileSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' });
        return `${name}: ${publicKey.split(' ')[0]}`;
      });
      expect(shown).toEqual([
        'ssh_host_key_rsa: ssh-rsa',
        'ssh_host_key_ecdsa: ecdsa-sha2-nistp256',
        'ssh_host_key_ed25519: ssh-ed25519',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
