/** SharedVolume: a volume of a workspace that many environments mount. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn, text } from '../../schema/fields.ts';
import { quantityAboveZero } from '../../schema/quantity.ts';
import { displayName, labsGroup, ownStatus } from './fields.ts';

export const sharedVolumePhases = [
  '',
  'Pending',
  'Provisioning',
  'Ready',
  'Deleting',
  'ResourceQuotaExceeded',
  'Error',
] as const;
export type SharedVolumePhase = (typeof sharedVolumePhases)[number];

const spec = z
  .object({
    prettyName: displayName('Name that people see.'),
    size: quantityAboveZero(
      'Size, such as 10Gi. It can grow; a smaller one is not carried out and gives the phase Error.',
    ),
  })
  .describe('The volume as its managers want it.');

const status = z
  .object({
    phase: z.enum(sharedVolumePhases).describe('How far it is.').optional(),
    serverAddress: text(253, 'NFS server, where the volume is one of NFS.').optional(),
    exportPath: text(4096, 'Path on that server.').optional(),
    pvName: text(253, 'The PersistentVolume behind it.').optional(),
    ...ownStatus,
  })
  .describe('What was found.');

export const sharedVolumeKind = defineKind({
  group: labsGroup,
  version: 'v1alpha2',
  kind: 'SharedVolume',
  plural: 'sharedvolumes',
  singular: 'sharedvolume',
  shortNames: ['shvol'],
  scope: 'Namespaced',
  description: 'A volume that Templates mount in many Instances at once. It stays while a Template names it.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Pretty Name', type: 'string', jsonPath: '.spec.prettyName', description: 'Name that people see' },
    { name: 'Size', type: 'string', jsonPath: '.spec.size', description: 'Size' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'How far it is' },
    ageColumn,
  ],
});

export type SharedVolume = ObjectOf<typeof sharedVolumeKind>;
export type SharedVolumeSpec = z.output<typeof spec>;
export type SharedVolumeStatus = z.output<typeof status>;
