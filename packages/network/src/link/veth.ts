/**
 * A veth pair between a pod and a bridge. Made new: both ends in one message, the pod's end born in its namespace, the node's end
 * as a port that is down; then owner, port flags and filter; up last. Mended: in place, and the node end is never taken down,
 * because the pod would lose its neighbours and stall for a second.
 */
import { formatIp, parseCidr } from '@podloom/api';
import { ipOf } from '../address.ts';
import { gatewayMac, linkLocalOf } from '../mac.ts';
import { bridgeProblem, networkIdOf } from '../plan/bridge.ts';
import type { DesiredBridge } from '../plan/desired.ts';
import { programDigest } from '../plan/filter/assembler.ts';
import { portFilter } from '../plan/filter/port-filter.ts';
import { filterHandle, filterPriority, linkGroup } from '../plan/mark.ts';
import type { ObservedLink, PortFlags } from '../plan/observed.ts';
import type { Problem } from '../plan/problem.ts';
import type { Step } from '../plan/step.ts';
import { linkNamed } from '../plan/world.ts';
import { planInPod, setEnd } from './in-pod.ts';
import type { LinkContext, LinkPlan, LinkType } from './link-type.ts';

const portFlags: PortFlags = { learning: false, flood: false };
/** All that a veth uses. Unasked, the kernel makes as many as processors, takes them away again, and waits for all processors at each end. */
const queues = 1;

export const veth: LinkType = { kind: 'veth', isPair: true, plan };

/** With its bridge, and with what the bridge has in every pod. */
interface Veth extends LinkContext {
  readonly bridge: DesiredBridge;
  readonly gateway: string;
}

function plan(context: LinkContext): LinkPlan {
  const { bridge, mac, mtuBytes } = context;
  if (!bridge) {
    const message = 'A veth needs a bridge: name one in bridge (master in a PodConfig or PodNetworkConfig)';
    return { problem: { reason: 'BridgeMissing', message } };
  }
  const wish: Veth = { ...context, bridge, gateway: gatewayMac(networkIdOf(bridge)) };
  const inPod = planInPod(wish);
  const problem = bridgeProblem(bridge, wish.node) ?? macProblem(wish) ?? inPod.problem;
  if (problem) return { problem };

  const filter = planFilter(wish);
  return {
    facts: { macAddress: mac, mtuBytes, bridgeDevice: bridge.device },
    steps: [
      ...createPair(wish),
      ...planPort(wish),
      ...(filter.isReplaced ? [] : filter.steps),
      ...planEnd(wish),
      ...planMtu(wish),
      ...inPod.addresses,
      ...setEnd(wish, 'pod', { up: true }),
      ...setEnd(wish, 'node', { up: true }),
      ...inPod.routes,
      // The former program is not known.
      ...(filter.isReplaced ? filter.steps : []),
    ],
  };
}

function createPair({ owner, names, ends, bridge, gateway, mac, mtuBytes }: Veth): Step[] {
  if (ends.node) return [];
  return [
    {
      do: 'createLink',
      in: 'node',
      owner,
      kind: 'veth',
      name: names.node,
      mac: gateway,
      mtuBytes,
      queues,
      group: linkGroup,
      master: bridge.device,
      peer: { in: 'pod', name: names.pod, mac, mtuBytes, queues },
    },
  ];
}

/** Owner, bridge, flags and forwarding entry of the node end. Leaving a bridge resets the flags and drops the entries. */
function planPort(wish: Veth): Step[] {
  const { owner, names, bridge, node, ends, mark, mac, gateway } = wish;
  const port = ends.node;
  const at = { in: 'node', owner, link: names.node } as const;
  const master = linkNamed(node, bridge.device)?.index;
  const moves = port !== undefined && (port.master === undefined || port.master !== master);
  const pinned = node.fdb.filter((entry) => entry.link === port?.index && entry.pinned).map((entry) => entry.mac);
  const stale = pinned.filter((one) => moves || one !== mac);
  const was = port?.portFlags;
  const isFlagged = !moves && was?.learning === portFlags.learning && was.flood === portFlags.flood;
  const isKnown = !moves && pinned.includes(mac);
  return [
    ...setEnd(wish, 'node', {
      alias: mark,
      addrGenMode: 'none',
      ...(port ? { name: names.node, group: linkGroup, mac: gateway } : {}),
    }),
    ...stale.map((entry): Step => Object.assign({ do: 'removeFdb', mac: entry } as const, at)),
    ...(moves ? [{ do: 'setMaster', ...at, master: bridge.device, back: backToMaster(wish, port) } as const] : []),
    ...(isFlagged ? [] : [{ do: 'setPortFlags', ...at, flags: portFlags, ...(moves ? {} : { was }) } as const]),
    ...(isKnown ? [] : [{ do: 'addFdb', ...at, mac } as const]),
  ];
}

/** Its MACs left before it. Nothing where it was on no bridge: there it was of no use. */
function backToMaster({ owner, names, node }: Veth, port: ObservedLink): Step[] {
  const at = { in: 'node', owner, link: names.node } as const;
  const master = node.links.find(({ index }) => index === port.master);
  if (!master) return [];
  return [
    { do: 'setMaster', ...at, master: master.name },
    ...(port.portFlags ? [{ do: 'setPortFlags', ...at, flags: port.portFlags } as const] : []),
  ];
}

/** A port without filter gets one before it is up. */
function planFilter({ wanted, owner, names, node, ends, mac, bridge, gateway }: Veth): {
  readonly steps: readonly Step[];
  readonly isReplaced: boolean;
} {
  const ips = wanted.addresses.map(ipOf);
  const program = portFilter({
    mac,
    addresses: [...ips, { family: 6 as const, value: linkLocalOf(mac) }].map(formatIp),
    gatewayMac: gateway,
    gateways: bridge.gateways.map((address) => formatIp(ipOf(address))),
    broadcasts: wanted.addresses
      .map(parseCidr)
      .flatMap(({ family, prefixLength, last }) =>
        family === 4 && prefixLength <= 30 ? formatIp({ family, value: last }) : [],
      ),
  });
  const [priority, handle] = [filterPriority, filterHandle];
  const there = node.filters.find(
    (filter) => filter.link === ends.node?.index && filter.priority === priority && filter.handle === handle,
  );
  const isSame = there?.digest === programDigest(program);
  return {
    steps: isSame ? [] : [{ do: 'setPortFilter', in: 'node', owner, link: names.node, priority, handle, program }],
    isReplaced: there !== undefined,
  };
}

const planEnd = (wish: Veth): Step[] =>
  setEnd(wish, 'pod', {
    alias: wish.wanted.alias || wish.mark,
    addrGenMode: 'eui64',
    // What the creating message sets already.
    ...(wish.ends.pod ? { name: wish.names.pod, group: linkGroup, mac: wish.mac } : {}),
  });

/** Raised from the bridge towards the pod, lowered the other way round. */
function planMtu(wish: Veth): Step[] {
  const { ends, mtuBytes } = wish;
  if (!ends.node || !ends.pod) return [];
  const order = mtuBytes > ends.pod.mtuBytes ? (['node', 'pod'] as const) : (['pod', 'node'] as const);
  return order.flatMap((end) => setEnd(wish, end, { mtuBytes }));
}

/** Of the network's gateway, or of another port of the bridge: traffic would go to whoever came last. */
function macProblem({ bridge, node, ends, mac, gateway }: Veth): Problem | undefined {
  if (mac === gateway) {
    return { reason: 'MacTaken', message: `${mac} is the MAC of the network's gateway; choose another` };
  }
  const rivals = node.fdb.filter((entry) => entry.mac === mac && entry.pinned && entry.link !== ends.node?.index);
  const master = rivals.length === 0 ? undefined : linkNamed(node, bridge.device);
  const holder = node.links.find(
    (link) => master && link.master === master.index && rivals.some((entry) => entry.link === link.index),
  );
  return holder && { reason: 'MacTaken', message: `${mac} belongs to the port ${holder.name} of the same bridge` };
}
