/**
 * A network's range in pools of a few hundred addresses. Names and borders follow from the range alone, so two leaders that need
 * the next pool make the same object, and a static address leads to its pool without looking through all of them.
 */
import { type IPPool, type IPPoolSpec, formatIp, parseCidr, parseIp } from '@podloom/api';
import { hashText } from '../hash.ts';
import type { NetworkRange, PoolDeclaration } from './types.ts';

/** Small enough that an IPPool stays small and writers rarely meet, large enough that a /24 is one object. */
export const poolSize = 256n;

/** From here on a range has no network, broadcast or anycast address to spare (RFC 3021, RFC 6164). */
const pairLength = { 4: 31, 6: 127 } as const;

/** The first address of the range, where it has room for one. */
export function firstGateway(cidr: string): string | undefined {
  const { family, first, prefixLength } = parseCidr(cidr);
  return prefixLength < pairLength[family] ? formatIp({ family, value: first + 1n }) : undefined;
}

/** How many pools a range can have in all. */
export const poolCount = (cidr: string): bigint => {
  const { first, last } = parseCidr(cidr);
  return (last - first) / poolSize + 1n;
};

/** The first pools of a range: as many as asked for, or as there are. */
export function poolsOf(range: NetworkRange, count: number): PoolDeclaration[] {
  const possible = poolCount(range.cidr);
  const length = possible < BigInt(count) ? Number(possible) : count;
  return Array.from({ length }, (_, i) => poolAt(range, BigInt(i)));
}

/** The pool that an address of the range belongs to; undefined outside. */
export function poolFor(range: NetworkRange, address: string): PoolDeclaration | undefined {
  const { family, first, last } = parseCidr(range.cidr);
  const ip = parseIp(address);
  if (ip.family !== family || ip.value < first || ip.value > last) return undefined;
  return poolAt(range, (ip.value - first) / poolSize);
}

function poolAt(range: NetworkRange, index: bigint): PoolDeclaration {
  const { family, first, last, prefixLength } = parseCidr(range.cidr);
  const start = first + index * poolSize;
  const end = start + poolSize - 1n;
  const gateway = range.gateway === undefined ? firstGateway(range.cidr) : (range.gateway ?? undefined);
  return {
    name: `${objectName(range.network)}-${formatIp({ family, value: start }).replaceAll(':', '-')}-${prefixLength}`
      // An IPv6 address may end in "::", and a name part in no "-".
      .replaceAll(/-{2,}/g, '-x-'),
    spec: {
      network: range.network,
      cidr: `${formatIp({ family, value: first })}/${prefixLength}`,
      range: { first: formatIp({ family, value: start }), last: formatIp({ family, value: end < last ? end : last }) },
      ...(gateway === undefined ? {} : { gateway }),
      exclude: [...(range.exclude ?? [])],
    },
  };
}

/** Link names may have letters that object names may not; a hash keeps them apart then. */
const objectName = (network: string): string =>
  /^[a-z0-9]([a-z0-9]|-(?!-))*(?<!-)$/.test(network)
    ? network
    : `${network.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}x${hashText(network).slice(0, 8)}`;

/** What allocation asks of a pool, as numbers. */
export interface PoolNumbers {
  readonly family: 4 | 6;
  readonly prefixLength: number;
  readonly first: bigint;
  readonly last: bigint;
  /** Never handed out, not even when asked for by name: network, broadcast, gateway. */
  readonly isReserved: (value: bigint) => boolean;
  /** Not handed out by itself, but may be asked for. */
  readonly isExcluded: (value: bigint) => boolean;
}

export function numbersOf(spec: IPPoolSpec): PoolNumbers {
  const cidr = parseCidr(spec.cidr);
  const gateway = spec.gateway === undefined ? undefined : parseIp(spec.gateway).value;
  const hasEdges = cidr.prefixLength < pairLength[cidr.family];
  const excluded = spec.exclude.map(parseCidr).filter(({ family }) => family === cidr.family);
  return {
    family: cidr.family,
    prefixLength: cidr.prefixLength,
    first: parseIp(spec.range.first).value,
    last: parseIp(spec.range.last).value,
    isReserved: (value) =>
      value === gateway || (hasEdges && (value === cidr.first || (cidr.family === 4 && value === cidr.last))),
    isExcluded: (value) => excluded.some(({ first, last }) => value >= first && value <= last),
  };
}

/** Addresses that a pool could hand out if nobody had one. */
export function capacityOf(spec: IPPoolSpec): number {
  const { first, last, isReserved, isExcluded } = numbersOf(spec);
  let capacity = 0;
  for (let value = first; value <= last; value += 1n) if (!isReserved(value) && !isExcluded(value)) capacity += 1;
  return capacity;
}

/** In use and free, for `kubectl get ippools` and metrics. Addresses that cool down are neither. */
export function countsOf({ spec, status }: Pick<IPPool, 'spec' | 'status'>): { used: number; free: number } {
  const { isExcluded } = numbersOf(spec);
  const allocations = status?.allocations ?? [];
  const inCapacity = allocations.filter(({ address }) => !isExcluded(parseIp(address).value)).length;
  return {
    used: allocations.filter(({ releasedAt }) => releasedAt === undefined).length,
    free: Math.max(0, capacityOf(spec) - inCapacity),
  };
}
