/** NetworkAttachmentDefinition: a CNI network as the multi-network standard has it, chosen by the annotation k8s.v1.cni.cncf.io/networks. */
import * as z from 'zod';
import { defineKind, type ObjectOf } from '../kind.ts';
import { ageColumn } from '../schema/fields.ts';
import { jsonObjectText } from '../schema/json.ts';
import { ruled } from '../schema/rule.ts';

const names = /"(?:type|plugins)"\s*:/;

const spec = z
  .object({
    config: ruled(jsonObjectText(16384, ''), {
      cel: `self.matches('"(type|plugins)"[ \\\\t\\\\n\\\\r]*:')`,
      holds: (text) => names.test(text),
      message: 'must have "type" (one plugin) or "plugins" (a list of them)',
    })
      .describe(
        'One CNI plugin configuration or configuration list, as JSON text. Left out, the node is searched for one of the name of this object.',
      )
      .optional(),
  })
  .describe('The network.');

export const networkAttachmentDefinitionKind = defineKind({
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  singular: 'network-attachment-definition',
  shortNames: ['net-attach-def'],
  scope: 'Namespaced',
  description: 'A CNI network that pods name in their annotation "k8s.v1.cni.cncf.io/networks".',
  foreign: true,
  spec,
  status: undefined,
  specRequired: false,
  printerColumns: [ageColumn],
});

export type NetworkAttachmentDefinition = ObjectOf<typeof networkAttachmentDefinitionKind>;
export type NetworkAttachmentDefinitionSpec = z.output<typeof spec>;
