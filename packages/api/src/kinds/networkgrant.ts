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
    bridges: z
      .array(deviceName('Name of a bridge.'))
      .min(1)
      .max(128)
      .describe('Bridges of the nodes, or of other namespaces, that links may be put on. Not read yet.')
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
  }),
  {
    cel: 'has(self.devices) || has(self.bridges) || has(self.vlanIds) || has(self.cidrs)',
    holds: ({ devices, bridges, vlanIds, cidrs }) =>
      [devices, bridges, vlanIds, cidrs].some((list) => list !== undefined),
    message: 'at least one of devices, bridges, vlanIds and cidrs must be set',
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
    'Lets namespaces use devices of the nodes, and public addresses as gateways; shared bridges and VLAN ids are not offered yet. Without a grant a namespace can use only bridges of its own. For administrators.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Namespaces', type: 'string', jsonPath: '.spec.namespaces.names', description: 'Namespaces by name' },
    { name: 'Devices', type: 'string', jsonPath: '.spec.devices', description: 'Devices granted' },
    { name: 'Bridges', type: 'string', jsonPath: '.spec.bridges', description: 'Bridges granted' },
    { name: 'VLANs', type: 'string', jsonPath: '.spec.vlanIds', description: 'VLAN ids granted' },
    { name: 'CIDRs', type: 'string', jsonPath: '.spec.cidrs', description: 'Ranges granted' },
    ageColumn,
  ],
});

export type NetworkGrant = ObjectOf<typeof networkGrantKind>;
export type NetworkGrantSpec = z.output<typeof spec>;
export type NetworkGrantStatus = z.output<typeof status>;
