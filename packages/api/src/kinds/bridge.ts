/** Bridge: a switch on the nodes as an object of its own, for networks that outlive the pods on them. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { rangeRules, rangeShape } from '../schema/attachment.ts';
import {
  ageColumn,
  cidrColumn,
  conditions,
  deviceName,
  interfaceAddress,
  listMap,
  mostListed,
  networkMtu,
  observedGeneration,
  phase,
  readyColumn,
  text,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';

const bridgeShape = z.object({
  name: deviceName(
    'Name of the bridge. It is also the name of the device on the nodes, unless an older namespace has that name; status shows which.',
  ),
  ...rangeShape,
  mtu: networkMtu('MTU of the bridge in bytes. Left out, the kernel decides.').optional(),
});
type BridgeValue = z.output<typeof bridgeShape>;

const spec = ruled(bridgeShape, ...rangeRules<BridgeValue>()).describe(
  'The bridge as it is to be on every node that needs it.',
);

const status = z
  .object({
    phase: phase.optional(),
    bridgeConfigs: listMap(
      z
        .object({
          nodeName: text(253, 'Node that has the bridge.'),
          device: text(15, 'Name of the device there.').optional(),
          addresses: z
            .array(interfaceAddress('An address with its prefix length.'))
            .max(8)
            .describe('Addresses of the bridge there.')
            .optional(),
          ports: z.int().min(0).describe('Links of pods on the bridge there.').optional(),
        })
        .describe('The bridge on one node.'),
      ['nodeName'],
      mostListed,
    )
      .describe('The nodes that have the bridge now.')
      .optional(),
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
  })
  .describe('What was found. Written by the operator.');

export const bridgeKind = defineKind({
  group: 'podnetwork.opdev.io',
  version: 'v1alpha1',
  kind: 'Bridge',
  plural: 'bridges',
  singular: 'bridge',
  scope: 'Namespaced',
  description:
    'A Linux bridge that belongs to the namespace. It is made on the nodes where pods need it and removed where none does any more.',
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Device', type: 'string', jsonPath: '.spec.name', description: 'Name of the bridge' },
    cidrColumn,
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'unset, configuring or configured' },
    ...readyColumn,
    ageColumn,
  ],
});

export type Bridge = ObjectOf<typeof bridgeKind>;
export type BridgeSpec = z.output<typeof spec>;
export type BridgeStatus = z.output<typeof status>;
export const bridgeFinalizer = 'bridge.finalizers.opdev.io';
