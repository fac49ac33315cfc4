/** ImageList: which images a registry has, for those who write Templates. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn, text } from '../../schema/fields.ts';
import { labsGroup, ownStatus } from './fields.ts';

const image = z
  .object({
    name: text(512, 'Name of the image within the registry.'),
    versions: z
      .array(text(128, 'One tag.'))
      .max(5000)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Its tags.'),
  })
  .describe('One image.');

const spec = z
  .object({
    registryName: text(512, 'The registry as it is written before the name of an image.'),
    projectBaseName: text(512, 'Project within the registry, where it has such.').optional(),
    images: z.array(image).max(5000).meta({ 'x-kubernetes-list-type': 'atomic' }).describe('The images.'),
  })
  .describe('What the registry has.');

const status = z.object(ownStatus).describe('Whether the list is up to date. Not written yet.');

export const imageListKind = defineKind({
  group: labsGroup,
  version: 'v1alpha1',
  kind: 'ImageList',
  plural: 'imagelists',
  singular: 'imagelist',
  scope: 'Cluster',
  description: 'The images of a registry with their tags. Written by Podloom, read by those who write Templates.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Registry Name', type: 'string', jsonPath: '.spec.registryName', description: 'The registry' },
    ageColumn,
  ],
});

export type ImageList = ObjectOf<typeof imageListKind>;
export type ImageListSpec = z.output<typeof spec>;
export type ImageListStatus = z.output<typeof status>;
