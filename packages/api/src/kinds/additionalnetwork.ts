/** AdditionalNetwork: one network for the pods that a selector chooses; an attachment that needs no label named after its object. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { addressRules, addressShape, linkRules, linkShape } from '../schema/attachment.ts';
import {
  ageColumn,
  alias,
  cidrColumn,
  conditions,
  deviceName,
  labelSelector,
  linkName,
  macAddress,
  networkMtu,
  observedGeneration,
  readyColumn,
  selectedPods,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';

const networkShape = z.object({
  podSelector: labelSelector('Pods of this namespace that get the link. An empty selector means all of them.'),
  namePrefix: linkName('The link is called by this prefix and the process id of the pod.').optional(),
  name: deviceName('The link is called exactly this in every pod.').optional(),
  ...linkShape,
  bridge: deviceName('Bridge on the node that the link is put on. Made when it is not there.').optional(),
  mtuBytes: networkMtu('MTU of the link in bytes. Left out, the kernel decides.').optional(),
  macAddress: macAddress(
    'MAC address of the link in the pod, unicast. Left out, it is derived from network and address. For objects that select one pod.',
  ).optional(),
  alias: alias('Description that `ip link` shows for the link.').optional(),
  ...addressShape,
});
type NetworkValue = z.output<typeof networkShape>;

const spec = ruled(
  networkShape,
  {
    cel: 'has(self.namePrefix) != has(self.name)',
    holds: ({ namePrefix, name }) => (namePrefix === undefined) !== (name === undefined),
    message: 'exactly one of namePrefix and name must be set',
  },
  ...addressRules<NetworkValue>(),
  ...linkRules<NetworkValue>(),
).describe('The link and the pods that get it.');

const status = z
  .object({
    selectedPods: selectedPods.optional(),
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
  })
  .describe('What was found. Written by the operator; the links themselves are in the PodNetwork of each pod.');

export const additionalNetworkKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'AdditionalNetwork',
  plural: 'additionalnetworks',
  singular: 'additionalnetwork',
  scope: 'Namespaced',
  description: 'One more network for the running pods that a selector chooses.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.linkType', description: 'Kind of link' },
    { name: 'Bridge', type: 'string', jsonPath: '.spec.bridge', description: 'Bridge on the node' },
    cidrColumn,
    { name: 'Pods', type: 'integer', jsonPath: '.status.selectedPods', description: 'Pods that are selected' },
    ...readyColumn,
    ageColumn,
  ],
});

export type AdditionalNetwork = ObjectOf<typeof additionalNetworkKind>;
export type AdditionalNetworkSpec = z.output<typeof spec>;
export type AdditionalNetworkStatus = z.output<typeof status>;
