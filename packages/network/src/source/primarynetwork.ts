/** PrimaryNetwork: changes to the primary link of the pods that it selects. */
import { type PrimaryNetwork, primaryNetworkKind } from '@podloom/api';
import { readRoutes, sourceOf } from './attachment.ts';
import { selects } from './selects.ts';
import type { SourceType } from './source.ts';

export const primaryNetworkSource: SourceType<PrimaryNetwork> = {
  kind: primaryNetworkKind,
  finalizer: 'primarynetwork.finalizers.opdev.io',
  selects: ({ spec }, { labels }) => selects(spec.podSelector, labels),
  requests(object) {
    const { interfaceName, mtuBytes, txQueueLength, sysctls, routes } = object.spec;
    readRoutes(routes);
    return {
      primaries: [{ source: sourceOf(object), primary: { interfaceName, mtuBytes, txQueueLength, sysctls, routes } }],
    };
  },
  report: ({ pods }) => ({ selectedPods: pods }),
};
