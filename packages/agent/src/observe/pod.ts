/** The pod's namespace as the plan wants it. A pod has few links, so all of it is read each time. */
import type { PodNetworkSpec, PrimaryLinkRecord } from '@podloom/api';
import type { Netns } from '@podloom/netlink';
import { type ObservedNamespace, emptyNamespace, routeProtocol, sysctlsToObserve } from '@podloom/network';
import { observeLink } from './link.ts';
import { observeAddresses, observeRoutes, observeSysctls } from './namespace.ts';

const mainTable = 254;

export type ObservedSpec = Pick<PodNetworkSpec, 'interfaces' | 'primary'>;

export const wantsRoutes = ({ interfaces, primary }: ObservedSpec): boolean =>
  interfaces.some(({ routes }) => routes.length > 0) || (primary?.routes ?? []).length > 0;

export function observePod(netns: Netns, spec: ObservedSpec, record?: PrimaryLinkRecord): ObservedNamespace {
  // A pod that speaks BGP may have very many routes: all of the main table only where ours could meet them there.
  const routes = wantsRoutes(spec)
    ? netns.route.list({ table: mainTable })
    : netns.route.list({ protocol: routeProtocol });
  return {
    ...emptyNamespace,
    links: netns.link.outlines().map((outline) => observeLink(netns, outline)),
    addresses: observeAddresses(netns.address.list()),
    routes: observeRoutes(routes),
    sysctls: observeSysctls(netns, sysctlsToObserve(spec, record)),
  };
}
