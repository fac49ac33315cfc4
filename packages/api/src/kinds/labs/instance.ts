/** Instance: somebody's own copy of a Template, on or off. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../../kind.ts';
import { ageColumn, listMap, text, time } from '../../schema/fields.ts';
import { ruled } from '../../schema/rule.ts';
import { displayName, dnsLabel, genericRef, labsGroup, nodeSelector, ownStatus, webAddress } from './fields.ts';

/** Keys with dots and a slash, as CrownLabs has them. */
export const templateRefKey = 'template.crownlabs.polito.it/TemplateRef';
export const tenantRefKey = 'tenant.crownlabs.polito.it/TenantRef';

export const environmentPhases = [
  '',
  'Importing',
  'Starting',
  'ResourceQuotaExceeded',
  'Running',
  'Ready',
  'Stopping',
  'Off',
  'Failed',
  'CreationLoopBackoff',
] as const;
export type EnvironmentPhase = (typeof environmentPhases)[number];

const port = z
  .object({
    name: text(15, 'Name of the port.').regex(/^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$/),
    port: z.int().min(0).max(65535).describe('Port of the public address. 0 takes one that is free.').default(0),
    targetPort: z.int().min(1).max(65535).describe('Port of the environment.'),
    protocol: z.enum(['TCP', 'UDP', 'SCTP']).describe('Protocol of the port.').default('TCP'),
  })
  .describe('One port.');

type Ports = readonly z.output<typeof port>[];
const unique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

const publicExposure = z
  .object({
    ports: ruled(
      z.array(port).max(32),
      {
        cel: 'self.all(a, self.exists_one(b, b.name == a.name))',
        holds: (ports: Ports) => unique(ports.map(({ name }) => name)),
        message: 'two ports have the same name',
      },
      {
        cel: 'self.all(a, self.exists_one(b, b.targetPort == a.targetPort))',
        holds: (ports: Ports) => unique(ports.map(({ targetPort }) => targetPort)),
        message: 'two ports have the same targetPort',
      },
      {
        cel: 'self.all(a, a.port == 0 || self.exists_one(b, b.port == a.port))',
        holds: (ports: Ports) => unique(ports.map((one) => one.port).filter((value) => value !== 0)),
        message: 'two entries ask for the same port',
      },
    )
      .describe('The ports.')
      .optional(),
  })
  .describe('Ports that are reached from outside, where the Template allows it.');

const content = z
  .object({
    origin: webAddress(
      'An archive that is unpacked before the environment starts, instead of that of the Template.',
    ).optional(),
    destination: webAddress('Where the content is sent when the Instance ends.').optional(),
  })
  .describe('Content of one environment.');

const spec = z
  .object({
    [templateRefKey]: genericRef('The Template; without a namespace, "default".'),
    [tenantRefKey]: genericRef('The Tenant whose Instance it is. It is in no namespace.'),
    running: z
      .boolean()
      .describe('On or off. What is off keeps its disks, where the environment is persistent.')
      .default(true),
    prettyName: displayName('Name that people see. Left out, two words are chosen.').optional(),
    nodeSelector: nodeSelector(
      'Labels of the nodes to run on. Counts where the Template lets the Instance choose.',
    ).optional(),
    customizationUrls: z
      .object({
        contentOrigin: webAddress('As contentUrls.ENVIRONMENT.origin, of the first environment.').optional(),
        contentDestination: webAddress('As contentUrls.ENVIRONMENT.destination, of the first environment.').optional(),
        statusCheck: webAddress('As statusCheckUrl.').optional(),
      })
      .describe('The older way to say what statusCheckUrl and contentUrls say. Those win where both are set.')
      .optional(),
    statusCheckUrl: webAddress(
      'Asked again and again whether the Instance should end, as at the end of an exam.',
    ).optional(),
    contentUrls: z
      .record(z.string(), content)
      .meta({ maxProperties: 16 })
      .describe('Content by the name of the environment.')
      .optional(),
    publicExposure: publicExposure.optional(),
  })
  .describe('The Instance as its owner wants it.');

const phase = (description: string) => z.enum(environmentPhases).describe(description);
const address = (description: string) => text(64, description);
const readyIn = text(32, 'How long it took until it was ready for the first time, such as 1m32s.');

const automation = z
  .object({
    lastCheckTime: time('When the status address was last asked.').nullable().optional(),
    terminationTime: time('When it will end, or has ended.').nullable().optional(),
    submissionTime: time('When its content was sent.').nullable().optional(),
  })
  .describe('What happens by itself.');

const environmentStatus = z
  .object({
    name: dnsLabel('Name of the environment.'),
    phase: phase('How far it is.').optional(),
    expositionAccepted: z.boolean().describe('Whether its address is served.').default(false),
    ip: address('Its address inside the cluster.').optional(),
    initialReadyTime: readyIn.optional(),
    automation: automation.optional(),
  })
  .describe('One environment.');

const status = z
  .object({
    phase: phase('How far the Instance is, over all environments.').optional(),
    url: text(2048, 'Where it is reached.').optional(),
    ip: address('Address of the first environment inside the cluster.').optional(),
    initialReadyTime: readyIn.optional(),
    automation: automation.optional(),
    environments: listMap(environmentStatus, ['name'], 10).describe('Each environment.').optional(),
    nodeName: text(253, 'Node of the first environment.').optional(),
    nodeSelector: z
      .record(z.string(), text(256, 'Value of the label.'))
      .describe('Labels that its node was chosen by.')
      .optional(),
    publicExposure: z
      .object({
        externalIP: address('The public address.').optional(),
        ports: z
          .array(port)
          .max(32)
          .meta({ 'x-kubernetes-list-type': 'atomic' })
          .describe('The ports as they were given.')
          .optional(),
        phase: z.enum(['', 'Provisioning', 'Ready', 'Error']).describe('How far it is.').optional(),
        message: text(4096, 'A sentence for people.').optional(),
      })
      .describe('Ports that are reached from outside.')
      .optional(),
    ...ownStatus,
  })
  .describe('What was found. Not written yet.');

export const instanceKind = defineKind({
  group: labsGroup,
  version: 'v1alpha2',
  kind: 'Instance',
  plural: 'instances',
  singular: 'instance',
  shortNames: ['inst'],
  scope: 'Namespaced',
  description: "Somebody's own copy of a Template: its virtual machines and containers, on or off.",
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Pretty Name', type: 'string', jsonPath: '.spec.prettyName', description: 'Name that people see' },
    { name: 'Running', type: 'boolean', jsonPath: '.spec.running', description: 'On or off' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'How far it is' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'Where it is reached', wide: true },
    {
      name: 'IP Address',
      type: 'string',
      jsonPath: '.status.ip',
      description: 'Address inside the cluster',
      wide: true,
    },
    {
      name: 'Exposition Accepted',
      type: 'boolean',
      jsonPath: '.status.environments[0].expositionAccepted',
      description: 'Whether the address of the first environment is served',
      wide: true,
    },
    { name: 'Ready In', type: 'string', jsonPath: '.status.initialReadyTime', description: 'Time until it was ready' },
    ageColumn,
  ],
  selectableFields: ['.spec.running', '.status.phase'],
  name: {
    maxLength: 63,
    description: 'At most 63 characters, because what is made of it has it as the value of a label.',
  },
});

export type Instance = ObjectOf<typeof instanceKind>;
export type InstanceSpec = z.output<typeof spec>;
/** A spec as it may be written, defaults left out. */
export type InstanceSpecInput = z.input<typeof spec>;
export type InstanceStatus = z.output<typeof status>;
export type InstanceEnvironmentStatus = z.output<typeof environmentStatus>;
export type ExposedPort = z.output<typeof port>;
