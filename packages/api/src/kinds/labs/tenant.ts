/** Tenant: a person who uses the labs. Its name is the user name that Kubernetes knows the person by. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn, listMap, text, time } from '../../schema/fields.ts';
import { quantity } from '../../schema/quantity.ts';
import { ruled } from '../../schema/rule.ts';
import {
  displayName,
  labsGroup,
  nameCreated,
  otherResources,
  ownStatus,
  ready,
  readyColumn,
  subscriptions,
  tenantQuotaShape,
  workspaceQuota,
} from './fields.ts';

/** As HTML has it for `<input type=email>`. */
const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const emailPattern = `^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${label}([.]${label})*$`;

const email = ruled(z.string().max(254), {
  cel: `self.matches(r"${emailPattern}")`,
  holds: (value) => new RegExp(emailPattern).test(value),
  message: 'must be an e-mail address such as mary@example.com',
}).describe('E-mail address. The account at the identity provider has it, and messages go there.');

const keyPattern = '^[ \\t\\r\\n]*[^ \\t\\r\\n]+[ \\t]+[^ \\t\\r\\n]+([ \\t]+[^\\r\\n]*)?[\\r\\n]*$';

const publicKey = ruled(z.string().max(8192), {
  cel: `self.matches(r'${keyPattern}')`,
  holds: (value) => new RegExp(keyPattern).test(value),
  message: 'must be a public key on one line: its type, the key, and maybe a comment',
}).describe('One key as OpenSSH has it in authorized_keys, without options. White space around it does not count.');

/** What a person can be in a workspace. */
export const tenantRoles = ['manager', 'user', 'candidate'] as const;

const enrolment = z
  .object({
    name: text(53, 'Name of the workspace.').regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/),
    role: z
      .enum(tenantRoles)
      .describe(
        'A manager changes templates and helps users; a user makes instances; a candidate waits for a manager, where the workspace enrols with approval.',
      ),
  })
  .describe('One enrolment.');

const spec = z
  .object({
    firstName: displayName('First name.'),
    lastName: displayName('Last name.'),
    email,
    // Earlier programs write null for "never".
    lastLogin: time('When the person last logged in. A namespace may go where that is too long ago.')
      .nullable()
      .optional(),
    workspaces: listMap(enrolment, ['name'], 512).describe('Courses that the person takes part in.').optional(),
    publicKeys: z
      .array(publicKey)
      .max(64)
      .describe('SSH keys that let the person in: at the bastion and in virtual machines.')
      .optional(),
    createSandbox: z
      .boolean()
      .describe('Whether the person gets a namespace sandbox-NAME to try Kubernetes in.')
      .default(false),
    quota: z
      .object(tenantQuotaShape)
      .describe('What the person may use, instead of the sum over the workspaces. Caps do not apply to it.')
      .optional(),
    personalWorkspace: workspaceQuota(
      'Lets the person have templates in the own namespace; what is said here is added to the quota.',
    ).optional(),
  })
  .describe('The person as administrators, managers and the person want it.');

const status = z
  .object({
    personalNamespace: nameCreated('The namespace tenant-NAME, which holds the instances.').optional(),
    sandboxNamespace: nameCreated('The namespace sandbox-NAME.').optional(),
    failingWorkspaces: z
      .array(text(63, 'Name of a workspace.'))
      .max(512)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Enrolments that do not count: the workspace does not exist, or takes no candidates.')
      .optional(),
    subscriptions: subscriptions('How the last call to each outside service went.').optional(),
    keycloak: z
      .object({
        userCreated: nameCreated('The account. The name is the id that Keycloak gave it.').optional(),
        userConfirmed: z.boolean().describe('Whether the e-mail address was verified.').optional(),
        userSynchronized: z.boolean().describe('Whether account and roles are as they should be.').optional(),
      })
      .describe('The account at Keycloak.')
      .optional(),
    ready: ready.optional(),
    quota: z
      .object({
        ...tenantQuotaShape,
        disk: quantity('Disk space.').optional(),
        otherResources: otherResources('Further resources.').optional(),
      })
      .describe('What the person may use in the end.')
      .optional(),
    personalWorkspaceCreated: z.boolean().describe('Whether the personal workspace is there.').optional(),
    ...ownStatus,
  })
  .describe('What was found.');

export const tenantKind = defineKind({
  group: labsGroup,
  version: 'v1alpha2',
  kind: 'Tenant',
  plural: 'tenants',
  singular: 'tenant',
  scope: 'Cluster',
  description:
    'A person who uses the labs: contact, enrolments, SSH keys. The name is the user name that Kubernetes knows the person by. Podloom makes a namespace with quota and rights, a personal drive and an account from it.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'First Name', type: 'string', jsonPath: '.spec.firstName', description: 'First name' },
    { name: 'Last Name', type: 'string', jsonPath: '.spec.lastName', description: 'Last name' },
    { name: 'Email', type: 'string', jsonPath: '.spec.email', description: 'E-mail address', wide: true },
    {
      name: 'Namespace',
      type: 'string',
      jsonPath: '.status.personalNamespace.name',
      description: 'Namespace of the instances',
      wide: true,
    },
    {
      name: 'Last Login',
      type: 'string',
      jsonPath: '.spec.lastLogin',
      description: 'Time of the last login',
      wide: true,
    },
    {
      name: 'Created',
      type: 'string',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time when the tenant was made',
      wide: true,
    },
    readyColumn,
    ageColumn,
  ],
  name: {
    maxLength: 55,
    description: 'At most 55 characters, because namespaces are called by it, as sandbox-NAME, with dashes for dots.',
  },
});

export type Tenant = ObjectOf<typeof tenantKind>;
export type TenantSpec = z.output<typeof spec>;
/** A spec as it may be written, defaults left out. */
export type TenantSpecInput = z.input<typeof spec>;
export type TenantStatus = z.output<typeof status>;
export type TenantRole = (typeof tenantRoles)[number];
export type Enrolment = z.output<typeof enrolment>;
export type TenantQuota = NonNullable<TenantStatus['quota']>;
