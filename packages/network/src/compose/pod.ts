/**
 * All sources of a pod in one PodNetwork. The same objects give the same result in whatever order they come; what two of them cannot
 * both have goes to the older, and the younger is told whose it is.
 */
import { cidrContains, formatIp, parseIp, podNetworkRoom } from '@podloom/api';
import { type SettledBridges, gatewayOf, gatewaysOf, settleBridges } from './bridges.ts';
import type { AddressRequest, ComposeConflict, ComposedInterface, ComposedPod, PodIdentity } from './composed.ts';
import { namingKey } from './devices.ts';
import { mergePrimaries, primaryCrowding, primaryRivalry, routePlace } from './primary.ts';
import {
  type LinkWish,
  type PrimaryWish,
  type RangeWish,
  type Sources,
  bridgeWishes,
  byAge,
  linkWishes,
  primaryWishes,
} from './wishes.ts';

/** `sources` must not change once they were given; `devices` from `bridgeDevices`; a bridge that is not in it has its plain name. */
export function composePod(
  pod: PodIdentity,
  sources: Sources,
  devices: ReadonlyMap<string, string> = new Map(),
): ComposedPod {
  if (pod.hostNetwork) return { interfaces: [], conflicts: [] };
  const isForPod = ({ asker }: { readonly asker: LinkWish['asker'] }): boolean => asker.chooses(pod.labels);
  const { links, primaries, bridges } = wishesIn(pod.namespace, sources);

  const accepted: (LinkWish | PrimaryWish)[] = [];
  const conflicts: ComposeConflict[] = [];
  for (const wish of [...links, ...primaries].filter(isForPod).toSorted(byAge)) {
    const [olderLinks, olderPrimaries] = [accepted.filter(isLink), accepted.filter(isPrimary)];
    const conflict = isLink(wish)
      ? (bridges.losers.get(wish) ??
        rivalry(wish, olderLinks) ??
        routeRivalry(wish, accepted) ??
        crowding(wish, olderLinks))
      : (primaryRivalry(wish, olderPrimaries) ??
        routeRivalry(wish, olderLinks) ??
        primaryCrowding(wish, olderPrimaries));
    if (conflict) conflicts.push(conflict);
    else accepted.push(wish);
  }
  const primary = mergePrimaries(accepted.filter(isPrimary));
  return {
    interfaces: accepted.filter(isLink).map((wish) => composeInterface(wish, bridges, pod.namespace, devices)),
    ...(primary === undefined ? {} : { primary }),
    conflicts,
  };
}

const isPrimary = (wish: LinkWish | PrimaryWish): wish is PrimaryWish => 'primary' in wish;
const isLink = (wish: LinkWish | PrimaryWish): wish is LinkWish => !isPrimary(wish);

/** Bridges of one namespace that lose against an older wish; their own status tells. */
export const bridgeConflicts = (namespace: string, sources: Sources): ComposeConflict[] => [
  ...wishesIn(namespace, sources).bridges.losers.values(),
];

/** What each bridge of one namespace is like, and by whose word. */
export const bridgeSettings = (namespace: string, sources: Sources): SettledBridges['settings'] =>
  wishesIn(namespace, sources).bridges.settings;

interface Wishes {
  readonly links: readonly LinkWish[];
  readonly primaries: readonly PrimaryWish[];
  readonly bridges: SettledBridges;
}

const worked = new WeakMap<Sources, Map<string, Wishes>>();

/** Worked out once for the same sources, because many pods are composed from them. */
function wishesIn(namespace: string, sources: Sources): Wishes {
  const byNamespace = worked.get(sources) ?? new Map<string, Wishes>();
  worked.set(sources, byNamespace);
  const known = byNamespace.get(namespace);
  if (known) return known;
  const isHere = ({ asker }: { readonly asker: LinkWish['asker'] }): boolean => asker.namespace === namespace;
  const links = linkWishes(sources).filter(isHere);
  const primaries = primaryWishes(sources).filter(isHere);
  const wishes = { links, primaries, bridges: settleBridges(links, bridgeWishes(sources).filter(isHere)) };
  byNamespace.set(namespace, wishes);
  return wishes;
}

const sameText = (a: string | undefined, b: string | undefined): boolean => a !== undefined && a === b;

function rivalry(wish: LinkWish, older: readonly LinkWish[]): ComposeConflict | undefined {
  for (const rival of older) {
    const refs = { loser: wish.asker.ref, winner: rival.asker.ref };
    const whose = `${refs.winner.kind} ${refs.winner.name}`;
    if (sameText(wish.name, rival.name) || sameText(wish.namePrefix, rival.namePrefix)) {
      const message = `The pod has an interface ${wish.name ?? wish.namePrefix} from ${whose}; choose another name`;
      return { ...refs, reason: 'InterfaceConflict', message };
    }
    const shared = wish.addresses.find((address) => rival.addresses.some((other) => sameIp(address, other)));
    if (shared !== undefined && networkOf(wish) === networkOf(rival)) {
      const message = `The pod has ${shared} already, from ${whose}; choose another address`;
      return { ...refs, reason: 'AddressConflict', message };
    }
  }
  return undefined;
}

/** A pod has one list of routes, whichever links they go over. */
function routeRivalry(
  wish: LinkWish | PrimaryWish,
  older: readonly (LinkWish | PrimaryWish)[],
): ComposeConflict | undefined {
  const places = new Set(routesOf(wish).map(routePlace));
  if (places.size === 0) return undefined;
  for (const rival of older) {
    const place = routesOf(rival)
      .map(routePlace)
      .find((one) => places.has(one));
    if (place === undefined) continue;
    const refs = { loser: wish.asker.ref, winner: rival.asker.ref };
    const message = `The pod has a route to ${place} from ${refs.winner.kind} ${refs.winner.name}; choose another metric`;
    return { ...refs, reason: 'RouteConflict', message };
  }
  return undefined;
}

/** One too many is one object's loss; refused by the API server, it would be everybody's. */
function crowding(wish: LinkWish, older: readonly LinkWish[]): ComposeConflict | undefined {
  const last = older.at(-1);
  if (!last || older.length < podNetworkRoom.interfaces) return undefined;
  const refs = { loser: wish.asker.ref, winner: last.asker.ref };
  const message = `The pod has room for ${podNetworkRoom.interfaces} interfaces, of which ${refs.winner.kind} ${refs.winner.name} has the last`;
  return { ...refs, reason: 'InterfaceConflict', message };
}

const routesOf = (wish: LinkWish | PrimaryWish): LinkWish['routes'] =>
  isPrimary(wish) ? (wish.primary.routes ?? []) : wish.routes;

const sameIp = (a: string, b: string): boolean => formatIp(parseIp(a)) === formatIp(parseIp(b));

/** What a link takes its addresses of: the bridge that it is on. Without one it has none, and is a network by itself. */
export const networkOf = ({
  bridge,
  name,
  namePrefix,
}: Pick<LinkWish, 'name' | 'namePrefix'> & {
  readonly bridge?: string | { readonly name: string } | undefined;
}): string => (typeof bridge === 'object' ? bridge.name : bridge) ?? name ?? namePrefix ?? '';

function composeInterface(
  wish: LinkWish,
  { settings }: SettledBridges,
  namespace: string,
  devices: ReadonlyMap<string, string>,
): ComposedInterface {
  const bridge = wish.bridge === undefined ? undefined : settings.get(wish.bridge);
  const { key, name, namePrefix, linkType, parent, mtuBytes, macAddress, alias, routes, asker } = wish;
  return {
    interface: {
      key,
      ...(name === undefined ? {} : { name }),
      ...(namePrefix === undefined ? {} : { namePrefix }),
      source: asker.ref,
      linkType,
      ...(wish.bridge !== undefined && bridge
        ? {
            bridge: {
              name: wish.bridge,
              device: devices.get(namingKey(namespace, wish.bridge)) ?? wish.bridge,
              gateways: gatewaysOf(bridge),
              home: 'node',
              ...(bridge.mtuBytes === undefined ? {} : { mtuBytes: bridge.mtuBytes }),
            },
          }
        : {}),
      ...(parent === undefined ? {} : { parent }),
      ...(mtuBytes === undefined ? {} : { mtuBytes }),
      ...(macAddress === undefined ? {} : { macAddress: macAddress.toLowerCase() }),
      ...(alias === undefined ? {} : { alias }),
      routes: [...routes],
    },
    // Without a bridge nobody decides what the range is like: each who names the link so would have it its own way.
    requests: bridge ? requestsOf(wish, { ...bridge, cidrs: wish.cidrs.length > 0 ? wish.cidrs : bridge.cidrs }) : [],
  };
}

/** In each range the static addresses that lie in it, or else the next free one. */
function requestsOf(wish: LinkWish, { cidrs, gateway, exclude }: RangeWish): AddressRequest[] {
  return cidrs.flatMap((cidr): AddressRequest[] => {
    const network = networkOf(wish);
    const inRange = exclude.filter((part) => cidrContains(cidr, part));
    const range = { network, cidr, gateway: gatewayOf(cidr, gateway), exclude: inRange };
    const statics = wish.addresses.filter((address) => cidrContains(cidr, address));
    return statics.length === 0 ? [range] : statics.map((address) => Object.assign({ ...range }, { address }));
  });
}
