/**
 * What one link of a pod has and is not to have any more may be what another link is to have: an address, a route, a MAC on a bridge. It is given up now and
 * taken at the next look, so no plan depends on the order of two interfaces, and each can be undone by itself.
 */
import type { PodInterface } from '@podloom/api';
import { canonicalAddress, isLinkLocal } from '../address.ts';
import { planAddresses } from './addresses.ts';
import type { Observed, ObservedAddress, ObservedFdb, ObservedRoute, Route } from './observed.ts';
import { isOurRoute, placeOf, planRoutes, sameRoute } from './routes.ts';
import type { Owner, Step } from './step.ts';
import { addressesOf } from './world.ts';

/** What a link of the pod, or its primary link, is to have. */
export interface Share {
  /** Index of the link in the pod. */
  readonly pod?: number | undefined;
  readonly routes: readonly Route[];
  /** Absent for the primary link, whose addresses are not ours. */
  readonly addresses?: PodInterface['addresses'] | undefined;
  /** Index of the other end, where it is a port, and the MAC and the bridge (by index) that it is to have. */
  readonly node?: number | undefined;
  readonly mac?: string | undefined;
  readonly bridge?: number | undefined;
}

export interface Leaving {
  readonly addresses: readonly ObservedAddress[];
  readonly routes: readonly ObservedRoute[];
  readonly fdb: readonly ObservedFdb[];
}

/** What the link has and is not to have. fe80:: addresses are its own: no other link takes them. */
export function leavingOf(share: Share, { node, pod }: Observed): Leaving {
  const wanted = share.addresses && new Set(share.addresses.map(canonicalAddress));
  const isPort = (index: number | undefined): boolean => index !== undefined && index === share.node;
  const bridge = share.node === undefined ? undefined : node.links.find(({ index }) => isPort(index))?.master;
  return {
    addresses: (pod?.addresses ?? []).filter(
      ({ link, address }) => wanted && link === share.pod && !isLinkLocal(address) && !wanted.has(address),
    ),
    routes: (pod?.routes ?? []).filter(
      (route) =>
        isOurRoute(route) &&
        share.pod !== undefined &&
        route.link === share.pod &&
        !share.routes.some((one) => sameRoute(one, route)),
    ),
    fdb: node.fdb.filter(
      ({ link, mac, pinned }) => isPort(link) && pinned && (mac !== share.mac || bridge !== share.bridge),
    ),
  };
}

/** The world without it. */
export function withoutLeaving(observed: Observed, leaving: readonly Leaving[]): Observed {
  const { node, pod } = observed;
  const addresses = new Set(leaving.flatMap((one) => one.addresses));
  const routes = new Set(leaving.flatMap((one) => one.routes));
  const fdb = new Set(leaving.flatMap((one) => one.fdb));
  return {
    ...observed,
    node: fdb.size === 0 ? node : { ...node, fdb: node.fdb.filter((entry) => !fdb.has(entry)) },
    pod: pod && {
      ...pod,
      addresses: pod.addresses.filter((entry) => !addresses.has(entry)),
      routes: pod.routes.filter((entry) => !routes.has(entry)),
    },
  };
}

const ipIn = (address: string): string => canonicalAddress(address).split('/')[0] ?? '';

/** An address that another link of the pod still has, though it is not to have it. */
export const heldAddress = ({ addresses = [], pod }: Share, leaving: readonly Leaving[]): ObservedAddress | undefined =>
  leaving
    .flatMap((one) => one.addresses)
    .find((entry) => entry.link !== pod && addresses.some((address) => ipIn(address) === ipIn(entry.address)));

/** Whether another link is to have something of it. */
export function isAsked({ addresses, routes, fdb }: Leaving, others: readonly Share[]): boolean {
  const ips = new Set(others.flatMap((other) => other.addresses ?? []).map(ipIn));
  const places = new Set(others.flatMap((other) => other.routes).map(placeOf));
  const macs = new Set(others.map(({ mac }) => mac));
  return (
    addresses.some(({ address }) => ips.has(ipIn(address))) ||
    routes.some((route) => places.has(placeOf(route))) ||
    fdb.some(({ mac }) => macs.has(mac))
  );
}

export interface GivingUp {
  readonly owner: Owner;
  /** Name of the link in the pod, and of its other end. */
  readonly link: string;
  readonly port: string;
  readonly share: Share;
}

/** Apart from what leaves the link stays as it is. Routes that the kernel takes along with its last address come again with the next one. */
export function giveUp({ owner, link, port, share }: GivingUp, leaving: Leaving, { pod }: Observed): Step[] {
  if (!pod) return [];
  const at = { in: 'pod', owner, link } as const;
  const staying = pod.routes.filter(
    (route) => isOurRoute(route) && route.link === share.pod && !leaving.routes.includes(route),
  );
  const routes = planRoutes({ ...at, index: share.pod, wanted: staying, namespace: pod });
  const observed = addressesOf(pod, share.pod);
  const gone = new Set(leaving.addresses.map(({ address }) => address));
  const addresses = planAddresses({
    ...at,
    wanted: observed.filter((address) => !gone.has(address)),
    observed,
    routes: routes.kept,
    noPrefixRoute: false,
    remove: true,
  });
  return [
    ...leaving.fdb.map(({ mac }): Step => ({ do: 'removeFdb', in: 'node', owner, link: port, mac })),
    ...routes.removals,
    ...addresses.steps,
  ];
}
