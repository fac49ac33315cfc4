/**
 * Pools follow from the PodNetworks: an address that one of them has and no pool records is written down before anything new is handed out. Missing are
 * the last ones that an operator handed out before it ended, and all of a pool that someone deleted or that came from an old backup.
 */
import { type PodNetwork, formatIp, parseCidr } from '@podloom/api';
import type { NetworkRange, PoolRequest } from '@podloom/network';
import { rangeKey } from './caches.ts';
import type { NetworkContext } from './context.ts';

interface Missing {
  readonly namespace: string;
  readonly range: NetworkRange;
  readonly request: PoolRequest;
}

export async function rebuildPools({ caches, allocator, log }: NetworkContext): Promise<void> {
  const missing = caches.podNetworks.list().flatMap((network) =>
    addressesOf(network).filter(({ namespace, range, request }) => {
      const pools = caches.pools.by('range', rangeKey(namespace, range.network, range.cidr));
      return !pools.some(({ status }) => status?.allocations?.some(({ address }) => address === request.address));
    }),
  );
  const results = await Promise.all(
    missing.map(({ namespace, range, request }) => allocator.allocate(namespace, range, request)),
  );
  const lost = results.filter((result) => 'failed' in result).length;
  if (missing.length > 0) log.info({ addresses: missing.length, lost }, 'Wrote addresses down that no IPPool had');
}

function addressesOf({ metadata, spec }: PodNetwork): Missing[] {
  const { namespace = '', name: podName = '' } = metadata;
  const { podUid, nodeName } = spec;
  return spec.interfaces.flatMap(({ key: interfaceKey, addresses, bridge, name, namePrefix }) =>
    addresses.map((text) => {
      const { family, first, prefixLength } = parseCidr(text);
      const cidr = `${formatIp({ family, value: first })}/${prefixLength}`;
      const gateway = (bridge?.gateways ?? [])
        .map((one) => one.split('/')[0] ?? '')
        .find((one) => one.includes(':') === (family === 6));
      const range = { network: bridge?.name ?? name ?? namePrefix ?? '', cidr, gateway: gateway ?? null };
      return {
        namespace,
        range,
        request: { podName, podUid, interfaceKey, nodeName, address: text.split('/')[0] ?? '', hasIt: true },
      };
    }),
  );
}
