/** What an administrator can set of `podloom image-list`. The flags are those of CrownLabs' script; the file of authorities is ours. */
import { integer, path, settings, text } from '@podloom/kube';

export const imageListSettings = settings({
  advertisedRegistryName: text().describe('The registry as people write it before the name of an image.'),
  imageListName: text().describe('Name of the ImageList that is kept.'),
  registryUrl: text().describe('Where the registry answers, such as https://registry.example:5000.'),
  registryUsername: text().env('REGISTRY_USERNAME').default('').describe('User of the registry, where it wants one.'),
  registryPassword: text()
    .env('REGISTRY_PASSWORD')
    .default('')
    .describe('Password of that user. The environment keeps it out of process lists.'),
  registryCaFile: path()
    .default('')
    .describe("Certificates of the authorities to believe, in PEM. Left out, the machine's."),
  updateInterval: integer({ min: 1, max: 86_400 }).describe('Seconds between one look at the registry and the next.'),
});
export type ImageListSettings = ReturnType<typeof imageListSettings.read>;
