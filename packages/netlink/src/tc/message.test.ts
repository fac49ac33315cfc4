import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHandle, parseHandle } from './message.ts';

describe('handles', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (handle) => {
        expect(parseHandle(formatHandle(handle))).toBe(handle);
      }),
    );
  });

  it.each([
    ['1:', 0x1_0000],
    ['1:10', 0x1_0010],
    ['ffff:', 0xffff_0000],
    ['root', 0xffff_ffff],
    ['ingress', 0xffff_fff2],
    ['egress', 0xffff_fff3],
  ])('%s is the number %i', (text, number) => {
    expect(parseHandle(text)).toBe(number);
    expect(formatHandle(number)).toBe(text);
  });

  it.each(['', '1', 'x:1', '10000:', '1:2:3', 'toString'])('refuses "%s"', (text) => {
    expect(() => parseHandle(text)).toThrow(RangeError);
  });
});
