/** A route of a pod in one spelling, with the metric that the kernel fills in. */
import { type PodInterface, formatIp, parseIp } from '@podloom/api';
import { rangeOf } from './address.ts';

export interface CanonicalRoute {
  readonly to: string;
  readonly metric: number;
  readonly via: string | undefined;
}

export const canonicalRoute = ({ to, via, metric }: PodInterface['routes'][number]): CanonicalRoute => ({
  to: rangeOf(to),
  // For IPv6 the kernel takes 0 for none given.
  metric: to.includes(':') ? metric || 1024 : (metric ?? 0),
  via: via === undefined ? undefined : formatIp(parseIp(via)),
});

/** Destination and metric: the kernel has one route for them. */
export function routePlace(route: PodInterface['routes'][number]): string {
  const { to, metric } = canonicalRoute(route);
  return `${to} with metric ${metric}`;
}
