/** PrimaryNetwork: what a tenant may ask of the link that the cluster's CNI plugin made, and nothing else of it. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import {
  ageColumn,
  conditions,
  deviceName,
  labelSelector,
  mtu,
  observedGeneration,
  readyColumn,
  routes,
  selectedPods,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';
import { plainSysctls, sysctls, sysctlValue } from '../schema/sysctls.ts';

const plain = Object.entries(plainSysctls).map(([name, why]) => `${name} (${why})`);

const spec = ruled(
  z.object({
    podSelector: labelSelector('Pods of this namespace that are changed. An empty selector means all of them.'),
    interfaceName: deviceName("Name of the pods' primary link.").default('eth0'),
    mtuBytes: mtu('MTU in bytes.').optional(),
    txQueueLength: z.int().min(0).max(1_000_000).describe('Packets in the transmit queue.').optional(),
    sysctls: sysctls(
      `Settings of the link, the interface left out of their name. Everybody may have ${plain.join(', ')}. Every other setting of the link needs a NetworkGrant that names it, because it can make the pod answer or forward for its neighbours, or concern the node; without one nothing of this object is done, and its reason is NotGranted.`,
      sysctlValue,
    ).optional(),
    routes: routes("Routes over the primary link, besides the CNI plugin's own.").optional(),
  }),
  {
    cel: 'has(self.mtuBytes) || has(self.txQueueLength) || has(self.sysctls) || has(self.routes)',
    holds: ({ mtuBytes, txQueueLength, sysctls, routes }) =>
      [mtuBytes, txQueueLength, sysctls, routes].some((field) => field !== undefined),
    message: 'at least one of mtuBytes, txQueueLength, sysctls and routes must be set',
    reason: 'FieldValueRequired',
  },
).describe('What the primary link of the selected pods is to be like.');

const status = z
  .object({
    selectedPods: selectedPods.optional(),
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
  })
  .describe('What was found. Written by the operator; what was before and is now is in the PodNetwork of each pod.');

export const primaryNetworkKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'PrimaryNetwork',
  plural: 'primarynetworks',
  singular: 'primarynetwork',
  scope: 'Namespaced',
  description:
    "Changes to the primary link of running pods. What was there before is recorded and restored when the object goes; the CNI plugin's own work is not touched otherwise.",
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Interface', type: 'string', jsonPath: '.spec.interfaceName', description: 'Link that is changed' },
    { name: 'MTU', type: 'integer', jsonPath: '.spec.mtuBytes', description: 'MTU in bytes' },
    { name: 'Pods', type: 'integer', jsonPath: '.status.selectedPods', description: 'Pods that are selected' },
    ...readyColumn,
    ageColumn,
  ],
});

export type PrimaryNetwork = ObjectOf<typeof primaryNetworkKind>;
export type PrimaryNetworkSpec = z.output<typeof spec>;
export type PrimaryNetworkStatus = z.output<typeof status>;
