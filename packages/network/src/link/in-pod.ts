/** What every type of link has in the pod: its settings, addresses and routes. */
import { linkLocalAddress } from '../address.ts';
import { planAddresses } from '../plan/addresses.ts';
import type { Problem } from '../plan/problem.ts';
import { planRoutes, podRoute, routeTaken } from '../plan/routes.ts';
import { changedSettings } from '../plan/settings.ts';
import type { LinkSettings, Step } from '../plan/step.ts';
import { addressesOf } from '../plan/world.ts';
import type { LinkContext } from './link-type.ts';

/** Sets what differs. Until the step that gives it its name, a link goes by the one that it has. */
export function setEnd({ owner, ends, names }: LinkContext, end: 'node' | 'pod', settings: LinkSettings): Step[] {
  const link = ends[end];
  const change = changedSettings(settings, link);
  if (!change) return [];
  const known = link && change.set.name !== undefined ? link.name : names[end];
  return [{ do: 'setLink', in: end, owner, link: known, ...change }];
}

export interface InPod {
  readonly problem?: Problem | undefined;
  /** Routes that go, and the addresses. */
  readonly addresses: readonly Step[];
  /** Once the link is up. */
  readonly routes: readonly Step[];
}

export function planInPod({ wanted, owner, names, mac, ends, pod }: LinkContext): InPod {
  const at = { in: 'pod', owner, link: names.pod } as const;
  const routes = planRoutes({ ...at, index: ends.pod?.index, wanted: wanted.routes.map(podRoute), namespace: pod });
  const [taken] = routes.taken;
  const addresses = planAddresses({
    ...at,
    wanted: wanted.addresses,
    linkLocal: linkLocalAddress(mac),
    observed: addressesOf(pod, ends.pod?.index),
    routes: routes.kept,
    noPrefixRoute: false,
    remove: true,
  });
  return {
    problem: taken && routeTaken(taken),
    addresses: [...routes.removals, ...addresses.steps],
    routes: routes.additions(addresses.lost),
  };
}
