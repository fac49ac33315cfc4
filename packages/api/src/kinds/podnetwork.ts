/**
 * PodNetwork: the whole network of one pod. The operator composes `spec`, the agent of the pod's node carries it out and writes
 * `status`. People read it; only Podloom writes it.
 */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import {
  ageColumn,
  alias,
  conditions,
  interfaceAddress,
  linkName,
  listMap,
  macAddress,
  mtu,
  observedGeneration,
  readyColumn,
  route,
  text,
  time,
} from '../schema/fields.ts';
import { link } from '../links/types.ts';
import { onlyTheServerKnows, ruled } from '../schema/rule.ts';
import { mostSysctls, sysctlName, sysctls } from '../schema/sysctls.ts';

/** How much of each a PodNetwork has room for: who composes one must know. */
export const podNetworkRoom = {
  interfaces: 64,
  waiting: 64,
  primarySources: 32,
  sysctls: mostSysctls,
  routes: 64,
  /** Of the configuration of one CNI plugin or chain. */
  cniConfigBytes: 16384,
} as const;

const interfaceKey = (description: string) => z.string().min(1).max(320).regex(/^\S+$/).describe(description);

const source = (description: string) =>
  z
    .object({
      apiVersion: text(128, 'API version of the object.'),
      kind: text(63, 'Kind of the object.'),
      namespace: text(63, 'Namespace of the object. Left out, it is that of the pod.').optional(),
      name: text(253, 'Name of the object.'),
      fieldPath: text(256, 'Where in the object, such as spec.networkAttachments[0].').optional(),
    })
    .describe(description);

const addresses = (description: string) =>
  z.array(interfaceAddress('Address with its prefix length, such as 192.168.100.2/24.')).max(32).describe(description);

const routes = (description: string) => z.array(route('One route.')).max(podNetworkRoom.routes).describe(description);

const bridge = z
  .object({
    name: linkName('The bridge as the tenant named it.'),
    device: linkName(
      'The bridge as it is called on the nodes: the same name, or a hashed one where an older namespace has that name already.',
    ),
    gateways: addresses('Addresses that the bridge itself has on every node, each with its prefix length.').default([]),
    home: z
      .enum(['node', 'own'])
      .default('node')
      .describe("Where the bridge lives: in the node's own network namespace, or in one of its own."),
    mtuBytes: mtu('MTU of the bridge in bytes. Left out, the kernel decides.').optional(),
  })
  .describe('The bridge that the node side of the link is put on. Left out for links without a bridge.');

const cni = z
  .object({
    config: z
      .string()
      .min(1)
      .max(podNetworkRoom.cniConfigBytes)
      .describe(
        'CNI configuration list as JSON text, with cniVersion, name and plugins: also where the object has a single plugin. The same text is used to add, to check and to delete.',
      ),
    args: z
      .array(
        z
          .object({
            name: z
              .string()
              .max(64)
              .regex(/^[A-Z][A-Z0-9_]*$/)
              .describe('Name of the argument, such as K8S_POD_NETWORK.'),
            value: z
              .string()
              .max(253)
              .regex(/^[^;=\s]*$/)
              .describe('Its value.'),
          })
          .describe('One argument.'),
      )
      .max(16)
      .describe('What plugins find in CNI_ARGS after the keys that each pod has.')
      .optional(),
    capabilities: z
      .object({
        ips: z
          .array(text(64, 'An address, with prefix length or without.'))
          .min(1)
          .max(32)
          .describe('Addresses that the link is to have.')
          .optional(),
        mac: macAddress('MAC address that the link is to have.').optional(),
      })
      .describe('What a plugin finds in runtimeConfig if it declares that it can have it.')
      .optional(),
  })
  .describe('How a CNI plugin makes the interface. Left out, the kernel makes it, as `link` says.');

const podInterface = ruled(
  z.object({
    key: interfaceKey(
      'Identity of the interface within the pod, made of its source. Stays the same while names and addresses change.',
    ),
    namePrefix: linkName(
      'The link in the pod is called by this prefix and the process id of the pod, or by a hash where that is over 15 bytes.',
    ).optional(),
    name: linkName('The link in the pod is called exactly this.').optional(),
    source: source('The object that asked for the interface.'),
    link: link
      .default({ type: 'veth' })
      .describe(
        'Type of the link, and what only this type has: see the object that asked for the interface. Says nothing where `cni` is set.',
      ),
    bridge: bridge.optional(),
    cni: cni.optional(),
    mtuBytes: mtu('MTU of the link in bytes. Left out, the kernel decides.').optional(),
    macAddress: macAddress(
      'MAC address of the link in the pod. Left out, it is derived from network and address.',
    ).optional(),
    alias: alias('Description of the link as the tenant asked for it.').optional(),
    addresses: addresses('Addresses of the link in the pod, each with its prefix length.').default([]),
    routes: routes('Routes in the pod over this link.').default([]),
  }),
  {
    cel: 'has(self.namePrefix) != has(self.name)',
    holds: ({ namePrefix, name }) => (namePrefix === undefined) !== (name === undefined),
    message: 'exactly one of namePrefix and name must be set',
  },
  {
    cel: '!has(self.cni) || has(self.name) && !has(self.bridge)',
    holds: ({ name, bridge: on, cni: plugin }) => plugin === undefined || (name !== undefined && on === undefined),
    message: 'cni needs name, and has no bridge',
  },
).describe('One interface that the pod is to have.');

const primary = z
  .object({
    interfaceName: linkName("Name of the pod's primary link.").default('eth0'),
    mtuBytes: mtu('MTU of the primary link in bytes.').optional(),
    txQueueLength: z.int().min(0).max(1_000_000).describe('Packets in the transmit queue.').optional(),
    sysctls: sysctls('Settings of the primary link, by name without the interface.').optional(),
    grantedSysctls: z
      .array(sysctlName('Name of a setting.'))
      .max(mostSysctls)
      .describe('Those of the settings that a NetworkGrant allows; the agent refuses all others that need one.')
      .optional(),
    routes: routes('Routes in the pod over the primary link, besides those of the CNI plugin.').optional(),
    sources: z
      .array(source('An object that asked for a change.'))
      .max(podNetworkRoom.primarySources)
      .describe('The objects that asked for changes.'),
  })
  .describe("Changes to the pod's primary link, which the cluster's CNI plugin made and keeps.");

const spec = ruled(
  z.object({
    podUid: z
      .string()
      .min(1)
      .max(64)
      .describe('The metadata.uid of the pod. A pod that comes back under the same name gets a new PodNetwork.'),
    nodeName: z.string().min(1).max(253).describe('Node that the pod runs on, whose agent carries this out.'),
    interfaces: listMap(podInterface, ['key'], podNetworkRoom.interfaces)
      .default([])
      .describe('Interfaces that the pod is to have besides those of the CNI plugin.'),
    primary: primary.optional(),
    waiting: z
      .array(
        z
          .object({
            source: source('The object that asks for it.'),
            reason: text(256, 'One word for programs: why it cannot be had.'),
            message: text(1024, 'A sentence for people.'),
          })
          .describe('One request that cannot be met as things are.'),
      )
      .max(podNetworkRoom.waiting)
      .describe('What objects ask for and the pod cannot have: it waits for an address, or another object has it.')
      .optional(),
  }),
  {
    cel: 'self.podUid == oldSelf.podUid && self.nodeName == oldSelf.nodeName',
    holds: onlyTheServerKnows,
    message: 'podUid and nodeName cannot change: delete the PodNetwork, the operator makes a new one',
    reason: 'FieldValueForbidden',
  },
).describe('What the pod is to have. Composed by the operator from all objects that select the pod.');

const primaryState = (description: string) =>
  z
    .object({
      // Whatever was found, which may be more than can be asked for: lo has 65536.
      mtuBytes: z.int().min(0).describe('MTU in bytes.').optional(),
      txQueueLength: z.int().min(0).describe('Packets in the transmit queue.').optional(),
      sysctls: sysctls('Settings of the link, by name without the interface.').optional(),
    })
    .describe(description);

const status = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    podPid: z
      .int()
      .min(1)
      .describe('Process id on the node of the container that names and namespace were taken from.')
      .optional(),
    interfaces: listMap(
      z
        .object({
          key: interfaceKey('Identity of the interface, as in spec.'),
          name: text(15, 'Name of the link in the pod. Chosen once, stays for the life of the pod.').optional(),
          hostName: text(15, 'Name of the peer on the node.').optional(),
          macAddress: text(17, 'MAC address of the link in the pod.').optional(),
          mtuBytes: z.int().min(0).describe('MTU of the link in bytes.').optional(),
          addresses: addresses('Addresses that the link has.').optional(),
          bridgeDevice: text(15, 'Bridge on the node that the peer is a port of.').optional(),
          state: z
            .enum(['Attached', 'Pending', 'Failed', 'Removing'])
            .describe(
              'Attached: as declared. Pending: not yet. Failed: see reason. Removing: no longer declared, being taken away.',
            ),
          reason: text(256, 'One word for programs: why the state is as it is.').optional(),
          message: text(4096, 'A sentence for people.').optional(),
          since: time('When the state last changed.').optional(),
        })
        .describe('One interface as it was observed.'),
      ['key'],
      128,
    )
      .describe('Interfaces as they were observed in the pod.')
      .optional(),
    primary: z
      .object({
        interfaceName: text(15, 'The link that this is about. Left out, it is eth0.').optional(),
        sandboxId: text(128, 'Sandbox of the pod whose link it is. Another one has a link of its own.').optional(),
        before: primaryState(
          'What was there before the first change. Restored when nobody asks for a change any more.',
        ).optional(),
        applied: primaryState('What was changed and seen to hold.').optional(),
        state: z.enum(['Failed']).describe('Failed: see reason. Left out while nothing is wrong.').optional(),
        reason: text(256, 'One word for programs: why it failed.').optional(),
        message: text(4096, 'A sentence for people.').optional(),
      })
      .describe('Changes to the primary link.')
      .optional(),
    networks: text(
      1024,
      'Names of the attached links, separated by commas. For the list view, which cannot show a field of every item.',
    ).optional(),
  })
  .describe("What the agent observed on the pod's node.");

export const podNetworkKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'PodNetwork',
  plural: 'podnetworks',
  singular: 'podnetwork',
  shortNames: ['pn'],
  scope: 'Namespaced',
  description:
    'The whole network of one pod in one place. It has the name of the pod and belongs to it: the operator writes what must be, the agent of the node what is. Written by Podloom, read by people.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Node', type: 'string', jsonPath: '.spec.nodeName', description: 'Node that the pod runs on' },
    { name: 'Networks', type: 'string', jsonPath: '.status.networks', description: 'Links that are attached' },
    ...readyColumn,
    ageColumn,
  ],
  selectableFields: ['.spec.nodeName', '.spec.podUid'],
});

export type PodNetwork = ObjectOf<typeof podNetworkKind>;
export type PodNetworkSpec = z.output<typeof spec>;
/** A spec as it may be written, defaults left out. */
export type PodNetworkSpecInput = z.input<typeof spec>;
export type PodNetworkStatus = z.output<typeof status>;
export type PodInterface = z.output<typeof podInterface>;
/** How a CNI plugin makes an interface. */
export type PodInterfaceCni = NonNullable<PodInterface['cni']>;
export type PodInterfaceStatus = NonNullable<PodNetworkStatus['interfaces']>[number];
export type PrimaryLinkState = NonNullable<PrimaryLinkRecord['before']>;
/** What must be known to take changes of the primary link back. */
export type PrimaryLinkRecord = Pick<
  NonNullable<PodNetworkStatus['primary']>,
  'interfaceName' | 'sandboxId' | 'before'
>;

/** Label of every PodNetwork: the node of its pod. */
export const nodeLabel = 'podnetwork.opdev.io/node';
