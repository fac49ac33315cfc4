export { InvalidImage, RegistryError } from './errors.ts';
export { writeOciArchive, type ImageArchive, type ImageConfig, type ImageOptions } from './layout/archive.ts';
export { readElf, type Elf } from './layout/elf.ts';
export { ensureOciArchive } from './layout/ensure.ts';
export type { ImageEntry } from './layout/entries.ts';
export { inspectOciArchive, type ImageContents } from './layout/inspect.ts';
export { unpackOciArchive } from './layout/unpack.ts';
export { parseImageName, type ImageName } from './name.ts';
export type { Credentials } from './registry/access.ts';
export { pushOciArchive, type PushOptions } from './registry/push-archive.ts';
export {
  openRegistry,
  type Descriptor,
  type Manifest,
  type Registry,
  type RegistryOptions,
} from './registry/registry.ts';
