/**
 * Pools follow from the PodNetworks: an address that one of them has and no pool records is written down before anything new of its range is handed out.
 * Missing are the last ones that an operator handed out before it ended, and all of a pool that someone deleted or that came from an old backup. Each range
 * for itself: a namespace that is about to go takes no writes, and must not keep others waiting.
 */
import { type PodNetwork, formatIp, parseCidr } from '@podloom/api';
import { type NetworkRange, type PoolRequest, networkOf } from '@podloom/network';
import { type Caches, rangeKey } from './caches.ts';
import type { NetworkContext } from './context.ts';

interface Missing {
  readonly namespace: string;
  readonly range: NetworkRange;
  readonly request: PoolRequest & { readonly address: string };
}

export function rebuildPools({
  caches,
  allocator,
  log,
}: Pick<NetworkContext, 'allocator' | 'log'> & { readonly caches: Pick<Caches, 'podNetworks' | 'pools'> }): void {
  const missing = caches.podNetworks.list().flatMap((network) =>
    addressesOf(network).flatMap((one) => {
      const pools = caches.pools.by('range', rangeKey(one.namespace, one.range.network, one.range.cidr));
      const isThere = pools.some(({ status }) =>
        status?.allocations?.some(
          ({ address, podUid, releasedAt }) =>
            address === one.request.address && podUid === one.request.podUid && releasedAt === undefined,
        ),
      );
      if (isThere) return [];
      // What the range is like a pool of it knows better: the PodNetwork does not say what is excluded.
      const { gateway = null, exclude } = pools[0]?.spec ?? one.range;
      return [{ ...one, range: { ...one.range, gateway, exclude } }];
    }),
  );
  for (const { namespace, range, request } of missing) allocator.restore(namespace, range, request);
  if (missing.length > 0) log.info({ addresses: missing.length }, 'Found addresses that no IPPool has');
}

function addressesOf({ metadata, spec }: PodNetwork): Missing[] {
  const { namespace = '', name: podName = '' } = metadata;
  const { podUid, nodeName } = spec;
  return spec.interfaces.flatMap((one) =>
    one.addresses.map((text) => {
      const { family, first, prefixLength } = parseCidr(text);
      const cidr = `${formatIp({ family, value: first })}/${prefixLength}`;
      const gateway = (one.bridge?.gateways ?? [])
        .map((each) => each.split('/')[0] ?? '')
        .find((each) => each.includes(':') === (family === 6));
      const range = { network: networkOf(one), cidr, gateway: gateway ?? null };
      return {
        namespace,
        range,
        request: { podName, podUid, interfaceKey: one.key, nodeName, address: text.split('/')[0] ?? '', hasIt: true },
      };
    }),
  );
}
