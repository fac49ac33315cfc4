/** InstanceSnapshot: makes an image of the disk of an Instance that is off. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn } from '../../schema/fields.ts';
import { ruled } from '../../schema/rule.ts';
import { genericRef, labsGroup, ownStatus } from './fields.ts';

const pathPart = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';
const repository = `^${pathPart}(/${pathPart})*$`;

const spec = z
  .object({
    instanceRef: genericRef('The Instance; without a namespace, one beside the snapshot.'),
    environmentRef: genericRef('The environment of it, by name. Left out, the first.').optional(),
    imageName: ruled(z.string().min(1).max(128), {
      cel: `self.matches('${repository}')`,
      holds: (value) => new RegExp(repository).test(value),
      message: 'must be the name of an image in lower case, without registry and tag, such as green-tea',
    }).describe('Name of the image. Registry and name of the tenant come before it; the tag is the time.'),
  })
  .describe('What to make an image of. Read once.');

const status = z
  .object({
    phase: z.enum(['', 'Pending', 'Processing', 'Completed', 'Failed']).describe('How far it is.').optional(),
    ...ownStatus,
  })
  .describe('What was found. Not written yet.');

export const instanceSnapshotKind = defineKind({
  group: labsGroup,
  version: 'v1alpha2',
  kind: 'InstanceSnapshot',
  plural: 'instancesnapshots',
  singular: 'instancesnapshot',
  shortNames: ['isnap'],
  scope: 'Namespaced',
  description: 'Makes an image of the disk of a persistent virtual machine that is off, and sends it to the registry.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'How far it is' },
    { name: 'ImageName', type: 'string', jsonPath: '.spec.imageName', description: 'Name of the image' },
    ageColumn,
  ],
  name: { maxLength: 63, description: 'At most 63 characters, because the Job that does the work is called by it.' },
});

export type InstanceSnapshot = ObjectOf<typeof instanceSnapshotKind>;
export type InstanceSnapshotSpec = z.output<typeof spec>;
export type InstanceSnapshotStatus = z.output<typeof status>;
