/** What a registry has that somebody can choose: images with their tags. */
import type { ImageListSpec } from '@podloom/api';
import type { Registry } from '@podloom/oci';

type Image = ImageListSpec['images'][number];

/** So many questions at a time: a registry has hundreds of repositories, and other things to do. */
const atATime = 8;

/**
 * Sorted, so that the same registry is the same list. "latest" says nothing about what somebody gets, and a repository whose tags were deleted keeps its name:
 * neither is listed.
 */
export async function imagesOf(registry: Pick<Registry, 'repositories' | 'tags'>): Promise<Image[]> {
  const names = (await Array.fromAsync(registry.repositories())).toSorted();
  const images: Image[] = [];
  const queue = names.values();
  const work = async (): Promise<void> => {
    for (const name of queue) {
      const tags = await Array.fromAsync(registry.tags(name));
      const versions = tags.filter((tag) => tag !== 'latest' && tag !== '').toSorted();
      if (versions.length > 0) images.push({ name, versions });
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return images.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
