import { describe, expect, it } from 'vitest';
import { link, wish } from '../testing/builders.ts';
import { isOfType } from './ends.ts';

const pair = { kind: 'veth', isPair: true };
const alone = { kind: 'macvlan', isPair: false, data: () => ({ mode: 'bridge' }) };
const end = (kind: string, data?: Record<string, string>) => link('net1', 5, { kind, ...(data && { data }) });

describe('a link that is there', () => {
  it.each([
    ['a pair', pair, { node: end('veth'), pod: end('veth') }, true],
    ['a pair of which one end is gone', pair, { pod: end('veth') }, false],
    ['a link of another kind', pair, { node: end('bridge'), pod: end('veth') }, false],
    ['one without another end', alone, { pod: end('macvlan', { mode: 'bridge', more: 'x' }) }, true],
    ['one with other settings of its kind', alone, { pod: end('macvlan', { mode: 'private' }) }, false],
    ['one whose settings were not read', alone, { pod: end('macvlan') }, false],
    ['nothing', alone, {}, false],
  ])('is mended, or made anew: %s', (_, type, ends, isKept) => {
    expect(isOfType(type, wish(), ends)).toBe(isKept);
  });
});
