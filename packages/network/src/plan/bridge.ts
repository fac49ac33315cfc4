/**
 * A bridge in the node's namespace. Its addresses come without the kernel's prefix route and its subnets are in a table of its
 * own, so the node's main table stays as it is; whatever comes in from the bridge is looked up there only and ends in
 * unreachable, so the node routes between no two networks.
 */
import { formatIp } from '@podloom/api';
import { hash64 } from '../hash.ts';
import { gatewayMac } from '../mac.ts';
import { planAddresses } from './addresses.ts';
import type { DesiredBridge } from './desired.ts';
import { bridgeMark, isOurs, linkGroup, routeProtocol, rulePriorities, tableBase } from './mark.ts';
import type { LinkData, ObservedLink, ObservedNamespace, Route, Rule } from './observed.ts';
import type { Problem } from './problem.ts';
import { sameRoute } from './routes.ts';
import { changedSettings } from './settings.ts';
import { type LinkSettings, type Step, bridgeOwner } from './step.ts';
import { ipOf, rangeOf } from '../address.ts';
import { addressesOf, linkNamed } from './world.ts';

export const networkIdOf = ({ namespace, name }: Pick<DesiredBridge, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`;

/**
 * Routing tables, one a bridge. The number follows from the device name; where that number is another's already, the next free one
 * is taken, and the rule in the kernel is what remembers it.
 */
export function tablesFor(devices: readonly string[], rules: readonly Rule[]): Map<string, number> {
  const known = new Map(
    rules.flatMap(({ iif, table, protocol }) => (iif && protocol === routeProtocol ? [[iif, table]] : [])),
  );
  const taken = new Set(known.values());
  return new Map(
    devices.toSorted().map((device) => {
      let table = known.get(device);
      for (let offset = hash64(`table ${device}`); table === undefined; offset += 1n) {
        const candidate = tableBase + Number(BigInt.asUintN(29, offset));
        if (!taken.has(candidate)) table = candidate;
      }
      taken.add(table);
      return [device, table];
    }),
  );
}

export interface BridgeRouting {
  readonly rules: readonly Rule[];
  readonly routes: readonly Route[];
}

/** What a bridge has in rules and tables. Both families always: a pod may send IPv6 to a bridge that has none. */
export function routingOf(bridge: DesiredBridge, table: number): BridgeRouting {
  const families = [4, 6] as const;
  return {
    rules: [
      ...families.map((family): Rule => ({
        family,
        priority: rulePriorities.iif,
        table,
        protocol: routeProtocol,
        iif: bridge.device,
      })),
      ...bridge.gateways.map((gateway): Rule => {
        const address = ipOf(gateway);
        const from = `${formatIp(address)}/${address.family === 4 ? 32 : 128}`;
        return { family: address.family, priority: rulePriorities.from, table, protocol: routeProtocol, from };
      }),
    ],
    routes: [
      ...families.map((family): Route => ({
        to: family === 4 ? '0.0.0.0/0' : '::/0',
        type: 'unreachable',
        table,
        metric: 65535,
        protocol: routeProtocol,
      })),
      ...[...new Set(bridge.gateways.map(rangeOf))].map((to): Route => ({
        to,
        type: 'unicast',
        table,
        metric: to.includes(':') ? 1024 : 0,
        protocol: routeProtocol,
      })),
    ],
  };
}

/** Neither spanning tree nor snooping: ports come and go, and each waits for neither. */
const data: LinkData = { stpState: 0, forwardDelay: 0, mcastSnooping: false };

export const sameRule = (a: Rule, b: Rule): boolean =>
  a.family === b.family && a.priority === b.priority && a.table === b.table && a.from === b.from && a.iif === b.iif;

/** `exact` also takes away what is no longer wanted, for who knows all wishes; a pod's plan only adds what is missing. */
export interface BridgeOptions {
  readonly table: number;
  readonly exact: boolean;
}

export function bridgeProblem(bridge: DesiredBridge, node: ObservedNamespace): Problem | undefined {
  if (bridge.home !== 'node') {
    return {
      reason: 'UnsupportedHome',
      message: `Bridge ${bridge.name} asks for a namespace of its own, which is not offered yet`,
    };
  }
  const link = linkNamed(node, bridge.device);
  const mark = bridgeMark(bridge.namespace, bridge.name);
  if (!link || (isOurs(link) && link.kind === 'bridge' && (link.alias ?? mark) === mark)) return undefined;
  const owner = isOurs(link) ? `belongs to "${link.alias ?? 'another'}"` : 'was not made by Podloom';
  return {
    reason: 'BridgeTaken',
    message: `The node has a link ${bridge.device} that ${owner}; name the bridge otherwise`,
  };
}

export function planBridge(bridge: DesiredBridge, node: ObservedNamespace, { table, exact }: BridgeOptions): Step[] {
  const { device: name } = bridge;
  const link = linkNamed(node, name);
  const mac = gatewayMac(networkIdOf(bridge));
  const routing = routingOf(bridge, table);

  const identity: LinkSettings = { alias: bridgeMark(bridge.namespace, bridge.name), addrGenMode: 'none' };
  const mtuBytes = bridge.mtuBytes ?? (exact ? smallestPort(node, link) : undefined);
  // Never in the creating message, which does not count: the first port would reset it.
  const given: LinkSettings = mtuBytes === undefined ? {} : { mtuBytes };
  const asMade: LinkSettings = link ? { group: linkGroup, mac } : {};
  const at = { in: 'node', owner: bridgeOwner(name) } as const;
  const steps: Step[] = link ? [] : [{ do: 'createLink', ...at, kind: 'bridge', name, mac, group: linkGroup, data }];
  const settings = changedSettings({ ...identity, ...asMade, ...given }, link);
  if (settings) steps.push({ do: 'setLink', ...at, link: name, ...settings });

  const isThere = (route: Route): boolean =>
    node.routes.some(
      (seen) => sameRoute(seen, route) && (route.type === 'unreachable' || (link && seen.link === link.index)),
    );
  const addresses = planAddresses({
    ...at,
    link: name,
    wanted: bridge.gateways,
    observed: addressesOf(node, link?.index),
    routes: routing.routes.filter((route) => route.type === 'unicast' && isThere(route)),
    noPrefixRoute: true,
    mustBeFree: true,
    remove: exact,
  });
  const missingRoutes = routing.routes.filter((route) => !isThere(route) || addresses.lost.includes(route));
  const addRoute = (route: Route): Step => ({
    do: 'addRoute',
    ...at,
    ...(route.type === 'unicast' ? { link: name } : {}),
    route,
  });

  // Unreachable and rules before the link is up: there is no moment in which the node would route for it.
  steps.push(...missingRoutes.filter(({ type }) => type === 'unreachable').map(addRoute));
  steps.push(
    ...routing.rules
      .filter((rule) => !node.rules.some((seen) => sameRule(seen, rule)))
      .map((rule): Step => Object.assign({ do: 'addRule', rule } as const, at)),
  );
  steps.push(...addresses.steps);
  if (!link?.up) steps.push({ do: 'setLink', ...at, link: name, set: { up: true } });
  steps.push(...missingRoutes.filter(({ type }) => type === 'unicast').map(addRoute));
  return steps;
}

/** What the kernel gives a bridge that has no ports. */
const bareMtuBytes = 1500;

/** The MTU that a bridge has which was never given one (br_mtu_auto_adjust); one that was given one and lost it gets it from us. */
function smallestPort({ links }: ObservedNamespace, bridge: ObservedLink | undefined): number | undefined {
  if (!bridge) return undefined;
  const ports = links.filter(({ master }) => master === bridge.index).map(({ mtuBytes }) => mtuBytes);
  return ports.length === 0 ? bareMtuBytes : Math.min(...ports);
}

/**
 * For the end of a plan in which ports came, went or changed. A bridge follows its ports until it is given an MTU, and being given the one that it has
 * does not count; nobody can see which it is. So what is asked for is said once more.
 */
export const mtuAgain = ({ device, mtuBytes }: DesiredBridge): Step[] =>
  mtuBytes === undefined
    ? []
    : [{ do: 'setLink', in: 'node', owner: bridgeOwner(device), link: device, set: { mtuBytes } }];

/** Whether the step may let a bridge have another MTU by itself. */
export const movesPorts = (step: Step): boolean =>
  step.do === 'createLink' ||
  step.do === 'setMaster' ||
  (step.do === 'setLink' && step.in === 'node' && step.set.mtuBytes !== undefined);
