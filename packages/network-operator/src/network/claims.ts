/**
 * Addresses that PodNetworks have. A pool that someone deleted, or that came from an old backup, does not know all of them: the allocator
 * records them again before it hands out anything of their range.
 */
import { type PodNetwork, formatIp, parseCidr } from '@podloom/api';
import type { Cache } from '@podloom/kube';
import { type PoolRequest, networkOf } from '@podloom/network';
import type { Fresh } from './fresh.ts';
import { once } from './once.ts';

export interface Claim {
  readonly network: string;
  readonly cidr: string;
  readonly request: PoolRequest & { readonly address: string };
}

/** Of all PodNetworks of a namespace that are on this network. */
export type Claims = (namespace: string, network: string) => readonly Claim[];

export const networkKey = (namespace: string, network: string): string => `${namespace} ${network}`;

/** Index: the networks that a PodNetwork has addresses of. */
export const networksOf = (podNetwork: PodNetwork): string[] => [
  ...new Set(claimsIn(podNetwork).map(({ network }) => networkKey(podNetwork.metadata.namespace ?? '', network))),
];

export const claimsOf =
  (cache: Pick<Cache<PodNetwork, 'network'>, 'by'>, podNetworks: Fresh<PodNetwork>): Claims =>
  (namespace, network) => {
    const key = networkKey(namespace, network);
    const unheard = podNetworks.unheard().filter((one) => networksOf(one).includes(key));
    return [...podNetworks.newest(cache.by('network', key)), ...unheard]
      .flatMap(claimsIn)
      .filter((claim) => claim.network === network);
  };

const claimsIn = once(({ metadata: { name: podName = '' }, spec }: PodNetwork): readonly Claim[] => {
  const { podUid, nodeName } = spec;
  return spec.interfaces.flatMap((one) =>
    one.addresses.map((text) => {
      const { family, first, prefixLength } = parseCidr(text);
      const address = text.split('/')[0] ?? '';
      return {
        network: networkOf(one),
        cidr: `${formatIp({ family, value: first })}/${prefixLength}`,
        request: { podName, podUid, interfaceKey: one.key, nodeName, address, hasIt: true },
      };
    }),
  );
});
