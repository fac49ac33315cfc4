import { describe, expect, it } from 'vitest';
import { imagesOf } from './images.ts';

const registryWith = (images: Readonly<Record<string, readonly string[]>>) => ({
  async *repositories() {
    yield* Object.keys(images);
  },
  async *tags(name: string) {
    yield* images[name] ?? [];
  },
});

describe('imagesOf', () => {
  it('is the same list in whichever order the registry answers, without what says nothing', async () => {
    const images = await imagesOf(
      registryWith({ b: ['v2', 'latest', 'v1'], a: ['v1'], 'only/latest': ['latest'], deleted: [] }),
    );
    expect(images).toEqual([
      { name: 'a', versions: ['v1'] },
      { name: 'b', versions: ['v1', 'v2'] },
    ]);
  });

  it('is empty for an empty registry', async () => {
    expect(await imagesOf(registryWith({}))).toEqual([]);
  });
});
