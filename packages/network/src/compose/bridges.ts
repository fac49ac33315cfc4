/**
 * What each bridge of a namespace is like. Decided from all objects of the namespace, never from one pod's: two pods on a bridge must
 * find the same ranges and gateways. The oldest object that gives the bridge a range decides; who wants another loses.
 */
import { cidrContains, isIp, parseCidr } from '@podloom/api';
import { firstGateway } from '../ipam/pools.ts';
import type { ComposeConflict } from './composed.ts';
import { type Asker, type BridgeWish, type LinkWish, type RangeWish, byAge } from './wishes.ts';

export interface BridgeSettings extends RangeWish {
  readonly owner: Asker;
  readonly mtuBytes?: number | undefined;
}

type Voice = RangeWish & { readonly asker: Asker };

export interface SettledBridges {
  readonly settings: ReadonlyMap<string, BridgeSettings>;
  /** Bridges and links that want a bridge otherwise than its owner. */
  readonly losers: ReadonlyMap<LinkWish | BridgeWish, ComposeConflict>;
}

export function settleBridges(links: readonly LinkWish[], bridges: readonly BridgeWish[]): SettledBridges {
  const settings = new Map<string, BridgeSettings>();
  const losers = new Map<LinkWish | BridgeWish, ComposeConflict>();
  const names = new Set([...bridges.map(({ name }) => name), ...links.flatMap(({ bridge }) => bridge ?? [])]);
  for (const name of names) {
    const voices = [
      ...bridges.filter((wish) => wish.name === name),
      ...links.filter((wish) => wish.bridge === name),
    ].toSorted(byAge);
    const isDeclaration = (wish: LinkWish | BridgeWish): wish is BridgeWish => bridges.includes(wish as BridgeWish);
    const decisive = voices.find(({ cidrs }) => cidrs.length > 0) ?? voices.find(isDeclaration) ?? voices[0]!;
    for (const wish of voices.filter((voice) => !isContent(voice, decisive))) {
      losers.set(wish, bridgeConflict(name, wish, decisive));
    }
    // Only a Bridge has an MTU of its own; that of a link is the link's.
    const sizes = voices.filter(isDeclaration).filter((wish) => !losers.has(wish) && wish.mtuBytes !== undefined);
    for (const wish of sizes.filter(({ mtuBytes }) => mtuBytes !== sizes[0]!.mtuBytes)) {
      losers.set(wish, sizeConflict(wish, sizes[0]!));
    }
    // Who decides the ranges does so also if its MTU is not had.
    const content = voices.filter((wish) => wish === decisive || !losers.has(wish));
    settings.set(name, {
      owner: decisive.asker,
      cidrs: decisive.cidrs,
      gateway: decisive.gateway,
      exclude: [...new Set(content.flatMap(({ exclude }) => exclude))].toSorted(),
      mtuBytes: sizes[0]?.mtuBytes,
    });
  }
  return { settings, losers };
}

const isFirst = (gateway: string | undefined): boolean => gateway === undefined || gateway === 'First';

/** Fewer ranges than the bridge has, or none, are fine: the link takes addresses of those that it names, or of all. */
function isContent(wish: Voice, { cidrs, gateway }: Voice): boolean {
  const sameGateway =
    wish.gateway === undefined || wish.gateway === gateway || (isFirst(wish.gateway) && isFirst(gateway));
  return wish.cidrs.every((cidr) => cidrs.includes(cidr)) && sameGateway;
}

const bridgeConflict = (name: string, { asker }: Voice, decisive: Voice): ComposeConflict => ({
  loser: asker.ref,
  winner: decisive.asker.ref,
  reason: 'BridgeConflict',
  message: `Bridge ${name} has ${decisive.cidrs.join(' and ') || 'no range'}, gateway ${decisive.gateway ?? 'First'}, from ${decisive.asker.ref.kind} ${decisive.asker.ref.name}; ask for the same, or name another bridge`,
});

const sizeConflict = ({ name, asker }: BridgeWish, { asker: { ref }, mtuBytes }: BridgeWish): ComposeConflict => ({
  loser: asker.ref,
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
export const gatewaysOf = ({ cidrs, gateway }: RangeWish): string[] =>
  cidrs.flatMap((cidr) => {
    const address = gatewayOf(cidr, gateway);
    return address === null ? [] : [`${address}/${parseCidr(cidr).prefixLength}`];
  });
