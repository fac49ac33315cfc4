/** Names of images, complete as the kubelet spells them, so that what was loaded is what a pod asks for. */
import { InvalidImage } from './errors.ts';

export type ImageName = string & { readonly __brand: 'ImageName' };

// HOST/PATH:TAG, the host recognisable as one by a dot, a port or "localhost": others would get "docker.io/" put in front.
const pattern =
  /^(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9.-]+(?=:))(?::\d+)?(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)+:(?<tag>\w[\w.-]{0,127})$/;

/** Throws unless the name has host and tag; the tag must not be "latest", for which pods would always ask a registry. */
export function parseImageName(text: string): ImageName {
  const tag = text.length <= 255 ? pattern.exec(text)?.groups?.['tag'] : undefined;
  if (!tag || tag === 'latest') {
    throw new InvalidImage(
      'IMAGE_NAME',
      `"${text}" cannot be the name of an image: HOST/PATH:TAG is wanted, with a tag other than "latest", for example podloom.local/tools:1.0`,
    );
  }
  return text as ImageName;
}

export function tagOf(name: ImageName): string {
  return name.slice(name.lastIndexOf(':') + 1);
}
