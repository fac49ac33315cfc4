/**
 * The plan of one pod: first what leaves, whichever interface it leaves, then bridges, then what comes to each interface and the primary link, and last what
 * cannot be taken back. So what goes is not in the way of what comes, also where two interfaces swap what they have.
 */
import type { PodInterface, PodInterfaceStatus } from '@podloom/api';
import { bridgeProblem, movesPorts, mtuAgain, planBridge, tablesFor } from './bridge.ts';
import type { DesiredBridge, DesiredPod, LinkNames, PodPlan } from './desired.ts';
import { type Ends, findEnds } from './ends.ts';
import { type Leaving, withoutLeaving } from './leaving.ts';
import { isOfAnotherPod, isOurs, podMark, podOfMark } from './mark.ts';
import type { Observed, ObservedLink, ObservedNamespace } from './observed.ts';
import { type PrimaryResult, planPrimary } from './primary.ts';
import type { Problem } from './problem.ts';
import type { Step } from './step.ts';
import { routeTaken } from './routes.ts';
import { type VethWish, macHolder, planVeth, vethFacts, vethLeaving, vethRoutes } from './veth.ts';
import { canonicalAddress } from '../address.ts';
import { linkNamed, linksOfPod } from './world.ts';

/** Where the names say nothing of an interface it would be our own mistake; the interface fails by itself, not the pod. */
const noNames: LinkNames = { pod: '', node: '' };

export function planPod(desired: DesiredPod, observed: Observed): PodPlan {
  const { spec } = desired;
  const ends = keptEnds(desired, observed);
  const removed = removals(desired, observed, new Set([...ends.values()].flatMap(({ node, pod }) => [node, pod])));
  const rest = without(observed, removed);
  const { asked, primary } = considerAll(desired, rest, ends);
  const smallest = new Map<string, number>();
  const interfaces = asked.map((one) => planInterface(one, smallest));

  const bridges = new Map(asked.flatMap(({ wish }) => (wish ? [[wish.bridge.device, wish.bridge] as const] : [])));
  const tables = tablesFor([...bridges.keys()], rest.node.rules);
  const moved = removed.length > 0 || interfaces.some(({ steps }) => steps.some(movesPorts));
  return {
    steps: [
      ...removed.map(({ step }) => step),
      ...interfaces.flatMap(({ leaving }) => leaving),
      ...(primary?.leaving.steps ?? []),
      ...[...bridges].flatMap(([device, bridge]) =>
        planBridge(bridge, rest.node, { table: tables.get(device)!, exact: false }),
      ),
      ...interfaces.flatMap(({ steps }) => steps),
      ...(primary?.steps ?? []),
      ...interfaces.flatMap(({ last }) => last),
      ...(moved ? [...bridges.values()].flatMap(mtuAgain) : []),
    ],
    interfaces: [...interfaces.map(({ status }) => status), ...removingStatuses(removed, spec.interfaces)],
    primary: primary?.plan,
    recordFirst: primary?.recordFirst ?? false,
  };
}

/** Pairs that are there and can be mended, by key. A working link stays even where its new wish cannot be met: nothing is half done. */
function keptEnds({ spec, names }: DesiredPod, observed: Observed): Map<string, Ends> {
  const kept = new Map<string, Ends>();
  const claimed = new Set<ObservedLink>();
  for (const { key, linkType, bridge } of spec.interfaces) {
    if (linkType !== 'veth' || !bridge) continue;
    const ends = findEnds(podMark(spec.podUid, key), observed, names.get(key));
    if (ends.node?.kind !== 'veth' || ends.pod?.kind !== 'veth' || claimed.has(ends.node)) continue;
    kept.set(key, ends);
    claimed.add(ends.node);
  }
  return kept;
}

/** An interface that can be had as far as is known: with its wish and what it gives up for it; or else with its problem. */
interface Asked {
  readonly wanted: PodInterface;
  readonly names: LinkNames;
  readonly wish?: VethWish;
  readonly leaving?: Leaving;
  readonly problem?: Problem;
}

/**
 * Each interface, and the primary link, in the world that the others leave. Who cannot have what it asks for keeps what it has, which may be what another
 * counts on: all are looked at again, until those who are left can go on.
 */
function considerAll(
  desired: DesiredPod,
  observed: Observed,
  ends: ReadonlyMap<string, Ends>,
): { readonly asked: readonly Asked[]; readonly primary: PrimaryResult | undefined } {
  const { spec, primaryRecord: record } = desired;
  let asked = spec.interfaces.map((wanted) => ask(wanted, desired, observed, ends.get(wanted.key)));
  for (;;) {
    const leaving = asked.flatMap((one) => one.leaving ?? []);
    const primary = planPrimary({ wanted: spec.primary, record, pod: withoutLeaving(observed, leaving).pod });
    const left = withoutLeaving(observed, primary ? [...leaving, primary.leaving] : leaving);
    const before = asked;
    asked = before.map((one) => askIn(left, one));
    if (asked.every(({ problem }, i) => problem === before[i]?.problem)) return { asked, primary };
  }
}

function ask(
  wanted: PodInterface,
  { namespace, spec, names: allNames, bridgeMtu }: DesiredPod,
  { node, pod }: Observed,
  ends: Ends = {},
): Asked {
  const names = allNames.get(wanted.key) ?? noNames;
  const failed = (problem: Problem): Asked => ({ wanted, names, problem });
  if (wanted.linkType !== 'veth') {
    const message = `Links of type ${wanted.linkType} are not offered yet; veth is`;
    return failed({ reason: 'UnsupportedLinkType', message });
  }
  if (!wanted.bridge)
    return failed({
      reason: 'BridgeMissing',
      message: 'A veth needs a bridge: name one in bridge (master in a PodConfig or PodNetworkConfig)',
    });
  if (!pod) return failed({ reason: 'PodNotRunning', message: 'The pod has no namespace yet' });

  const own: DesiredBridge = { ...wanted.bridge, namespace };
  const mark = podMark(spec.podUid, wanted.key);
  const facts = vethFacts({ interface: wanted, bridge: own, mark });
  // Two who disagree would change it in turn for ever.
  const agreed = hasOwnMtu(own, facts.mtuBytes, node) ? undefined : bridgeMtu?.(own.device);
  const bridge = agreed === undefined ? own : { ...own, mtuBytes: agreed };
  const wish: VethWish = { interface: wanted, bridge, names, mark, node, pod, ends, facts };
  return { wanted, names, wish, leaving: vethLeaving(wish) };
}

/** Whether the bridge has, or will have, the MTU that it would get from this pod alone. */
function hasOwnMtu({ device, mtuBytes }: DesiredBridge, portMtuBytes: number, node: ObservedNamespace): boolean {
  const seen = linkNamed(node, device)?.mtuBytes;
  return seen === undefined || (mtuBytes === undefined ? seen <= portMtuBytes : seen === mtuBytes);
}

function askIn({ node, pod }: Observed, { wish: known, leaving, ...one }: Asked): Asked {
  if (!known || !leaving) return one;
  const wish = { ...known, node, pod: pod ?? known.pod };
  const problem = bridgeProblem(wish.bridge, node) ?? nameProblem(wish) ?? macProblem(wish) ?? routeProblem(wish);
  return problem ? { ...one, problem } : { ...one, wish, leaving };
}

interface Considered {
  readonly leaving: readonly Step[];
  readonly steps: readonly Step[];
  readonly last: readonly Step[];
  readonly status: PodInterfaceStatus;
}

/** `smallest` has MTUs by bridge, as each interface tells the next. */
function planInterface(
  { wanted: { key, addresses }, names, wish, leaving, problem }: Asked,
  smallest: Map<string, number>,
): Considered {
  const named = { key, name: names.pod, hostName: names.node };
  if (!wish || !leaving) {
    const state = problem?.reason === 'PodNotRunning' ? 'Pending' : 'Failed';
    return { leaving: [], steps: [], last: [], status: { ...named, state, ...problem } };
  }
  const { bridge, facts } = wish;
  const smallestBefore = smallest.get(bridge.device) ?? Infinity;
  smallest.set(bridge.device, Math.min(smallestBefore, facts.mtuBytes));
  const { steps, last } = planVeth(wish, smallestBefore);
  const isDone = leaving.steps.length + steps.length + last.length === 0;
  return {
    leaving: leaving.steps,
    steps,
    last,
    status: {
      ...named,
      macAddress: facts.podMac,
      mtuBytes: facts.mtuBytes,
      addresses: addresses.map(canonicalAddress),
      bridgeDevice: bridge.device,
      state: isDone ? 'Attached' : 'Pending',
    },
  };
}

/** A link of the wanted name that is not this interface's. */
function nameProblem({ names, node, pod, ends }: VethWish): Problem | undefined {
  const inPod = linkNamed(pod, names.pod);
  if (names.pod === '' || (inPod && inPod !== ends.pod)) {
    return { reason: 'NameTaken', message: `The pod has another link ${names.pod} already` };
  }
  const onNode = linkNamed(node, names.node);
  if (!onNode || onNode === ends.node) return undefined;
  const owner = isOurs(onNode) ? `belongs to "${onNode.alias ?? 'another'}"` : 'was not made by Podloom';
  return { reason: 'NameTaken', message: `The node has a link ${names.node} that ${owner}` };
}

function macProblem(wish: VethWish): Problem | undefined {
  const { facts } = wish;
  if (facts.podMac === facts.gatewayMac) {
    return { reason: 'MacTaken', message: `${facts.podMac} is the MAC of the network's gateway; choose another` };
  }
  const holder = macHolder(wish);
  return (
    holder && { reason: 'MacTaken', message: `${facts.podMac} belongs to the port ${holder.name} of the same bridge` }
  );
}

function routeProblem(wish: VethWish): Problem | undefined {
  const [taken] = vethRoutes(wish).taken;
  return taken && routeTaken(taken);
}

const remove = (where: 'node' | 'pod', link: ObservedLink): Step => ({
  do: 'deleteLink',
  in: where,
  link: link.name,
  index: link.index,
});

interface Removal {
  readonly step: Step;
  readonly node?: ObservedLink | undefined;
  readonly pod?: ObservedLink | undefined;
}

/** Links of this pod that no interface keeps. Deleting one end takes the other along. */
function removals(
  { spec: { podUid, interfaces } }: DesiredPod,
  { node, pod }: Observed,
  kept: ReadonlySet<ObservedLink | undefined>,
): Removal[] {
  // Without a namespace no pod end can be found. If it is gone so are the links; if we cannot find it, they may be in use.
  const spared = new Set(pod ? [] : interfaces.map(({ key }) => podMark(podUid, key)));
  const fromNode = linksOfPod(node, podUid).filter((link) => !kept.has(link) && !spared.has(link.alias!));
  const peers = new Set(fromNode.flatMap((link) => peerIn(pod, link) ?? []));
  // Whatever namespace we are shown as the pod's: bridges and links of other pods are not the pod's to lose.
  const isStray = (link: ObservedLink): boolean =>
    isOurs(link) && link.kind !== 'bridge' && (podOfMark(link.alias)?.podUid ?? podUid) === podUid;
  // The pod may choose the indices of links that it makes, as those of another pod's.
  const notOfAnother = (link: ObservedLink | undefined) => (isOfAnotherPod(link, podUid) ? undefined : link);
  const fromPod = (pod?.links ?? []).filter((link) => isStray(link) && !kept.has(link) && !peers.has(link));
  return [
    ...fromNode.map((link): Removal => ({ step: remove('node', link), node: link, pod: peerIn(pod, link) })),
    ...fromPod.map((link): Removal => ({
      step: remove('pod', link),
      node: notOfAnother(peerIn(node, link)),
      pod: link,
    })),
  ];
}

const peerIn = (there: ObservedNamespace | undefined, link: ObservedLink): ObservedLink | undefined =>
  there?.links.find((other) => other.index === link.peerIndex && other.peerIndex === link.index);

function without({ node, pod }: Observed, removed: readonly Removal[]): Observed {
  if (removed.length === 0) return { node, pod };
  return {
    node: withoutLinks(node, new Set(removed.map((removal) => removal.node?.index))),
    pod: pod && withoutLinks(pod, new Set(removed.map((removal) => removal.pod?.index))),
  };
}

function withoutLinks(namespace: ObservedNamespace, gone: ReadonlySet<number | undefined>): ObservedNamespace {
  const stays = ({ link }: { readonly link?: number | undefined }): boolean => link === undefined || !gone.has(link);
  return {
    links: namespace.links.filter(({ index }) => !gone.has(index)),
    addresses: namespace.addresses.filter(stays),
    routes: namespace.routes.filter(stays),
    rules: namespace.rules,
    filters: namespace.filters.filter(stays),
    fdb: namespace.fdb.filter(stays),
    sysctls: namespace.sysctls,
  };
}

function removingStatuses(removed: readonly Removal[], wanted: readonly PodInterface[]): PodInterfaceStatus[] {
  const keys = new Set(wanted.map(({ key }) => key));
  return removed.flatMap(({ node, pod }) => {
    const key = podOfMark(node?.alias ?? pod?.alias)?.key;
    if (key === undefined || keys.has(key)) return [];
    return [{ key, ...(pod ? { name: pod.name } : {}), ...(node ? { hostName: node.name } : {}), state: 'Removing' }];
  });
}
