/**
 * A veth pair between a pod and a bridge. Made new: both ends in one message, the pod's end born in its namespace, the node's end
 * as a port that is down; then owner, port flags and filter; up last. Mended: in place, and the node end is never taken down,
 * because the pod would lose its neighbours and stall for a second.
 */
import { type PodInterface, formatIp, parseCidr } from '@podloom/api';
import { deriveMac, gatewayMac, linkLocalOf } from '../mac.ts';
import { planAddresses } from './addresses.ts';
import { networkIdOf } from './bridge.ts';
import type { DesiredBridge, LinkNames } from './desired.ts';
import type { Ends } from './ends.ts';
import { programDigest } from './filter/assembler.ts';
import { portFilter } from './filter/port-filter.ts';
import { type Leaving, nothingLeaves } from './leaving.ts';
import { filterHandle, filterPriority, linkGroup } from './mark.ts';
import type { ObservedLink, ObservedNamespace, PortFlags } from './observed.ts';
import { planRoutes, podRoute } from './routes.ts';
import { changedSettings } from './settings.ts';
import type { Instruction, LinkSettings, Step } from './step.ts';
import { ipOf, linkLocalAddress } from '../address.ts';
import { addressesOf, linkNamed } from './world.ts';

/** What the kernel gives a veth; said by us, so that a wish that is taken back ends where it began. */
const defaultMtuBytes = 1500;
const portFlags: PortFlags = { learning: false, flood: false };

export interface VethWish {
  readonly interface: PodInterface;
  readonly bridge: DesiredBridge;
  readonly names: LinkNames;
  readonly mark: string;
  readonly node: ObservedNamespace;
  readonly pod: ObservedNamespace;
  /** Both ends, or none. */
  readonly ends: Ends;
  readonly facts: VethFacts;
}

/** Values that follow from the wish alone. */
export interface VethFacts {
  readonly digest: string;
  readonly podMac: string;
  readonly gatewayMac: string;
  readonly mtuBytes: number;
  readonly program: readonly Instruction[];
}

export function vethFacts({
  interface: wanted,
  bridge,
  mark,
}: Pick<VethWish, 'interface' | 'bridge' | 'mark'>): VethFacts {
  const network = networkIdOf(bridge);
  const ips = wanted.addresses.map(ipOf);
  const podMac = (wanted.macAddress ?? deriveMac(network, ips[0] ? formatIp(ips[0]) : mark)).toLowerCase();
  const program = portFilter({
    mac: podMac,
    addresses: [...ips, { family: 6 as const, value: linkLocalOf(podMac) }].map(formatIp),
    gatewayMac: gatewayMac(network),
    gateways: bridge.gateways.map((gateway) => formatIp(ipOf(gateway))),
    broadcasts: wanted.addresses
      .map(parseCidr)
      .flatMap(({ family, prefixLength, last }) =>
        family === 4 && prefixLength <= 30 ? formatIp({ family, value: last }) : [],
      ),
  });
  return {
    podMac,
    gatewayMac: gatewayMac(network),
    mtuBytes: wanted.mtuBytes ?? defaultMtuBytes,
    program,
    digest: programDigest(program),
  };
}

/** What the link has and is not to have any more, and another may take: MACs on its bridge, all of them where it leaves the bridge, and routes. */
export function vethLeaving(wish: VethWish): Leaving {
  const { bridge, node, ends, facts } = wish;
  const { key } = wish.interface;
  if (!ends.node || !ends.pod) return nothingLeaves;
  const { index, name, master } = ends.node;
  const isMoving = master !== linkNamed(node, bridge.device)?.index;
  const macs = node.fdb.filter(
    (entry) => entry.link === index && entry.pinned && (isMoving || entry.mac !== facts.podMac),
  );
  // Nothing was renamed by then.
  const { leaving } = vethRoutes(wish, ends.pod.name);
  return {
    entries: [...macs, ...leaving.entries],
    steps: [...macs.map(({ mac }): Step => ({ do: 'removeFdb', in: 'node', key, link: name, mac })), ...leaving.steps],
  };
}

export interface VethSteps {
  readonly steps: readonly Step[];
  /** They cannot be taken back: nothing that the kernel may refuse comes after them. */
  readonly last: readonly Step[];
}

/** In a world from which `vethLeaving` is gone. `smallestBefore` is the MTU of the smallest interface before it that is on the same bridge. */
export function planVeth(wish: VethWish, smallestBefore: number): VethSteps {
  const { names, ends, pod, bridge, facts } = wish;
  const { key } = wish.interface;
  const steps: Step[] = ends.node
    ? []
    : [
        {
          do: 'createVeth',
          in: 'node',
          key,
          name: names.node,
          mac: facts.gatewayMac,
          mtuBytes: facts.mtuBytes,
          group: linkGroup,
          master: bridge.device,
          peer: { name: names.pod, mac: facts.podMac, mtuBytes: facts.mtuBytes },
        },
      ];

  const set = (where: 'node' | 'pod', wanted: LinkSettings): Step[] => {
    const link = ends[where];
    const change = changedSettings(wanted, link);
    if (!change) return [];
    // Until the step that gives it its name, a link goes by the one that it has.
    const known = link && change.set.name === undefined ? names[where] : (link?.name ?? names[where]);
    return [{ do: 'setLink', in: where, key, link: known, ...change }];
  };
  // What the creating message sets already.
  const asMade = (settings: LinkSettings): LinkSettings => (ends.node ? settings : {});

  steps.push(
    ...set('node', {
      alias: wish.mark,
      addrGenMode: 'none',
      ...asMade({ name: names.node, group: linkGroup, mac: facts.gatewayMac }),
    }),
  );
  const filter = planFilter(wish);
  steps.push(...planPort(wish));
  if (!filter.isReplaced) steps.push(...filter.steps);
  const podAlias = wish.interface.alias || wish.mark;
  steps.push(
    ...set('pod', {
      alias: podAlias,
      addrGenMode: 'eui64',
      ...asMade({ name: names.pod, group: linkGroup, mac: facts.podMac }),
    }),
  );
  if (ends.node && ends.pod) {
    const raising = facts.mtuBytes > ends.pod.mtuBytes;
    const order = raising ? (['node', 'pod'] as const) : (['pod', 'node'] as const);
    steps.push(...order.flatMap((where) => set(where, { mtuBytes: facts.mtuBytes })));
  }

  const routes = vethRoutes(wish);
  const addresses = planAddresses({
    in: 'pod',
    link: names.pod,
    key,
    wanted: wish.interface.addresses,
    linkLocal: linkLocalAddress(facts.podMac),
    observed: addressesOf(pod, ends.pod?.index),
    routes: routes.kept,
    noPrefixRoute: false,
    remove: true,
  });
  steps.push(...addresses.steps);
  steps.push(...set('pod', { up: true }), ...set('node', { up: true }));
  steps.push(...routes.additions(addresses.lost));
  // The former program is not known.
  return { steps, last: [...(filter.isReplaced ? filter.steps : []), ...lowerBridge(wish, smallestBefore)] };
}

export const vethRoutes = ({ interface: wanted, names, ends, pod }: VethWish, link = names.pod) =>
  planRoutes({
    in: 'pod',
    link,
    index: ends.pod?.index,
    key: wanted.key,
    wanted: wanted.routes.map(podRoute),
    namespace: pod,
  });

/** Bridge, flags and forwarding entry of the node end. Leaving a bridge resets the flags and drops the entries. */
function planPort(wish: VethWish): Step[] {
  const {
    interface: { key },
    names,
    bridge,
    node,
    ends,
    facts,
  } = wish;
  const port = ends.node;
  const at = { in: 'node', key, link: names.node } as const;
  const master = linkNamed(node, bridge.device);
  const moves = port !== undefined && (port.master === undefined || port.master !== master?.index);
  const steps: Step[] = moves
    ? [{ do: 'setMaster', ...at, master: bridge.device, back: backToMaster(wish, port) }]
    : [];

  const was = port?.portFlags;
  if (moves || was?.learning !== portFlags.learning || was.flood !== portFlags.flood) {
    steps.push({ do: 'setPortFlags', ...at, flags: portFlags, ...(moves ? {} : { was }) });
  }
  const pinned = node.fdb.some((entry) => entry.link === port?.index && entry.mac === facts.podMac && entry.pinned);
  if (moves || !pinned) steps.push({ do: 'addFdb', ...at, mac: facts.podMac });
  return steps;
}

/** Its MACs left before it. Nothing where it was on no bridge: there it was of no use. */
function backToMaster({ interface: { key }, names, node }: VethWish, port: ObservedLink): Step[] {
  const at = { in: 'node', key, link: names.node } as const;
  const master = node.links.find(({ index }) => index === port.master);
  if (!master) return [];
  return [
    { do: 'setMaster', ...at, master: master.name },
    ...(port.portFlags ? [{ do: 'setPortFlags', ...at, flags: port.portFlags } as const] : []),
  ];
}

/** A port without filter gets one before it is up. */
function planFilter({ interface: { key }, names, node, ends, facts }: VethWish): {
  readonly steps: readonly Step[];
  readonly isReplaced: boolean;
} {
  const there = node.filters.find(
    ({ link, priority, handle }) => link === ends.node?.index && priority === filterPriority && handle === filterHandle,
  );
  if (there?.digest === facts.digest) return { steps: [], isReplaced: false };
  const { program } = facts;
  const at = { in: 'node', key, link: names.node } as const;
  return {
    steps: [{ do: 'setPortFilter', ...at, priority: filterPriority, handle: filterHandle, program }],
    isReplaced: there !== undefined,
  };
}

/**
 * A bridge whose MTU nobody asked for goes down to that of a port, as it does by itself where it was never given one; only who knows all ports lets it go
 * up again.
 */
function lowerBridge({ interface: { key }, bridge, node, facts }: VethWish, smallestBefore: number): Step[] {
  const seen = linkNamed(node, bridge.device)?.mtuBytes;
  if (bridge.mtuBytes !== undefined || seen === undefined || seen <= facts.mtuBytes) return [];
  const mtuBytes = Math.min(facts.mtuBytes, smallestBefore);
  return [{ do: 'setLink', in: 'node', key, link: bridge.device, set: { mtuBytes } }];
}

/** Another port of the bridge that has the MAC pinned: traffic would go to whoever came last. */
export function macHolder({ bridge, node, ends, facts: { podMac } }: VethWish): ObservedLink | undefined {
  const rivals = node.fdb.filter((entry) => entry.mac === podMac && entry.pinned && entry.link !== ends.node?.index);
  if (rivals.length === 0) return undefined;
  const master = linkNamed(node, bridge.device);
  return node.links.find(
    (link) => master && link.master === master.index && rivals.some((entry) => entry.link === link.index),
  );
}
