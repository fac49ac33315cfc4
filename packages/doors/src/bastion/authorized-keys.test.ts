import type { Tenant } from '@podloom/api';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { authorizedKeysFile, tenantKeys } from './authorized-keys.ts';

function tenant(name: string, publicKeys: readonly string[], metadata: Partial<Tenant['metadata']> = {}): Tenant {
  return {
    apiVersion: 'crownlabs.polito.it/v1alpha2',
    kind: 'Tenant',
    metadata: { name, ...metadata },
    spec: {
      firstName: 'A',
      lastName: 'B',
      email: 'a@example.com',
      createSandbox: false,
      publicKeys: [...publicKeys],
    },
  };
}

/** A line as `ssh-keygen -t ed25519` writes it. */
function freshKey(comment = 'me@laptop'): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x, 'base64url')];
  const blob = Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    }),
  );
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`.trimEnd();
}

const key = freshKey();
const [type, base64] = key.split(' ') as [string, string];

describe('authorizedKeysFile', () => {
  it('has a line for each key, with the name of the person in place of the comment', () => {
    expect(authorizedKeysFile([tenant('mary', [key])])).toBe(`${type} ${base64} mary\n`);
  });

  it('is the same for the same people, in whichever order they come', () => {
    const people = [tenant('mary', [freshKey(), freshKey()]), tenant('john', [freshKey()])];
    expect(authorizedKeysFile(people.toReversed())).toBe(authorizedKeysFile(people));
  });

  it('says a key once that a person has twice, and lets two people have one key', () => {
    const text = authorizedKeysFile([tenant('mary', [key, `${type} ${base64}`]), tenant('john', [key])]);
    expect(text).toBe(`${type} ${base64} john\n${type} ${base64} mary\n`);
  });

  it('leaves out who is being deleted', () => {
    const leaving = tenant('mary', [key], { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(authorizedKeysFile([leaving])).toBe('');
  });

  it('is empty without people', () => {
    expect(authorizedKeysFile([])).toBe('');
  });
});

describe('a key', () => {
  it.each([
    ['one word', 'ssh-ed25519', 'needs two words'],
    ['options', `command="sh" ${key}`, 'begins with "command="sh""'],
    ['options that let more through', `permitopen="*:80",no-pty ${key}`, 'is no type of key'],
    ['a second line', `${key}\n${freshKey()}`, 'has a line break'],
    ['a carriage return', `${key}\r${freshKey()}`, 'has a line break'],
    ['a type that nobody knows', `type1 ${base64}`, 'begins with "type1"'],
    ['a type that is too old', `ssh-dss ${base64}`, 'begins with "ssh-dss"'],
    ['another type inside', `ssh-rsa ${base64}`, 'holds no ssh-rsa key'],
    ['no base64', `${type} not*base64`, 'holds no ssh-ed25519 key'],
    ['half of it', `${type} ${base64.slice(0, 8)}`, 'holds no ssh-ed25519 key'],
  ])('with %s is left out, and its reason told', (_, text, reason) => {
    const { lines, refused } = tenantKeys(tenant('mary', [text, key]));
    expect(lines).toEqual([`${type} ${base64} mary`]);
    expect(refused).toEqual([{ index: 0, reason: expect.stringContaining(reason) as string }]);
  });

  it('may have white space around it', () => {
    expect(tenantKeys(tenant('mary', [` ${type} \t ${base64}\n`])).lines).toEqual([`${type} ${base64} mary`]);
  });
});
