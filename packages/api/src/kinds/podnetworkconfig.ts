/** PodNetworkConfig: additional networks and the primary MTU, as the pod-network-operator has it. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { addressRules, addressShape, linkRules, upstreamLinkShape } from '../schema/attachment.ts';
import {
  ageColumn,
  conditions,
  configList,
  linkName,
  listMap,
  mostListed,
  mtu,
  observedGeneration,
  phase,
  readyColumn,
  text,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';

const networkShape = z.object({
  networkName: linkName(
    'Prefix of the link in the pod: the link is called by it and the process id of the pod, or by a hash where that is over 15 bytes.',
  ),
  networkDescription: text(1024, 'What the network is for. For people.').optional(),
  ...upstreamLinkShape,
  ...addressShape,
});
type NetworkValue = z.output<typeof networkShape>;

const additionalNetwork = ruled(networkShape, ...addressRules<NetworkValue>(), ...linkRules<NetworkValue>()).describe(
  'One link that every selected pod gets.',
);

const spec = ruled(
  z.object({
    name: text(253, 'Name of the configuration. For people.').optional(),
    Name: text(253, 'The same as name, as older manifests write it.').optional(),
    additionalNetworks: listMap(additionalNetwork, ['networkName'], 32)
      .describe(
        'Links that every running pod of this namespace with the label "podNetworkConfig: <name of this object>" gets, without a restart.',
      )
      .optional(),
    eth0: z
      .object({
        mtu: mtu('MTU in bytes. What was there before is recorded and comes back when this is removed.').optional(),
      })
      .describe("Changes to the pods' primary link, which the cluster's CNI plugin made.")
      .optional(),
  }),
  {
    cel: '!has(self.name) || !has(self.Name) || self.name == self.Name',
    holds: ({ name, Name }) => name === undefined || Name === undefined || name === Name,
    message: 'name and Name are two spellings of one field and must be the same',
    fieldPath: '.Name',
  },
).describe('What the selected pods are to have.');

const status = z
  .object({
    phase: phase.optional(),
    PodNetworkConfigs: z
      .array(
        z
          .object({
            podName: text(253, 'Name of the pod.'),
            configList: configList.optional(),
          })
          .describe('One pod.'),
      )
      .max(mostListed)
      .describe('What each selected pod has, as far as there is room.')
      .optional(),
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
  })
  .describe('What was found. Written by the operator.');

export const podNetworkConfigKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'PodNetworkConfig',
  plural: 'podnetworkconfigs',
  singular: 'podnetworkconfig',
  shortNames: ['pnc'],
  scope: 'Namespaced',
  description:
    'Additional networks for running pods, and changes to their primary link. Selects the pods of the same namespace with the label "podNetworkConfig: <name>".',
  name: { maxLength: 63, description: 'At most 63 characters, because pods carry it as the value of a label.' },
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'unset, configuring or configured' },
    { name: 'eth0 MTU', type: 'integer', jsonPath: '.spec.eth0.mtu', description: 'MTU of the primary link' },
    ...readyColumn,
    ageColumn,
  ],
});

export type PodNetworkConfig = ObjectOf<typeof podNetworkConfigKind>;
export type PodNetworkConfigSpec = z.output<typeof spec>;
export type PodNetworkConfigStatus = z.output<typeof status>;

/** Label of a pod: the PodNetworkConfig that selects it. */
export const podNetworkConfigLabel = 'podNetworkConfig';
export const podNetworkConfigFinalizer = 'podnetworkconfig.finalizers.opdev.io';
