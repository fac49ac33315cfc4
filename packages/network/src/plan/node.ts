/** The plan of a node: bridges made and mended, and what belongs to nobody any more removed. Pods' links are planPod's. */
import type { PodInterface } from '@podloom/api';
import { bridgeProblem, mtuAgain, planBridge, routingOf, sameRule, tablesFor } from './bridge.ts';
import type { DesiredBridge, DesiredNode } from './desired.ts';
import { bridgeMark, isOurTable, isOurs, podOfMark, routeProtocol } from './mark.ts';
import type { ObservedLink, ObservedNamespace } from './observed.ts';
import { plainRoute, sameRoute } from './routes.ts';
import type { Step } from './step.ts';
import { linkNamed } from './world.ts';

/** Each bridge once, as all who use it want it. While a change is on its way from pod to pod, the bridge serves both. */
export function desiredBridges(
  users: Iterable<{ readonly namespace: string; readonly interfaces: readonly Pick<PodInterface, 'bridge'>[] }>,
): DesiredBridge[] {
  const bridges = new Map<string, DesiredBridge>();
  for (const { namespace, interfaces } of users) {
    for (const { bridge } of interfaces) {
      if (!bridge) continue;
      const known = bridges.get(bridge.device);
      const gateways = [...new Set([...(known?.gateways ?? []), ...bridge.gateways])];
      const mtuBytes = bridge.mtuBytes ?? known?.mtuBytes;
      bridges.set(bridge.device, {
        ...(known ?? { ...bridge, namespace }),
        gateways,
        ...(mtuBytes === undefined ? {} : { mtuBytes }),
      });
    }
  }
  return [...bridges.values()];
}

export function planNode(desired: DesiredNode, node: ObservedNamespace): Step[] {
  const orphans = node.links.filter((link) => isOrphan(link, desired));
  const ports = new Set(node.links.filter((link) => !orphans.includes(link)).map(({ master }) => master));
  // A bridge with a port stays: the port is a pod's whose plan comes later, or a foreign link that we do not touch.
  const unused = node.links.filter((link) => isUnwantedBridge(link, desired) && !ports.has(link.index));
  const gone = new Set([...orphans, ...unused]);
  const after: ObservedNamespace = { ...node, links: node.links.filter((link) => !gone.has(link)) };

  const bridges = desired.bridges.filter((bridge) => !bridgeProblem(bridge, after));
  const devices = [...desired.bridges, ...after.links.filter((link) => isOurs(link) && link.kind === 'bridge')].map(
    (entry) => ('device' in entry ? entry.device : entry.name),
  );
  const tables = tablesFor([...new Set(devices)], node.rules);
  return [
    ...[...orphans, ...unused].map(({ name, index }): Step => ({
      do: 'deleteLink',
      in: 'node',
      owner: 'nobody',
      link: name,
      index,
    })),
    ...staleRouting(desired, after, tables),
    ...bridges.flatMap((bridge) => {
      const steps = planBridge(bridge, after, { table: tables.get(bridge.device)!, exact: true });
      const isHeld = desired.held?.has(bridge.device) === true && linkNamed(after, bridge.device) !== undefined;
      return isHeld ? steps.flatMap(onlyMtu) : steps;
    }),
    ...(orphans.length === 0 ? [] : bridges.flatMap(mtuAgain)),
  ];
}

function onlyMtu(step: Step): Step[] {
  if (step.do !== 'setLink' || step.set.mtuBytes === undefined) return [];
  const { mtuBytes } = step.set;
  return [{ do: 'setLink', in: step.in, owner: step.owner, link: step.link, set: { mtuBytes } }];
}

/** Ours, no bridge, and of no pod of this node. Without alias only the name can tell. */
function isOrphan(link: ObservedLink, { podUids, ports }: DesiredNode): boolean {
  if (!isOurs(link) || link.kind === 'bridge') return false;
  const owner = podOfMark(link.alias);
  return owner ? !podUids.has(owner.podUid) : !ports.has(link.name);
}

function isUnwantedBridge(link: ObservedLink, { bridges, kept }: DesiredNode): boolean {
  if (!isOurs(link) || link.kind !== 'bridge' || kept?.has(link.name)) return false;
  return !bridges.some(
    ({ device, namespace, name }) =>
      device === link.name && (link.alias ?? bridgeMark(namespace, name)) === bridgeMark(namespace, name),
  );
}

/** Rules and routes outlive their bridge; those of a bridge that is kept only because of its ports stay with it. */
function staleRouting(desired: DesiredNode, node: ObservedNamespace, tables: ReadonlyMap<string, number>): Step[] {
  const wanted = desired.bridges.map((bridge) => routingOf(bridge, tables.get(bridge.device)!));
  const rules = wanted.flatMap((routing) => routing.rules);
  const routes = wanted.flatMap((routing) => routing.routes);
  const left = new Set(
    node.links
      .filter(
        (link) => isOurs(link) && link.kind === 'bridge' && !desired.bridges.some(({ device }) => device === link.name),
      )
      .map((link) => tables.get(link.name)),
  );
  const nameOf = new Map(node.links.map((link) => [link.index, link.name]));
  return [
    ...node.rules
      .filter((rule) => rule.protocol === routeProtocol && isOurTable(rule.table) && !left.has(rule.table))
      .filter((rule) => !rules.some((wish) => sameRule(wish, rule)))
      .map((rule): Step => ({ do: 'removeRule', in: 'node', owner: 'nobody', rule })),
    ...node.routes
      .filter((route) => route.protocol === routeProtocol && isOurTable(route.table) && !left.has(route.table))
      // The kernel takes the routes of a link along with the link.
      .filter((route) => route.link === undefined || nameOf.has(route.link))
      .filter((route) => !routes.some((wish) => sameRoute(wish, route)))
      .map((route): Step => {
        const name = route.link === undefined ? undefined : nameOf.get(route.link);
        return { do: 'removeRoute', in: 'node', owner: 'nobody', link: name, route: plainRoute(route) };
      }),
  ];
}
