import { describe, expect, it } from 'vitest';
import { parseSources } from './source.ts';

const parse = (text: string) => parseSources(text, 'registries.yaml');

describe('parseSources', () => {
  it('reads the file of an earlier installation', () => {
    const text = `
- name: main
  type: docker
  url: https://registry.example:5000
  registryName: registry.example:5000
  username: reader
  password: "012"
  imageListName: main-images
- { url: 'https://other.example', registryName: other.example, imageListName: other-images }
`;
    expect(parse(text)).toEqual([
      {
        list: 'main-images',
        url: 'https://registry.example:5000',
        registryName: 'registry.example:5000',
        credentials: { username: 'reader', password: '012' },
      },
      { list: 'other-images', url: 'https://other.example', registryName: 'other.example' },
    ]);
  });

  it.each([
    ['no YAML', '- [', 'registries.yaml is no YAML'],
    ['something else than a list', 'url: a', 'must hold a list of registries'],
    ['no address', '- { registryName: a, imageListName: b }', 'registries.yaml: [0].url is needed'],
    ['no name of a list', '- { url: a, registryName: a }', 'registries.yaml: [0].imageListName is needed'],
    ['a number for text', '- { url: 1, registryName: a, imageListName: b }', '[0].url must be text'],
    ['text for a registry', '- a', '[0].imageListName is needed'],
    [
      'a server of another kind',
      '- { type: harbor, url: a, registryName: a, imageListName: b }',
      'only docker is known',
    ],
    ['a list twice', '- &a { url: a, registryName: a, imageListName: b }\n- *a', 'two registries have the list "b"'],
  ])('refuses %s', (_, text, reason) => expect(() => parse(text)).toThrow(reason));
});
