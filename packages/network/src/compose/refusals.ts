/**
 * What a namespace may not have although it asks: devices of the nodes and settings of primary links without a grant, and ranges that the cluster
 * itself uses. It is left out before anything else is decided, so that nobody loses against it. Admission says the same earlier where it can; here it
 * holds whatever was admitted before a grant went or a Node came.
 */
import {
  type KubeObject,
  type NetworkGrant,
  cidrContains,
  isCidr,
  isIp,
  parseCidr,
  sysctlsToGrant,
} from '@podloom/api';
import { type CniRefusal, renderCni } from '../cni/render.ts';
import { selects } from '../source/selects.ts';
import type { LinkRequest, PrimaryRequest, Problem, RangeRequest } from '../source/source.ts';
import { gatewaysOf } from './bridges.ts';

export interface Refusal extends Problem {
  readonly reason: 'NotGranted' | 'RangeReserved' | CniRefusal['reason'];
}

/** A Node, as far as it matters here. */
interface NodeRanges {
  readonly spec?: { readonly podCIDRs?: readonly string[] };
  readonly status?: { readonly addresses?: readonly { readonly address: string }[] };
}

/** The ranges of the cluster that a Node knows: those of its pods, and its own addresses. */
export const rangesOfNode = ({ spec, status }: NodeRanges): string[] => [
  ...(spec?.podCIDRs ?? []),
  ...(status?.addresses ?? []).flatMap(({ address }) =>
    isIp(address) ? `${address}/${address.includes(':') ? 128 : 32}` : [],
  ),
];

export interface Limits {
  readonly reserved: readonly string[];
  /** Absent where they cannot be read. */
  readonly grants?: readonly NetworkGrant[] | undefined;
}

/** For private use, for tests and for documents: nobody needs to be reached there by others. */
const privateRanges = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '2001:db8::/32',
  'fc00::/7',
];
const isPrivate = (address: string): boolean => privateRanges.some((range) => holds(range, address));

const isGranted = (address: string, grants: Limits['grants']): boolean =>
  grants?.some(({ spec }) => spec.cidrs?.some((range) => holds(range, address))) ?? true;

export const overlaps = (a: string, b: string): boolean =>
  isCidr(a) && isCidr(b) && parseCidr(a).family === parseCidr(b).family && (holds(a, b) || holds(b, a));

const holds = (outer: string, inner: string): boolean => cidrContains(outer, inner.split('/')[0] ?? '');

/** Why the ranges cannot be those of a bridge; undefined where they can. */
export function rangeRefusal(request: RangeRequest, { reserved, grants }: Limits): Refusal | undefined {
  const { ref } = request.source;
  const gateways = gatewaysOf(request);
  for (const range of [...request.cidrs, ...gateways]) {
    const taken = overlapping(reserved, range);
    if (taken !== undefined) {
      const message = `${range} overlaps ${taken}, which the cluster uses; choose another range`;
      return { ref, reason: 'RangeReserved', message };
    }
  }
  const exposed = gateways.find((gateway) => !isPrivate(gateway) && !isGranted(gateway, grants));
  if (exposed === undefined) return undefined;
  const message = `${exposed} is public, and as a gateway it would be taken from everyone on the node; ask for a private range, for gateway None, or an administrator for a NetworkGrant`;
  return { ref, reason: 'NotGranted', message };
}

/** Why the link cannot be, whatever its bridge is like. */
export function linkRefusal({ source, link: { parent }, cni }: LinkRequest, { grants }: Limits): Refusal | undefined {
  if (cni) {
    const rendered = renderCni(cni, grants);
    return 'cni' in rendered ? undefined : { ref: source.ref, ...rendered };
  }
  if (typeof parent !== 'string' || !grants || grants.some(({ spec }) => spec.devices?.includes(parent)))
    return undefined;
  const message = `Device ${parent} of the nodes needs a NetworkGrant for this namespace; ask an administrator`;
  return { ref: source.ref, reason: 'NotGranted', message };
}

/** Why the primary link cannot be changed so. Nothing of such a request is done. */
export function primaryRefusal({ source, primary }: PrimaryRequest, { grants }: Limits): Refusal | undefined {
  const denied = sysctlsToGrant(primary.sysctls).filter(
    (name) => grants && !grants.some(({ spec }) => spec.primarySysctls?.includes(name)),
  );
  if (denied.length === 0) return undefined;
  const message = `The primary link can have ${denied.join(', ')} only by a NetworkGrant for this namespace; ask an administrator, or take it out`;
  return { ref: source.ref, reason: 'NotGranted', message };
}

interface Reserved {
  readonly text: string;
  readonly first: bigint;
  readonly last: bigint;
}

/** By family, in order of their first addresses, and with each the one of those up to it that reaches furthest. */
type ReservedByFamily = ReadonlyMap<
  4 | 6,
  { readonly ordered: readonly Reserved[]; readonly furthest: readonly Reserved[] }
>;

const reservedKnown = new WeakMap<Limits['reserved'], ReservedByFamily>();

/** One of the ranges that this one overlaps. A large cluster reserves thousands, and every range of every tenant is looked for among them. */
function overlapping(reserved: Limits['reserved'], range: string): string | undefined {
  const known = reservedKnown.get(reserved) ?? inOrder(reserved);
  reservedKnown.set(reserved, known);
  const { family, first, last } = parseCidr(range);
  const { ordered, furthest } = known.get(family) ?? { ordered: [], furthest: [] };
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ordered[middle]!.first <= last) low = middle + 1;
    else high = middle;
  }
  const rival = furthest[low - 1];
  return rival !== undefined && rival.last >= first ? rival.text : undefined;
}

function inOrder(reserved: Limits['reserved']): ReservedByFamily {
  const ranges = reserved.filter(isCidr).map((text) => Object.assign(parseCidr(text), { text }));
  const byFamily = Map.groupBy(ranges, ({ family }) => family);
  const lists = byFamily.entries().map(([family, list]) => {
    const ordered = list.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
    const furthest: Reserved[] = [];
    for (const one of ordered) {
      const before = furthest.at(-1);
      furthest.push(before && before.last >= one.last ? before : one);
    }
    return [family, { ordered, furthest }] as const;
  });
  return new Map(lists);
}

/** While its labels are unknown no selector chooses the namespace: one that says what must not be there would choose every such. */
export function grantsFor(
  namespace: string,
  labels: KubeObject['metadata']['labels'],
  all: readonly NetworkGrant[],
): NetworkGrant[] {
  return all.filter(({ spec: { namespaces } }) => {
    const { names, selector } = namespaces;
    return (
      names?.includes(namespace) === true ||
      (selector !== undefined && labels !== undefined && selects(selector, labels))
    );
  });
}
