import { InvalidImage } from '../errors.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planEntries, type ImageEntry } from './entries.ts';

const paths = (entries: ImageEntry[]): string[] => entries.map(({ path }) => path);

describe('planEntries', () => {
  it('adds missing parents and puts them before their children', () => {
    expect(paths(planEntries([{ path: 'usr/bin/ip', text: '' }]))).toEqual(['usr', 'usr/bin', 'usr/bin/ip']);
  });

  it('keeps a directory that was given, with its mode', () => {
    const tmp: ImageEntry = { path: 'tmp', directory: true, mode: 0o1777 };
    expect(planEntries([{ path: 'tmp/a', text: '' }, tmp])[0]).toEqual(tmp);
  });

  it.each<[string, ImageEntry[]]>([
    ['an absolute path', [{ path: '/etc/passwd', text: '' }]],
    ['a path that climbs out', [{ path: '../etc/passwd', text: '' }]],
    ['a path that climbs out in the middle', [{ path: 'a/../../b', text: '' }]],
    ['a path that is not in its shortest form', [{ path: 'a//b', text: '' }]],
    ['a path with a slash at its end', [{ path: 'a/', directory: true }]],
    ['the root itself', [{ path: '.', directory: true }]],
    ['the parent of the root', [{ path: '..', directory: true }]],
    ['an empty path', [{ path: '', text: '' }]],
    ['a path with a NUL', [{ path: 'a\0b', text: '' }]],
    ['a whiteout', [{ path: 'etc/.wh.passwd', text: '' }]],
    ['a link that climbs out', [{ path: 'a/b', link: '../../c' }]],
    ['a link to nothing', [{ path: 'a', link: '' }]],
    ['a link to itself', [{ path: 'usr/bin', link: 'bin' }]],
    [
      'one path twice',
      [
        { path: 'a', text: '' },
        { path: 'a', link: 'b' },
      ],
    ],
    [
      'a file below a link',
      [
        { path: 'lib', link: 'usr/lib' },
        { path: 'lib/x', text: '' },
      ],
    ],
    [
      'a file below a file',
      [
        { path: 'a', text: '' },
        { path: 'a/b', text: '' },
      ],
    ],
    ['a set-user-id file', [{ path: 'su', text: '', mode: 0o4755 }]],
  ])('refuses %s', (_, entries) => {
    expect(() => planEntries(entries)).toThrow(InvalidImage);
  });

  it('lets links point anywhere inside, also absolutely', () => {
    const links: ImageEntry[] = [
      { path: 'usr/sbin', link: 'bin' },
      { path: 'usr/bin/podloom', link: '/opt/podloom/podloom.mjs' },
      { path: 'usr/lib/a', link: '../bin/b' },
    ];
    expect(paths(planEntries(links))).toContain('usr/lib/a');
  });

  it('gives the same order whatever order it was given', () => {
    const part = fc.stringMatching(/^[a-d]{1,2}$/);
    const files = fc.uniqueArray(fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => `${parts.join('/')}.x`));
    fc.assert(
      fc.property(files, fc.infiniteStream(fc.nat()), (names, order) => {
        const entries = names.map((path) => ({ path, text: path }));
        const shuffled = entries
          .map((entry) => ({ entry, at: order.next().value as number }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ entry }) => entry);
        expect(planEntries(shuffled)).toEqual(planEntries(entries));
      }),
    );
  });
});
