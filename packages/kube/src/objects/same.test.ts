import { describe, expect, it } from 'vitest';
import { isSameJson } from './same.ts';

describe('isSameJson', () => {
  it.each([
    ['another order of fields', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ['a field that is undefined', { a: 1, b: undefined }, { a: 1 }],
    ['an empty list', { a: 1, b: [] }, { a: 1 }],
    ['nothing and nothing', undefined, undefined],
  ])('takes no notice of %s', (_, a, b) => {
    expect(isSameJson(a, b)).toBe(true);
  });

  it.each([
    ['another value', { a: 1 }, { a: 2 }],
    ['another order of a list', [1, 2], [2, 1]],
    ['null, which is a value', { a: null }, {}],
    ['something and nothing', {}, undefined],
    ['an empty object, which the server keeps', { a: {} }, {}],
  ])('sees %s', (_, a, b) => {
    expect(isSameJson(a, b)).toBe(false);
  });
});
