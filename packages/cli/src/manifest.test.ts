import { describe, expect, it } from 'vitest';
import { parseManifests } from './manifest.ts';

describe('parseManifests', () => {
  it('takes several documents, lists and empty documents apart', () => {
    const text = [
      '# nothing but a comment',
      '---',
      '{apiVersion: v1, kind: A, metadata: {name: a}}',
      '---',
      'apiVersion: v1',
      'kind: List',
      'items: [{apiVersion: v1, kind: B, metadata: {name: b}}]',
    ].join('\n');
    expect(parseManifests(text, 'file').map(({ kind }) => kind)).toEqual(['A', 'B']);
  });

  it('reads booleans as kubectl does', () => {
    const [object] = parseManifests('{apiVersion: v1, kind: A, metadata: {name: a}, spec: {create: yes}}', 'file');
    expect(object).toMatchObject({ spec: { create: true } });
  });

  it.each([
    ['text that is not YAML', 'a: [', /document 1: /],
    ['an object without a name', 'apiVersion: v1\nkind: A', /metadata.name must be there/],
    ['a bare word', 'hello', /apiVersion, kind and metadata.name/],
  ])('refuses %s and says where', (_, text, message) => {
    expect(() => parseManifests(text, 'web.yaml')).toThrow(message);
    expect(() => parseManifests(text, 'web.yaml')).toThrow(/web\.yaml, document 1/);
  });
});
