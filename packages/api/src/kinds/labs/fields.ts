/** The fields that several kinds of the labs share: references, what was created, quotas. The names are CrownLabs' own. */
import * as z from 'zod';
import type { PrinterColumn } from '../../kind.ts';
import { conditions, objectName, observedGeneration, text } from '../../schema/fields.ts';
import { quantity, quantityAboveZero } from '../../schema/quantity.ts';
import { ruled } from '../../schema/rule.ts';

export const labsGroup = 'crownlabs.polito.it';

export const displayName = (description: string) => text(256, description);

/** Names another object. What a namespace is without being said is for the field to tell. */
export const genericRef = (description: string) =>
  z
    .object({
      name: objectName('Name of the object.'),
      namespace: text(63, 'Namespace of the object.')
        .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/)
        .optional(),
    })
    .describe(description);

export const dnsLabel = (description: string) => text(63, description).regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

export const webAddress = (description: string) =>
  ruled(z.string().max(2048), {
    cel: `self == '' || self.matches('^https?://[^ \\t\\r\\n/]+[^ \\t\\r\\n]*$')`,
    holds: (value) => value === '' || /^https?:\/\/[^ \t\r\n/]+[^ \t\r\n]*$/.test(value),
    message: 'must be an address that begins with http:// or https://',
  }).describe(description);

export const folder = (description: string) =>
  ruled(z.string().max(1024), {
    cel: String.raw`self.matches(r'^/[^:\p{Cc}]*$') && !self.matches('(^|/)[.][.](/|$)')`,
    holds: (value) => /^\/[^:\p{Cc}]*$/u.test(value) && !/(^|\/)\.\.(\/|$)/.test(value),
    message: 'must be a path from the root, such as /media/data, without ".."',
  }).describe(description);

/** Absent and empty are not the same: a Template without it lets nobody choose a node, one that has an empty one lets the Instance choose. */
export const nodeSelector = (description: string) =>
  z
    .record(z.string(), text(63, 'Value of the label.').regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/))
    .meta({ maxProperties: 32 })
    .describe(description);

export const nameCreated = (description: string) =>
  z
    .object({
      name: text(253, 'Its name.').optional(),
      created: z.boolean().describe('Whether it exists.'),
    })
    .describe(description);

const resourceName = '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$';

export const otherResources = (description: string) =>
  ruled(z.record(z.string(), quantity('How much of it.')).meta({ maxProperties: 16 }), {
    cel: `self.all(key, key.size() <= 253 && key.matches('${resourceName}'))`,
    holds: (all) => Object.keys(all).every((key) => key.length <= 253 && new RegExp(resourceName).test(key)),
    message: 'must be names of resources, such as nvidia.com/gpu',
  }).describe(description);

/** What a Workspace grants to each of its users, or a personal workspace to its owner. */
export const workspaceQuota = (description: string) =>
  z
    .object({
      cpu: quantityAboveZero('CPUs, as a number (8) or a quantity ("8", "8000m").'),
      memory: quantityAboveZero('Memory, such as 8Gi.'),
      instances: z.int().min(1).describe('How many instances may run at the same time.'),
      disk: quantity('Disk space. Left out, it is not limited.').optional(),
      otherResources: otherResources('Further resources, by the name that Kubernetes has for them.').optional(),
    })
    .describe(description);

/** Both have no lower bound: 0 is how an administrator stops somebody. */
export const tenantQuotaShape = {
  cpu: quantity('CPUs, as a number (8) or a quantity ("8", "8000m").'),
  memory: quantity('Memory, such as 8Gi.'),
  instances: z.int().min(0).describe('How many instances may run at the same time.'),
};

export const subscriptions = (description: string) =>
  z
    .record(z.string(), z.enum(['Ok', 'Failed']).describe('Ok, or Failed.'))
    .meta({ maxProperties: 16 })
    .describe(description);

export const ready = z.boolean().describe('Whether the last pass found or made everything as it should be.');

export const ownStatus = {
  observedGeneration: observedGeneration.optional(),
  conditions: conditions.optional(),
};

export const readyColumn: PrinterColumn = {
  name: 'Ready',
  type: 'boolean',
  jsonPath: '.status.ready',
  description: 'Whether everything is as it should be',
};
