/** PodNetworkConfig: links, and another MTU of the primary link, in the pods that name it by their label. */
import {
  type PodNetworkConfig,
  podNetworkConfigFinalizer,
  podNetworkConfigKind,
  podNetworkConfigLabel,
} from '@podloom/api';
import { sourceOf, upstreamLink } from './attachment.ts';
import type { SourceType } from './source.ts';

export const podNetworkConfigSource: SourceType<PodNetworkConfig> = {
  kind: podNetworkConfigKind,
  finalizer: podNetworkConfigFinalizer,
  namedBy({ namespace, labels: { [podNetworkConfigLabel]: name } }) {
    return name === undefined ? [] : [{ namespace, name }];
  },
  requests(object) {
    const { additionalNetworks = [], eth0: { mtu: mtuBytes } = {} } = object.spec;
    return {
      links: additionalNetworks.map((one, i) =>
        upstreamLink(object, `spec.additionalNetworks[${i}]`, one.networkName, one),
      ),
      primaries:
        mtuBytes === undefined
          ? []
          : [{ source: sourceOf(object, 'spec.eth0'), primary: { interfaceName: 'eth0', mtuBytes } }],
    };
  },
  hasPhase: true,
  hasLists: true,
  report: ({ phase, lists }) => ({ phase, PodNetworkConfigs: lists }),
  hint: ({ metadata }) => `give pods the label ${podNetworkConfigLabel}=${metadata.name}`,
};
