import { describe, expect, it } from 'vitest';
import { type Named, attachTo, detachFrom } from './edit.ts';
import { kaloomAnnotation } from './kaloom-annotation.ts';
import { nadAnnotation } from './nad-annotation.ts';

const nad = (name: string, more: Partial<Named> = {}): Named => ({
  kind: 'NetworkAttachmentDefinition',
  namespace: 'x',
  name,
  ...more,
});
const green: Named = { kind: 'Network', namespace: 'x', name: 'green' };
const attach = (text: string, named: Named) => {
  const { text: after, key } = attachTo({ [nadAnnotation]: text }, 'x', named);
  return { after: JSON.parse(after ?? 'null') as unknown, key };
};
const detach = (text: string, named: Named, names: Record<string, string> = {}) => {
  const { text: after, key } = detachFrom({ [nadAnnotation]: text }, 'x', named, (one) => names[one]);
  return { after: JSON.parse(after ?? 'null') as unknown, key };
};
const key = (own: string): string => `NetworkAttachmentDefinition/a/${own}`;

describe('attaching', () => {
  it('adds an element, and leaves the others as they are', () => {
    expect(attach('', nad('a'))).toEqual({ after: [{ name: 'a' }], key: key(':1') });
    expect(attach('a@lan0, y/b', nad('a', { ips: ['10.0.0.7'] }))).toEqual({
      after: [
        { name: 'a', interface: 'lan0' },
        { name: 'b', namespace: 'y' },
        { name: 'a', ips: ['10.0.0.7'] },
      ],
      key: key(':1'),
    });
    expect(attach('[{"name":"a","org.example.x":{"k":1}}]', nad('a'))).toEqual({
      after: [{ name: 'a', 'org.example.x': { k: 1 } }, { name: 'a' }],
      key: key(':2'),
    });
    expect(attachTo({}, 'x', green)).toEqual({
      annotation: kaloomAnnotation,
      text: '[{"name":"green"}]',
      key: 'Network/green/net9f27410725ab',
    });
  });

  it('refuses what is there already, and to mend what it cannot read', () => {
    expect(() => attach('a@lan0', nad('a', { interface: 'lan0' }))).toThrow('already for lan0');
    expect(() => attachTo({ [kaloomAnnotation]: '[{"name":"green"}]' }, 'x', green)).toThrow('already');
    expect(() => attach('[{', nad('a'))).toThrow('not JSON');
    expect(() => attach('', nad('a', { interface: '../x' }))).toThrow('name of a link');
  });
});

describe('detaching', () => {
  it('takes out the one element', () => {
    expect(detach('a', nad('a'))).toEqual({ after: null, key: key(':1') });
    expect(detach('b,a', nad('a'), { [key(':1')]: 'net2' })).toEqual({ after: [{ name: 'b' }], key: key(':1') });
    expect(detach('a,a@lan0', nad('a', { interface: 'lan0' }))).toEqual({ after: [{ name: 'a' }], key: key('lan0') });
    expect(detach('a,a', nad('a', { interface: 'net2' }), { [key(':2')]: 'net2' }).key).toBe(key(':2'));
  });

  it('refuses what is not there, what is not said exactly, and what would move others', () => {
    expect(() => detach('b', nad('a'))).toThrow('names no network a');
    expect(() => detach('y/a', nad('a'))).toThrow('names no network a');
    expect(() => detach('a@lan0,a@lan1', nad('a'))).toThrow('lan0, lan1');
    const names = { [key(':1')]: 'net1', [key(':2')]: 'net2' };
    expect(() => detach('a,a', nad('a', { interface: 'net1' }), names)).toThrow('only the last can go: net2');
  });
});
