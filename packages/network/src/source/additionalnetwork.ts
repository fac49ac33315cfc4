/** AdditionalNetwork: one link in the pods that it selects. */
import { type AdditionalNetwork, additionalNetworkKind, linkOf } from '@podloom/api';
import { readRanges, readAddresses, readRoutes, sourceOf } from './attachment.ts';
import { interfaceKey } from './key.ts';
import { selects } from './selects.ts';
import type { LinkRequest, SourceType } from './source.ts';

export const additionalNetworkSource: SourceType<AdditionalNetwork> = {
  kind: additionalNetworkKind,
  finalizer: 'additionalnetwork.finalizers.opdev.io',
  selects: ({ spec }, { labels }) => selects(spec.podSelector, labels),
  requests: (object) => ({ links: [requestOf(object)] }),
  report: ({ pods }) => ({ selectedPods: pods }),
};

function requestOf(object: AdditionalNetwork): LinkRequest {
  const { spec } = object;
  const { name, namePrefix, bridge, mtuBytes, macAddress, alias, addresses, routes } = spec;
  const source = sourceOf(object);
  return {
    ...readRanges(spec),
    source,
    // A name and a prefix of the same letters are two interfaces: who has one does not get the link name of the other.
    key: interfaceKey(source.ref, name === undefined ? (namePrefix ?? '') : `name:${name}`),
    name,
    namePrefix,
    link: linkOf(spec),
    bridge,
    mtuBytes,
    macAddress,
    alias,
    addresses: readAddresses(addresses),
    routes: readRoutes(routes),
  };
}
