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

/** The first pools of a range that have something to hand out: as many as asked for, or as there are. */
export const poolsOf = (range: NetworkRange, count: number): PoolDeclaration[] =>
  indexesOf(range)
    .take(count)
    .map((index) => poolAt(range, index))
    .toArray();

/** Where everything is excluded there is no pool. By arithmetic: what is excluded of an IPv6 range may be more pools than anyone can look at. */
function* indexesOf(range: NetworkRange): Generator<bigint> {
  const { first, last } = parseCidr(range.cidr);
  let next = 0n;
  for (const part of openParts(specOfRange(range), { first, last })) {
    const start = (part.first - first) / poolSize;
    for (next = start > next ? start : next; next <= (part.last - first) / poolSize; next += 1n) yield next;
  }
}

/** The pool that an address of the range belongs to; undefined outside. */
export function poolFor(range: NetworkRange, address: string): PoolDeclaration | undefined {
  const { family, first, last } = parseCidr(range.cidr);
  const ip = parseIp(address);
  if (ip.family !== family || ip.value < first || ip.value > last) return undefined;
  return poolAt(range, (ip.value - first) / poolSize);
}

/** What all pools of a range have in common. */
export function specOfRange({ network, cidr, gateway, exclude = [] }: NetworkRange): Omit<IPPoolSpec, 'range'> {
  const { family, first, prefixLength } = parseCidr(cidr);
  const given = gateway === undefined ? firstGateway(cidr) : (gateway ?? undefined);
  return {
    network,
    cidr: `${formatIp({ family, value: first })}/${prefixLength}`,
    ...(given === undefined ? {} : { gateway: given }),
    exclude: [...exclude],
  };
}

function poolAt(range: NetworkRange, index: bigint): PoolDeclaration {
  const { family, first, last, prefixLength } = parseCidr(range.cidr);
  const start = first + index * poolSize;
  const end = start + poolSize - 1n;
  return {
    name: `${objectName(range.network)}-${formatIp({ family, value: start }).replaceAll(':', '-')}-${prefixLength}`
      // An IPv6 address may end in "::", and a name part in no "-".
      .replaceAll(/-{2,}/g, '-x-'),
    spec: {
      ...specOfRange(range),
      range: { first: formatIp({ family, value: start }), last: formatIp({ family, value: end < last ? end : last }) },
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
  /** Handed out to whoever comes: neither reserved nor excluded. What is excluded may be asked for. */
  readonly isOpen: (value: bigint) => boolean;
  /** Addresses that the pool could hand out if nobody had one. */
  readonly capacity: number;
}

const known = new WeakMap<IPPoolSpec, PoolNumbers>();

/** Worked out once for the same spec, because every look at a pod asks. */
export function numbersOf(spec: IPPoolSpec): PoolNumbers {
  const numbers = known.get(spec) ?? workOut(spec);
  known.set(spec, numbers);
  return numbers;
}

function workOut(spec: IPPoolSpec): PoolNumbers {
  const { family, prefixLength } = parseCidr(spec.cidr);
  const [first, last] = [parseIp(spec.range.first).value, parseIp(spec.range.last).value];
  const reserved = new Set(reservedOf(spec));
  const excluded = excludedOf(spec).filter((part) => part.first <= last && part.last >= first);
  const isReserved = (value: bigint): boolean => reserved.has(value);
  const isOpen = (value: bigint): boolean =>
    !isReserved(value) && !excluded.some((part) => value >= part.first && value <= part.last);
  const capacity = openParts(spec, { first, last }).reduce((sum, part) => sum + Number(part.last - part.first) + 1, 0);
  return { family, prefixLength, first, last, isReserved, isOpen, capacity };
}

interface Part {
  readonly first: bigint;
  readonly last: bigint;
}
type Bounds = Omit<IPPoolSpec, 'range'>;

function reservedOf({ cidr, gateway }: Bounds): bigint[] {
  const { family, prefixLength, first, last } = parseCidr(cidr);
  const edges = prefixLength >= pairLength[family] ? [] : family === 4 ? [first, last] : [first];
  return gateway === undefined ? edges : [...edges, parseIp(gateway).value];
}

const excludedOf = ({ cidr, exclude }: Bounds): Part[] =>
  exclude.map(parseCidr).filter(({ family }) => family === parseCidr(cidr).family);

/** What is handed out to whoever comes, in order. */
function* openParts(spec: Bounds, within: Part): Generator<Part> {
  const closed = [...excludedOf(spec), ...reservedOf(spec).map((value) => ({ first: value, last: value }))];
  let next = within.first;
  for (const { first, last } of closed.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    if (first > within.last) break;
    if (first > next) yield { first: next, last: first - 1n };
    if (last >= next) next = last + 1n;
  }
  if (next <= within.last) yield { first: next, last: within.last };
}

/** In use and free, for `kubectl get ippools` and metrics. Addresses that cool down are neither. */
export function countsOf({ spec, status }: Pick<IPPool, 'spec' | 'status'>): { used: number; free: number } {
  const { isOpen, capacity } = numbersOf(spec);
  const allocations = status?.allocations ?? [];
  const inCapacity = allocations.filter(({ address }) => isOpen(parseIp(address).value)).length;
  return {
    used: allocations.filter(({ releasedAt }) => releasedAt === undefined).length,
    free: Math.max(0, capacity - inCapacity),
  };
}
