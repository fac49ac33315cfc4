import { describe, expect, it } from 'vitest';
import { InvalidImage } from '../errors.ts';
import { checkDigest, checkReference, checkRepository } from './names.ts';

describe('names in the path of a call', () => {
  it.each(['a', 'a/b', 'tests/tools', 'a.b/c_d/e-f/0', 'a__b'])('takes the repository %s', (name) => {
    expect(checkRepository(name)).toBe(name);
  });

  it.each(['', '/a', 'a/', 'a//b', '../a', 'a/../b', 'A', 'a b', 'a?b', 'a%2fb', '-a', 'a'.repeat(256)])(
    'refuses the repository "%s"',
    (name) => {
      expect(() => checkRepository(name)).toThrow(InvalidImage);
    },
  );

  it('takes tags and digests, and nothing that leads elsewhere', () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    expect([checkReference('v1.0_x-y'), checkReference(digest), checkDigest(digest)]).toEqual([
      'v1.0_x-y',
      digest,
      digest,
    ]);
    for (const bad of ['', '.a', 'a/b', 'a:b', 'sha256:0', '../x'])
      expect(() => checkReference(bad)).toThrow(InvalidImage);
    expect(() => checkDigest('v1')).toThrow(InvalidImage);
  });
});
