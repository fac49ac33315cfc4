import { describe, expect, it } from 'vitest';
import { parseChallenge, parseNextLink } from './headers.ts';

describe('parseChallenge', () => {
  it.each([
    ['Basic realm="podloom"', { scheme: 'basic', parameters: { realm: 'podloom' } }],
    [
      'Bearer realm="https://a.example/token",service="r",scope="repository:a/b:pull,push"',
      {
        scheme: 'bearer',
        parameters: { realm: 'https://a.example/token', service: 'r', scope: 'repository:a/b:pull,push' },
      },
    ],
    [
      'bearer Realm=plain, service="say \\"r\\""',
      { scheme: 'bearer', parameters: { realm: 'plain', service: 'say "r"' } },
    ],
    ['Negotiate', { scheme: 'negotiate', parameters: {} }],
    ['', undefined],
  ])('reads %s', (header, challenge) => {
    expect(parseChallenge(header)).toEqual(challenge);
  });
});

describe('parseNextLink', () => {
  it.each([
    ['</v2/_catalog?last=b&n=2>; rel="next"', '/v2/_catalog?last=b&n=2'],
    ['<https://r.example/x>; rel=next; title="a"', 'https://r.example/x'],
    ['</first>; rel="first", </second>; rel="next"', '/second'],
    ['</first>; rel="first"', undefined],
    [undefined, undefined],
  ])('reads %s', (header, target) => {
    expect(parseNextLink(header)).toBe(target);
  });
});
