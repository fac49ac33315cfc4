/** Workspace: a course, with its templates, its people and what each of them may use. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn } from '../../schema/fields.ts';
import {
  displayName,
  labsGroup,
  nameCreated,
  ownStatus,
  ready,
  readyColumn,
  subscriptions,
  workspaceQuota,
} from './fields.ts';

const spec = z
  .object({
    prettyName: displayName('Name that people see.'),
    autoEnroll: z
      .enum(['', 'withApproval', 'immediate'])
      .describe(
        'Whether tenants may enrol themselves: not at all (empty or left out), as candidates that a manager accepts (withApproval), or at once as users (immediate).',
      )
      .optional(),
    quota: workspaceQuota('What each enrolled tenant may use. A tenant has the sum over all workspaces.'),
  })
  .describe('The course as its administrators want it.');

const status = z
  .object({
    namespace: nameCreated('The namespace workspace-NAME, which holds the templates.').optional(),
    subscription: subscriptions('How the last call to each outside service went, such as keycloak.').optional(),
    ready: ready.optional(),
    ...ownStatus,
  })
  .describe('What was found.');

export const workspaceKind = defineKind({
  group: labsGroup,
  version: 'v1alpha1',
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  scope: 'Cluster',
  description:
    'A course: a namespace with its templates, the roles of its users and managers, and what each of them may use.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Pretty Name', type: 'string', jsonPath: '.spec.prettyName', description: 'Name that people see' },
    {
      name: 'Namespace',
      type: 'string',
      jsonPath: '.status.namespace.name',
      description: 'Namespace of the templates',
    },
    readyColumn,
    ageColumn,
  ],
  name: {
    maxLength: 53,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    description: 'At most 53 characters and no dots, because the namespace workspace-NAME is called by it.',
  },
});

export type Workspace = ObjectOf<typeof workspaceKind>;
export type WorkspaceSpec = z.output<typeof spec>;
export type WorkspaceStatus = z.output<typeof status>;
export type WorkspaceQuota = WorkspaceSpec['quota'];
