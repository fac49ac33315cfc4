/** Reads of a namespace that are the same on the node and in a pod. */
import { isCidr } from '@podloom/api';
import { type Address, type Netns, type Route as SeenRoute, isNetlinkError } from '@podloom/netlink';
import type { ObservedAddress, ObservedRoute, ObservedSysctl } from '@podloom/network';
import { sysctlPath } from '../apply/sysctl.ts';

/** An IPv4 address in the form of an IPv6 one is never ours, and left out: whoever may change a link can put it there. */
export const observeAddresses = (addresses: readonly Address[]): ObservedAddress[] =>
  addresses.flatMap(({ index, prefix }) => (isCidr(prefix) ? { link: index, address: prefix } : []));

/** Routes of a form that is never ours (several next hops, other types) are left out, except that their place is taken. */
export function toObservedRoute({
  family,
  dst,
  type,
  table,
  metric,
  protocol,
  via,
  link,
}: SeenRoute): ObservedRoute | undefined {
  const isIp6 = family === 10;
  if (type !== 'unicast' && type !== 'unreachable') return undefined;
  return {
    to: dst === 'default' ? (isIp6 ? '::/0' : '0.0.0.0/0') : dst,
    type,
    table,
    metric: metric ?? 0,
    protocol,
    ...(via === undefined ? {} : { via }),
    // The kernel shows lo for an unreachable IPv6 route.
    ...(link === undefined || type === 'unreachable' ? {} : { link }),
  };
}

export const observeRoutes = (routes: readonly SeenRoute[]): ObservedRoute[] =>
  routes.flatMap((route) => toObservedRoute(route) ?? []);

/** Settings that the link or the kernel does not have, or that cannot be read before they are set (EIO of stable_secret), are left out. */
export function observeSysctls(
  netns: Netns,
  wanted: readonly { readonly link: string; readonly name: string }[],
): ObservedSysctl[] {
  return wanted.flatMap(({ link, name }) => {
    try {
      return [{ link, name, value: netns.sysctl.get(sysctlPath(name, link)) }];
    } catch (error) {
      if (isNetlinkError(error)) return [];
      throw error;
    }
  });
}
