/** Routes over a link: only those with our protocol number are ours; a route of someone else with the same destination and metric wins. */
import type { PodInterface } from '@podloom/api';
import { canonicalRoute } from '../route.ts';
import { routeProtocol } from './mark.ts';
import type { ObservedNamespace, ObservedRoute, Place, Route } from './observed.ts';
import type { Problem } from './problem.ts';
import type { Owner, Step } from './step.ts';

const mainTable = 254;

/** Destination, table and metric: what the kernel takes for the same route. */
export const placeOf = ({ to, table, metric }: Route): string => `${to} ${table} ${metric}`;
/** Of a pod; what is in other tables is not looked at. */
export const isOurRoute = ({ protocol, table }: Route): boolean => protocol === routeProtocol && table === mainTable;

export const sameRoute = (a: Route, b: Route): boolean =>
  placeOf(a) === placeOf(b) && a.type === b.type && a.via === b.via;
const identityOf = (route: Route): string => `${placeOf(route)} ${route.type} ${route.via ?? ''}`;

/** A route of a PodNetwork, as ours. */
export const podRoute = (route: PodInterface['routes'][number]): Route => ({
  ...canonicalRoute(route),
  type: 'unicast',
  table: mainTable,
  protocol: routeProtocol,
});

/** Without the link, which a step names. */
export const plainRoute = ({ to, type, table, metric, protocol, via }: ObservedRoute): Route => ({
  to,
  type,
  table,
  metric,
  protocol,
  via,
});

export interface RouteWish {
  readonly in: Place;
  readonly owner: Owner;
  readonly link: string;
  /** Absent while the link is not there yet. */
  readonly index: number | undefined;
  readonly wanted: readonly Route[];
  readonly namespace: ObservedNamespace;
}

export interface RoutePlan {
  /** Before the addresses change: taken back, they need those that were there. */
  readonly removals: readonly Step[];
  /** After the addresses, together with those that were lost meanwhile. */
  readonly additions: (lost: readonly Route[]) => Step[];
  /** Ours that are there and stay. */
  readonly kept: readonly Route[];
  /** Wanted, but another link has a route there. */
  readonly taken: readonly Route[];
}

export const routeTaken = ({ to, metric }: Route): Problem => ({
  reason: 'RouteTaken',
  message: `The pod has another route to ${to} with metric ${metric}; choose another metric`,
});

/** A gateway may be known only by another route. */
const directFirst = <R extends Route>(routes: readonly R[]): R[] => [
  ...routes.filter(({ via }) => via === undefined),
  ...routes.filter(({ via }) => via !== undefined),
];

export function planRoutes({ wanted, namespace, index, ...at }: RouteWish): RoutePlan {
  const isMine = (route: ObservedRoute): boolean => isOurRoute(route) && index !== undefined && route.link === index;
  const mine = directFirst(namespace.routes.filter(isMine));
  const others = new Set(namespace.routes.filter((route) => !isMine(route)).map(placeOf));
  const taken = wanted.filter((route) => others.has(placeOf(route)));
  const possible = new Map(
    directFirst(wanted)
      .filter((route) => !others.has(placeOf(route)))
      .map((route) => [identityOf(route), route]),
  );
  const change = (verb: 'addRoute' | 'removeRoute', route: Route): Step => ({ do: verb, ...at, route });
  const kept = mine.filter((route) => possible.has(identityOf(route))).map(plainRoute);
  const additions = (lost: readonly Route[]): Step[] => {
    const there = new Set(kept.filter((route) => !lost.includes(route)).map(identityOf));
    return [...possible].filter(([identity]) => !there.has(identity)).map(([, route]) => change('addRoute', route));
  };
  const removals = mine
    .filter((route) => !possible.has(identityOf(route)))
    .toReversed()
    .map((route) => change('removeRoute', plainRoute(route)));
  return { taken, kept, removals, additions };
}
