/** Template: what a lab consists of, for people to make instances of. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn, listMap, text } from '../../schema/fields.ts';
import { ruled } from '../../schema/rule.ts';
import { environment } from './environment.ts';
import { displayName, genericRef, labsGroup, nodeSelector, ownStatus } from './fields.ts';

/** Keys with dots and a slash, as CrownLabs has them. */
export const workspaceRefKey = 'workspace.crownlabs.polito.it/WorkspaceRef';

const agePattern = '^(never|[0-9]+[smhd])$';
const age = (description: string) =>
  ruled(z.string().max(16), {
    cel: `self.matches('${agePattern}')`,
    holds: (value) => new RegExp(agePattern).test(value),
    message: 'must be never, or a number with one of the units s, m, h, d, such as 14d',
  }).describe(description);

const cleanup = z
  .object({
    deleteAfterCreation: age('Instances go when they are this old.').default('never'),
    stopAfterInactivity: age(
      'Instances that nobody has used for so long are stopped; those without a disk go.',
    ).default('never'),
    deleteAfterInactivity: age('Instances that have been off for so long go.').default('never'),
  })
  .describe(
    'What becomes of Instances after some time. deleteAfter, inactivityTimeout and destroyAfterInactivity are the older way to say it.',
  )
  .default({ deleteAfterCreation: 'never', stopAfterInactivity: 'never', deleteAfterInactivity: 'never' });

type Older = 'deleteAfter' | 'inactivityTimeout' | 'destroyAfterInactivity';
type Newer = keyof z.output<typeof cleanup>;

/** Both ways may be used, in one object, as long as they do not contradict each other. */
const sameAge = (older: Older, newer: Newer) => ({
  cel: `!has(self.${older}) || self.${older} == 'never' || self.cleanup.${newer} == 'never' || self.${older} == self.cleanup.${newer}`,
  holds: (ages: { readonly [age in Older]?: string | undefined } & { readonly cleanup: z.output<typeof cleanup> }) =>
    new Set([ages[older] ?? 'never', ages.cleanup[newer], 'never']).size <= 2,
  message: `${older} and cleanup.${newer} say the same: set one of them, or both alike`,
  fieldPath: `.${older}`,
});

const spec = ruled(
  z.object({
    prettyName: displayName('Name that people see.'),
    description: text(8192, 'What the lab is for.'),
    [workspaceRefKey]: genericRef('The Workspace that the Template belongs to. It is in no namespace.').optional(),
    environmentList: listMap(environment, ['name'], 10)
      .min(1)
      .describe('What an Instance consists of, each of a name of its own.'),
    deleteAfter: age('As cleanup.deleteAfterCreation.').default('never'),
    inactivityTimeout: age('As cleanup.stopAfterInactivity.').optional(),
    destroyAfterInactivity: age('As cleanup.deleteAfterInactivity.').optional(),
    cleanup,
    nodeSelector: nodeSelector(
      'Labels of the nodes that Instances may run on. Left out, nobody chooses; empty, the Instance chooses.',
    ).optional(),
    allowPublicExposure: z
      .boolean()
      .describe('Whether Instances may ask for ports with a public address. Only with one environment.')
      .default(false),
  }),
  sameAge('deleteAfter', 'deleteAfterCreation'),
  sameAge('inactivityTimeout', 'stopAfterInactivity'),
  sameAge('destroyAfterInactivity', 'deleteAfterInactivity'),
).describe('The lab as its managers want it.');

const status = z
  .object(ownStatus)
  .describe('What was found. Not written yet; fields that are taken and not acted on will be named in a condition.');

const first = '.spec.environmentList[0]';

export const templateKind = defineKind({
  group: labsGroup,
  version: 'v1alpha2',
  kind: 'Template',
  plural: 'templates',
  singular: 'template',
  shortNames: ['tmpl'],
  scope: 'Namespaced',
  description:
    'A lab that people can make Instances of: one environment or several, each a virtual machine or a container.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Pretty Name', type: 'string', jsonPath: '.spec.prettyName', description: 'Name that people see' },
    {
      name: 'Image',
      type: 'string',
      jsonPath: `${first}.image`,
      description: 'Image of the first environment',
      wide: true,
    },
    {
      name: 'Type',
      type: 'string',
      jsonPath: `${first}.environmentType`,
      description: 'Type of the first environment',
      wide: true,
    },
    {
      name: 'GUI',
      type: 'boolean',
      jsonPath: `${first}.guiEnabled`,
      description: 'Whether it has a desktop',
      wide: true,
    },
    {
      name: 'Persistent',
      type: 'boolean',
      jsonPath: `${first}.persistent`,
      description: 'Whether its disk is kept',
      wide: true,
    },
    { name: 'Mode', type: 'string', jsonPath: `${first}.mode`, description: 'Mode of the first environment' },
    ageColumn,
  ],
  name: {
    maxLength: 63,
    description: 'At most 63 characters, because what is made of it has it as the value of a label.',
  },
});

export type Template = ObjectOf<typeof templateKind>;
export type TemplateSpec = z.output<typeof spec>;
/** A spec as it may be written, defaults left out. */
export type TemplateSpecInput = z.input<typeof spec>;
export type TemplateStatus = z.output<typeof status>;
export type Environment = TemplateSpec['environmentList'][number];
export type EnvironmentType = Environment['environmentType'];
