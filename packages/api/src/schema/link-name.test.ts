import { describe, expect, it } from 'vitest';
import { isLinkName, parseLinkName } from './link-name.ts';

describe('a link name', () => {
  it.each(['eth0', 'a', 'abcdefghijklmno', 'br-a.100', 'wlan@1', '!#$&~', '...'])('can be %j', (name) => {
    expect(parseLinkName(name)).toBe(name);
  });

  it.each([
    '',
    'abcdefghijklmnop',
    'ü',
    'à',
    'a\u00A0b',
    'eth%d',
    '.',
    '..',
    'a/b',
    'a:1',
    'a b',
    'a\n',
    'a\t',
    'a\0b',
  ])('cannot be %j', (name) => {
    expect(isLinkName(name)).toBe(false);
    expect(() => parseLinkName(name)).toThrow('cannot be a link name');
  });
});
