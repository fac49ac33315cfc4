/**
 * IPPool: who has which address of one part of a range. A range is kept in several pools of a few hundred addresses, so that
 * writers rarely meet and a change stays small. Allocation is a compare-and-swap on the object's resourceVersion.
 */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { ageColumn, cidr, conditions, ip, observedGeneration, text, time } from '../schema/fields.ts';
import { onlyTheServerKnows, ruled } from '../schema/rule.ts';

/** That they lie in the range of the network, in this order, is for the writer to know: nobody but the operator may write a pool. */
const range = z
  .object({
    first: ip('First address of this pool.'),
    last: ip('Last address of this pool.'),
  })
  .describe('The part of the range that this pool hands out, both ends included.');

const spec = ruled(
  z.object({
    network: z.string().min(1).max(253).describe('Name of the network (or bridge) within the namespace.'),
    cidr: cidr('The whole range of the network.'),
    range,
    gateway: ip('Address that is the gateway and never handed out.').optional(),
    exclude: z
      .array(cidr('A range, or one address as /32 or /128.'))
      .max(1024)
      .describe('Ranges that are handed out only to who asks for an address of them.')
      .default([]),
  }),
  {
    cel: 'self.network == oldSelf.network && self.cidr == oldSelf.cidr && self.range == oldSelf.range',
    holds: onlyTheServerKnows,
    message: 'network, cidr and range of a pool cannot change, because addresses were handed out from them',
    reason: 'FieldValueForbidden',
  },
).describe('What the pool may hand out.');

const status = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    // One value, not a map by address: only compare-and-swap writes it, and the server's bookkeeping for each entry of a map costs more than the write.
    allocations: z
      .array(
        z
          .object({
            address: ip('The address, in canonical form.'),
            podName: text(253, 'Pod that has it.'),
            podUid: text(64, 'The metadata.uid of that pod.'),
            interfaceKey: text(320, 'Interface of the pod, as in its PodNetwork.'),
            nodeName: text(253, 'Node of the pod; what other nodes need to forward to it.').optional(),
            releasedAt: time('When it was given back. It goes to another pod only some time after that.').optional(),
          })
          .describe('One address and who has it.'),
      )
      .max(1024)
      .meta({ 'x-kubernetes-list-type': 'atomic' })
      .describe('Addresses that are taken, or were lately.')
      .optional(),
    used: z.int().min(0).describe('Addresses in use.').optional(),
    free: z.int().min(0).describe('Addresses that can be handed out.').optional(),
  })
  .describe('Who has which address.');

export const ipPoolKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'IPPool',
  plural: 'ippools',
  singular: 'ippool',
  scope: 'Namespaced',
  description:
    'Addresses of one network, or of one part of a large network, and the pods that have them. Written by Podloom; readable by whoever wants to know how full a network is.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Network', type: 'string', jsonPath: '.spec.network', description: 'Network that the addresses belong to' },
    { name: 'CIDR', type: 'string', jsonPath: '.spec.cidr', description: 'Range of the network' },
    { name: 'First', type: 'string', jsonPath: '.spec.range.first', description: 'First address of this pool' },
    { name: 'Last', type: 'string', jsonPath: '.spec.range.last', description: 'Last address of this pool' },
    { name: 'Used', type: 'integer', jsonPath: '.status.used', description: 'Addresses in use' },
    { name: 'Free', type: 'integer', jsonPath: '.status.free', description: 'Addresses that can be handed out' },
    ageColumn,
  ],
  selectableFields: ['.spec.network'],
});

export type IPPool = ObjectOf<typeof ipPoolKind>;
export type IPPoolSpec = z.output<typeof spec>;
export type IPPoolSpecInput = z.input<typeof spec>;
export type IPPoolStatus = z.output<typeof status>;
export type IPAllocation = NonNullable<IPPoolStatus['allocations']>[number];
