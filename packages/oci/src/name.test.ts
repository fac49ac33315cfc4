import { InvalidImage } from './errors.ts';
import { describe, expect, it } from 'vitest';
import { parseImageName, tagOf } from './name.ts';

describe('parseImageName', () => {
  it.each(['podloom.local/podloom:0.1.0', 'localhost/a/b:x', 'registry:5000/tools:v1', 'a.b.c:80/x-y/z_1:T'])(
    'takes %s',
    (name) => {
      expect(parseImageName(name)).toBe(name);
    },
  );

  it.each([
    ['without a tag', 'podloom.local/podloom'],
    ['with the tag that pods never find locally', 'podloom.local/podloom:latest'],
    ['without a host, which would become docker.io', 'tools:0.1.0'],
    ['with a host that is taken for a folder', 'podloom/tools:0.1.0'],
    ['in capitals', 'podloom.local/Tools:1'],
    ['with a climbing path', 'podloom.local/../tools:1'],
    ['with a line break', 'podloom.local/tools:1\n'],
    ['that is too long', `podloom.local/${'a'.repeat(300)}:1`],
    ['that is empty', ''],
  ])('refuses a name %s', (_, name) => {
    expect(() => parseImageName(name)).toThrow(InvalidImage);
  });

  it('finds the tag after a port', () => {
    expect(tagOf(parseImageName('registry:5000/tools:v1'))).toBe('v1');
  });
});
