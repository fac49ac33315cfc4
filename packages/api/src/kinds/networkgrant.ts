/** NetworkGrant: what an administrator lets namespaces use beyond what is their own anyway. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import {
  ageColumn,
  conditions,
  deviceName,
  labelSelector,
  networkCidr,
  objectName,
  observedGeneration,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';
import { sysctlName } from '../schema/sysctls.ts';

const vlanRange = /^[1-9][0-9]{0,3}(-[1-9][0-9]{0,3})?$/;

const vlanIds = ruled(z.string().max(9), {
  cel: `self.matches('^[1-9][0-9]{0,3}(-[1-9][0-9]{0,3})?$') && int(self.split('-')[0]) <= int(self.split('-')[size(self.split('-')) - 1]) && int(self.split('-')[size(self.split('-')) - 1]) <= 4094`,
  holds: (text) => {
    const [first = 0, last = first] = text.split('-').map(Number);
    return vlanRange.test(text) && first <= last && last <= 4094;
  },
  message: 'must be a VLAN id from 1 to 4094, or two of them in order, such as 100-200',
}).describe('A VLAN id, or the first and the last of several.');

const spec = ruled(
  z.object({
    namespaces: ruled(
      z.object({
        names: z.array(objectName('Name of a namespace.')).min(1).max(256).describe('Namespaces by name.').optional(),
        selector: labelSelector('Namespaces by their labels. An empty selector means all of them.').optional(),
      }),
      {
        cel: 'has(self.names) || has(self.selector)',
        holds: ({ names, selector }) => names !== undefined || selector !== undefined,
        message: 'names or selector must be set',
        reason: 'FieldValueRequired',
      },
    ).describe('Who may use what is granted: the namespaces of either list.'),
    devices: z
      .array(deviceName('Name of a device.'))
      .min(1)
      .max(128)
      .describe('Devices of the nodes that may be the parent of a VLAN, macvlan or ipvlan.')
      .optional(),
    vlanIds: z
      .array(vlanIds)
      .min(1)
      .max(128)
      .describe('VLAN ids that may be used on the devices. Not read yet.')
      .optional(),
    cidrs: z
      .array(networkCidr('A range.'))
      .min(1)
      .max(128)
      .describe('Public ranges that gateways may be in.')
      .optional(),
    primarySysctls: z
      .array(sysctlName('Name of a setting, the interface left out: net.ipv4.conf.proxy_arp.'))
      .min(1)
      .max(128)
      .describe(
        'Settings that a PrimaryNetwork may have beyond those that everybody may. Some let a pod answer and forward for its neighbours (proxy_arp, proxy_ndp, forwarding), others bring it addresses and routes that the cluster does not know of (accept_ra, autoconf).',
      )
      .optional(),
    cniPlugins: z
      .array(
        z
          .string()
          .min(1)
          .max(63)
          .regex(/^[A-Za-z0-9][-A-Za-z0-9._]*$/)
          .describe('Type of a plugin.'),
      )
      .min(1)
      .max(64)
      .describe(
        'CNI plugins that Networks and NetworkAttachmentDefinitions may name, with whatever is written for them, address plugins included. Everybody may have a plain bridge with host-local or static addresses.',
      )
      .optional(),
    sharedNetworks: z
      .array(
        z
          .object({
            namespace: objectName('Namespace of the network.'),
            name: objectName('Name of the Network or NetworkAttachmentDefinition.'),
          })
          .describe('One network.'),
      )
      .min(1)
      .max(128)
      .describe('Networks of other namespaces that pods may name.')
      .optional(),
  }),
  {
    cel: 'has(self.devices) || has(self.vlanIds) || has(self.cidrs) || has(self.primarySysctls) || has(self.cniPlugins) || has(self.sharedNetworks)',
    holds: ({ devices, vlanIds, cidrs, primarySysctls, cniPlugins, sharedNetworks }) =>
      [devices, vlanIds, cidrs, primarySysctls, cniPlugins, sharedNetworks].some((list) => list !== undefined),
    message: 'at least one of devices, vlanIds, cidrs, primarySysctls, cniPlugins and sharedNetworks must be set',
    reason: 'FieldValueRequired',
  },
).describe('What is granted, and to whom.');

const status = z
  .object({ observedGeneration: observedGeneration.optional(), conditions: conditions.optional() })
  .describe('What was found. Not written yet.');

export const networkGrantKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'NetworkGrant',
  plural: 'networkgrants',
  singular: 'networkgrant',
  scope: 'Cluster',
  description:
    'Lets namespaces use devices of the nodes, public addresses as gateways, more settings of the primary link, CNI plugins, and networks of other namespaces; VLAN ids are not offered yet. Without a grant a namespace can use only bridges of its own. For administrators.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Namespaces', type: 'string', jsonPath: '.spec.namespaces.names', description: 'Namespaces by name' },
    { name: 'Devices', type: 'string', jsonPath: '.spec.devices', description: 'Devices granted' },
    { name: 'VLANs', type: 'string', jsonPath: '.spec.vlanIds', description: 'VLAN ids granted' },
    { name: 'CIDRs', type: 'string', jsonPath: '.spec.cidrs', description: 'Ranges granted' },
    { name: 'Sysctls', type: 'string', jsonPath: '.spec.primarySysctls', description: 'Settings granted' },
    { name: 'Plugins', type: 'string', jsonPath: '.spec.cniPlugins', description: 'CNI plugins granted' },
    ageColumn,
  ],
});

export type NetworkGrant = ObjectOf<typeof networkGrantKind>;
export type NetworkGrantSpec = z.output<typeof spec>;
export type NetworkGrantStatus = z.output<typeof status>;
