/** PodConfig: a link for each of its attachments, in the pods that name it by their label. */
import { type PodConfig, podConfigFinalizer, podConfigKind, podConfigLabel } from '@podloom/api';
import { refOf, upstreamLink } from './attachment.ts';
import type { SourceType } from './source.ts';

export const podConfigSource: SourceType<PodConfig> = {
  kind: podConfigKind,
  finalizer: podConfigFinalizer,
  namedBy({ namespace, labels: { [podConfigLabel]: name } }) {
    return name === undefined ? [] : [{ namespace, name }];
  },
  requests(object) {
    const { networkAttachments = [], vlans = [] } = object.spec;
    return {
      links: networkAttachments.map((one, i) => upstreamLink(object, `spec.networkAttachments[${i}]`, one.name, one)),
      problems: vlans.length === 0 ? [] : [{ ref: refOf(object, 'spec.vlans'), ...noVlans }],
    };
  },
  hasPhase: true,
  hasLists: true,
  report: ({ phase, lists }) => ({ phase, podConfigurations: lists }),
  hint: ({ metadata }) => `give pods the label ${podConfigLabel}=${metadata.name}`,
};

const noVlans = {
  reason: 'UnsupportedVlans',
  message: 'spec.vlans: VLANs are not offered yet; take the field out',
};
