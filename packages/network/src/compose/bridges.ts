/**
 * What each bridge of a namespace is like. Decided from all objects of the namespace, never from one pod's: two pods on a bridge must
 * find the same ranges and gateways. The oldest object that gives the bridge a range that it may have decides; who asks for another loses.
 */
import { cidrContains, isIp, parseCidr } from '@podloom/api';
import { firstGateway } from '../ipam/pools.ts';
import type { BridgeRequest, LinkRequest, RangeRequest, Source } from '../source/source.ts';
import { byAge } from './age.ts';
import type { ComposeConflict } from './composed.ts';
import type { Refusal } from './refusals.ts';

export interface BridgeSettings extends Omit<RangeRequest, 'source'> {
  readonly owner: Source;
  readonly mtuBytes?: number | undefined;
}

type BridgeUser = LinkRequest | BridgeRequest;

export interface SettledBridges {
  readonly settings: ReadonlyMap<string, BridgeSettings>;
  /** Bridges and links that ask for a bridge otherwise than its owner. */
  readonly losers: ReadonlyMap<BridgeUser, ComposeConflict>;
  /** Bridges and links whose ranges the namespace may not have, or that are on a bridge of which only such are known. */
  readonly refusals: ReadonlyMap<BridgeUser, Refusal>;
}

/** `refusalOf` says why the ranges of a request cannot be those of its bridge. */
export function settleBridges(
  links: readonly LinkRequest[],
  bridges: readonly BridgeRequest[],
  refusalOf: (request: RangeRequest) => Refusal | undefined,
): SettledBridges {
  const settings = new Map<string, BridgeSettings>();
  const losers = new Map<BridgeUser, ComposeConflict>();
  const refusals = new Map<BridgeUser, Refusal>();
  const byBridge = Map.groupBy<string, BridgeUser>([...bridges, ...links], (one) => bridgeOf(one) ?? '');
  byBridge.delete('');
  for (const [name, users] of byBridge) {
    const requests = users.toSorted(byAge);
    const refused = new Map(requests.map((one) => [one, refusalOf(one)]));
    const possible = requests.filter((one) => refused.get(one) === undefined);
    const ranged = possible.find(hasRange);
    const decisive = ranged ?? possible.find(isDeclaration) ?? possible[0];
    for (const request of requests) {
      const refusal = refused.get(request) ?? (ranged ? undefined : unranged(request, requests, refused));
      // Asked for by another the same range can be had: its gateway may be none.
      if (refusal && !(ranged && isContent(request, ranged))) refusals.set(request, refusal);
    }
    const served = requests.filter((one) => !refusals.has(one));
    if (!decisive || served.length === 0) continue;
    settings.set(name, settle(name, served, decisive, losers));
  }
  return { settings, losers, refusals };
}

function settle(
  name: string,
  requests: readonly BridgeUser[],
  decisive: BridgeUser,
  losers: Map<BridgeUser, ComposeConflict>,
): BridgeSettings {
  for (const request of requests.filter((one) => !isContent(one, decisive))) {
    losers.set(request, bridgeConflict(name, request, decisive));
  }
  // Only a Bridge has an MTU of its own; that of a link is the link's.
  const sizes = requests.filter(isDeclaration).filter((one) => !losers.has(one) && one.mtuBytes !== undefined);
  for (const request of sizes.filter(({ mtuBytes }) => mtuBytes !== sizes[0]!.mtuBytes)) {
    losers.set(request, sizeConflict(request, sizes[0]!));
  }
  // Who decides the ranges does so also if its MTU is not had.
  const content = requests.filter((one) => one === decisive || !losers.has(one));
  return {
    owner: decisive.source,
    cidrs: decisive.cidrs,
    gateway: decisive.gateway,
    exclude: [...new Set(content.flatMap(({ exclude }) => exclude))].toSorted(),
    mtuBytes: sizes[0]?.mtuBytes,
  };
}

/** A link without a range has that of the bridge. Where that may not be had, the link would silently be without address: it is refused, too. */
function unranged(
  request: BridgeUser,
  all: readonly BridgeUser[],
  refused: ReadonlyMap<BridgeUser, Refusal | undefined>,
): Refusal | undefined {
  if (isDeclaration(request) || hasRange(request)) return undefined;
  const why = all.map((one) => refused.get(one)).find((refusal) => refusal !== undefined);
  return why && { ...why, ref: request.source.ref };
}

const isDeclaration = (request: BridgeUser): request is BridgeRequest => !('key' in request);
/** The bridge that a link is on, or that a Bridge is. */
export const bridgeOf = (request: BridgeUser): string | undefined =>
  isDeclaration(request) ? request.name : request.bridge;
const hasRange = (request: RangeRequest): boolean => request.cidrs.length > 0;
const isFirst = (gateway: string | undefined): boolean => gateway === undefined || gateway === 'First';

/** Fewer ranges than the bridge has, or none, are fine: the link takes addresses of those that it names, or of all. */
function isContent(request: RangeRequest, { cidrs, gateway }: RangeRequest): boolean {
  const sameGateway =
    request.gateway === undefined || request.gateway === gateway || (isFirst(request.gateway) && isFirst(gateway));
  return request.cidrs.every((cidr) => cidrs.includes(cidr)) && sameGateway;
}

const bridgeConflict = (name: string, { source }: RangeRequest, decisive: RangeRequest): ComposeConflict => ({
  loser: source.ref,
  winner: decisive.source.ref,
  reason: 'BridgeConflict',
  message: `Bridge ${name} has ${decisive.cidrs.join(' and ') || 'no range'}, gateway ${decisive.gateway ?? 'First'}, from ${decisive.source.ref.kind} ${decisive.source.ref.name}; ask for the same, or name another bridge`,
});

const sizeConflict = (
  { name, source }: BridgeRequest,
  { source: { ref }, mtuBytes }: BridgeRequest,
): ComposeConflict => ({
  loser: source.ref,
  winner: ref,
  reason: 'BridgeConflict',
  message: `Bridge ${name} has MTU ${mtuBytes} from ${ref.kind} ${ref.name}; ask for the same, or name another bridge`,
});

/** Gateway of one range, as pools take it: null for none. */
export function gatewayOf(cidr: string, gateway: string | undefined): string | null {
  if (gateway === 'None') return null;
  const given = gateway !== undefined && isIp(gateway) && cidrContains(cidr, gateway) ? gateway : undefined;
  return given ?? firstGateway(cidr) ?? null;
}

/** Addresses of the bridge itself, with prefix length. */
export const gatewaysOf = ({ cidrs, gateway }: Pick<RangeRequest, 'cidrs' | 'gateway'>): string[] =>
  cidrs.flatMap((cidr) => {
    const address = gatewayOf(cidr, gateway);
    return address === null ? [] : [`${address}/${parseCidr(cidr).prefixLength}`];
  });
