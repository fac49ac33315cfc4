/** Network: a CNI network as the Kaloom podagent and kactus have it, chosen by the pod annotation "networks". */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { ageColumn, conditions, observedGeneration, readyColumn } from '../schema/fields.ts';
import { jsonObjectText } from '../schema/json.ts';
import { ruled } from '../schema/rule.ts';

const spec = ruled(
  z.object({
    plugin: z
      .string()
      .min(1)
      .max(63)
      .regex(/^[A-Za-z0-9][-A-Za-z0-9._]*$/)
      .describe('CNI plugin: the name of its program, never a path.')
      .optional(),
    config: jsonObjectText(16384, 'CNI configuration as JSON text.').optional(),
  }),
  {
    cel: 'has(self.plugin) || has(self.config)',
    holds: ({ plugin, config }) => plugin !== undefined || config !== undefined,
    message: 'plugin or config must be set',
    reason: 'FieldValueRequired',
  },
).describe('Which CNI plugin to call, and with what.');

const status = z
  .object({ observedGeneration: observedGeneration.optional(), conditions: conditions.optional() })
  .describe('What was found.');

export const networkKind = defineKind({
  group: 'kaloom.com',
  version: 'v1',
  kind: 'Network',
  plural: 'networks',
  singular: 'network',
  shortNames: ['net'],
  scope: 'Namespaced',
  description: 'A CNI network that pods of the namespace name in their annotation "networks".',
  foreign: true,
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Plugin', type: 'string', jsonPath: '.spec.plugin', description: 'CNI plugin' },
    ...readyColumn,
    ageColumn,
  ],
});

export type Network = ObjectOf<typeof networkKind>;
export type NetworkSpec = z.output<typeof spec>;
export type NetworkStatus = z.output<typeof status>;
