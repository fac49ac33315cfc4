/** PodConfig: networks for running pods, as the podconfig-operator has it. Upstream manifests stay valid; what is more is optional. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { addressRules, addressShape, linkRules, upstreamLinkShape } from '../schema/attachment.ts';
import {
  ageColumn,
  conditions,
  configList,
  deviceName,
  linkName,
  listMap,
  mostListed,
  objectName,
  observedGeneration,
  phase,
  readyColumn,
  text,
} from '../schema/fields.ts';
import { ruled } from '../schema/rule.ts';

const attachmentShape = z.object({
  name: linkName(
    'Prefix of the link in the pod: the link is called by it and the process id of the pod, pc0 giving pc02841804, or by a hash where that is over 15 bytes.',
  ),
  ...upstreamLinkShape,
  ...addressShape,
});
type AttachmentValue = z.output<typeof attachmentShape>;

const attachment = ruled(attachmentShape, ...addressRules<AttachmentValue>(), ...linkRules<AttachmentValue>()).describe(
  'One link that every selected pod gets.',
);

const spec = z
  .object({
    sampleDeployment: ruled(
      z.object({
        create: z.boolean().describe('Whether to make the Deployment.').optional(),
        name: objectName('Name of the Deployment.').optional(),
      }),
      {
        cel: '!has(self.create) || !self.create || has(self.name)',
        holds: ({ create, name }) => create !== true || name !== undefined,
        message: 'a sample Deployment needs a name',
        reason: 'FieldValueRequired',
        fieldPath: '.name',
      },
    )
      .describe(
        'A Deployment of two unprivileged pods to try things with. It belongs to the PodConfig and goes with it.',
      )
      .optional(),
    networkAttachments: listMap(attachment, ['name'], 32)
      .describe(
        'Links that every running pod of this namespace with the label "podconfig: <name of this PodConfig>" gets, without a restart. Removing one here removes it from the pods.',
      )
      .optional(),
    vlans: listMap(
      z
        .object({
          parentInterfaceName: deviceName('Device on the node that carries the VLAN.'),
          vlanID: z.int().min(1).max(4094).describe('VLAN id.'),
          bridgeName: deviceName('Bridge that the VLAN is connected to.').optional(),
        })
        .describe('One VLAN.'),
      ['parentInterfaceName', 'vlanID'],
      32,
    )
      .describe('VLAN sub-interfaces on the node.')
      .optional(),
  })
  .describe('What the selected pods are to have.');

const status = z
  .object({
    phase: phase.optional(),
    podConfigurations: z
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

export const podConfigKind = defineKind({
  group: 'podconfig.opdev.io',
  version: 'v1alpha1',
  kind: 'PodConfig',
  plural: 'podconfigs',
  singular: 'podconfig',
  scope: 'Namespaced',
  description:
    'Networks for running pods. Pods of the same namespace with the label "podconfig: <name>" get every link that is listed, while they run and without any privilege of their own.',
  name: { maxLength: 63, description: 'At most 63 characters, because pods carry it as the value of a label.' },
  spec,
  status,
  specRequired: true,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'unset, configuring or configured' },
    ...readyColumn,
    ageColumn,
  ],
});

export type PodConfig = ObjectOf<typeof podConfigKind>;
export type PodConfigSpec = z.output<typeof spec>;
export type PodConfigStatus = z.output<typeof status>;
export type NetworkAttachment = AttachmentValue;

/** Label of a pod: the PodConfig that selects it. */
export const podConfigLabel = 'podconfig';
export const podConfigFinalizer = 'podconfig.finalizers.opdev.io';
