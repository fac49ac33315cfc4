export { baseEntries, imageUser } from './images/base.ts';
export { ensureOciArchive } from './images/ensure.ts';
export type { ImageEntry } from './images/entries.ts';
export { inspectOciArchive, type ImageContents } from './images/inspect.ts';
export { sharedLibraries } from './images/libraries.ts';
export { writeOciArchive, type ImageArchive, type ImageConfig, type ImageOptions } from './images/oci.ts';
export { parseImageName, type ImageName } from './images/name.ts';
export { pauseImage } from './images/pause.ts';
export { toolsImage } from './images/tools.ts';
