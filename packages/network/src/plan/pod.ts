/**
 * The plan of one pod: first the links that nobody asks for any more, then bridges, then each interface and the primary link. What one link gives up
 * another gets at the next look: no interface depends on a step of another.
 */
import type { PodInterface, PodInterfaceStatus } from '@podloom/api';
import { canonicalAddress } from '../address.ts';
import type { LinkContext, LinkFacts, LinkPlan } from '../link/link-type.ts';
import { linkTypes } from '../link/types.ts';
import { deriveMac } from '../mac.ts';
import { movesPorts, mtuAgain, networkIdOf, planBridge, tablesFor } from './bridge.ts';
import type { DesiredBridge, DesiredPod, LinkNames, PodPlan } from './desired.ts';
import { type Ends, findEnds, isOfType } from './ends.ts';
import { type Leaving, type Share, giveUp, heldAddress, isAsked, leavingOf, withoutLeaving } from './handover.ts';
import { isOfAnotherPod, isOurs, podMark, podOfMark } from './mark.ts';
import type { Observed, ObservedLink, ObservedNamespace, Place } from './observed.ts';
import { planPrimary, primaryShares } from './primary.ts';
import { type Problem, untilGivenUp } from './problem.ts';
import { podRoute } from './routes.ts';
import { type Step, interfaceOwner } from './step.ts';
import { linkNamed, linksOfPod } from './world.ts';

/** What the kernel gives most links; said by us, so that a wish that is taken back ends where it began. */
const defaultMtuBytes = 1500;

export function planPod(asked: DesiredPod, observed: Observed): PodPlan {
  const desired = withoutPlugins(asked);
  const { spec, primaryRecord: record } = desired;
  const ends = keptEnds(desired, observed);
  const removed = removals(desired, observed, new Set([...ends.values()].flatMap(({ node, pod }) => [node, pod])));
  const looked = spec.interfaces.map((wanted) => ask(wanted, desired, observed, ends.get(wanted.key)));

  const primaryWish = { wanted: spec.primary, record, pod: observed.pod };
  const primaries = primaryShares(primaryWish);
  const shares = [...looked.map(({ share }) => share), ...primaries];
  const leaving = shares.map((share) => leavingOf(share, observed));
  const left = withoutLeaving(without(observed, removed), leaving);
  const primary = planPrimary({ ...primaryWish, left: left.pod });
  const planned = looked.map((one) => planInterface(one, observed, left, leaving));

  const bridges = new Map(
    planned.flatMap(({ bridge, facts }) => (bridge && facts?.bridgeDevice ? [[bridge.device, bridge] as const] : [])),
  );
  const tables = tablesFor([...bridges.keys()], observed.node.rules);
  const moved = removed.length > 0 || planned.some(({ steps }) => steps.some(movesPorts));
  const steps = [
    ...removed.map(({ step }) => step),
    ...givenUp(planned, primaries, observed),
    ...[...bridges].flatMap(([device, bridge]) =>
      planBridge(bridge, observed.node, { table: tables.get(device)!, exact: false }),
    ),
    ...planned.flatMap((one) => one.steps),
    ...(primary?.steps ?? []),
    ...[...bridges.values()].flatMap((bridge) => lowered(bridge, planned, observed.node)),
    ...(moved ? [...bridges.values()].flatMap(mtuAgain) : []),
  ];
  const isPrimaryWaiting = primary?.plan.state === 'Pending' && primary.plan.reason !== undefined;
  return {
    steps,
    interfaces: [...planned.map(statusOf), ...removingStatuses(removed, spec.interfaces)],
    primary: primary?.plan,
    recordFirst: primary?.recordFirst ?? false,
    lookAgain: steps.length > 0 && (isPrimaryWaiting || planned.some(isWaiting)),
  };
}

/** What a CNI plugin makes is no step of the kernel's. */
const withoutPlugins = (desired: DesiredPod): DesiredPod => ({
  ...desired,
  spec: { ...desired.spec, interfaces: desired.spec.interfaces.filter(({ cni }) => cni === undefined) },
});

/** Links that are there and can be mended, by key. A working link stays even where its new wish cannot be met: nothing is half done. */
function keptEnds({ spec, names }: DesiredPod, observed: Observed): Map<string, Ends> {
  const kept = new Map<string, Ends>();
  const claimed = new Set<ObservedLink | undefined>();
  for (const wanted of spec.interfaces) {
    const type = linkTypes[wanted.link.type];
    const ends = findEnds(podMark(spec.podUid, wanted.key), observed, names.get(wanted.key));
    if (!type || !isOfType(type, wanted, ends) || claimed.has(ends.pod)) continue;
    kept.set(wanted.key, ends);
    claimed.add(ends.pod);
  }
  return kept;
}

/** An interface with what can be said of it without looking at others. */
interface Asked extends Omit<LinkContext, 'node' | 'pod'> {
  readonly share: Share;
  /** Names of the ends that are there. */
  readonly link: string;
  readonly port: string;
}

/** Where the names say nothing of an interface it would be our own mistake; the interface fails by itself, not the pod. */
const noNames: LinkNames = { pod: '', node: '' };

function ask(
  wanted: PodInterface,
  { namespace, spec, names, bridgeMtu }: DesiredPod,
  { node }: Observed,
  ends: Ends = {},
): Asked {
  const own = wanted.bridge && { ...wanted.bridge, namespace };
  const mark = podMark(spec.podUid, wanted.key);
  const mtuBytes = wanted.mtuBytes ?? defaultMtuBytes;
  const address = wanted.addresses[0]?.split('/')[0];
  const mac = (wanted.macAddress ?? deriveMac(own ? networkIdOf(own) : mark, address ?? mark)).toLowerCase();
  // Two who disagree would change it in turn for ever.
  const agreed = !own || hasOwnMtu(own, mtuBytes, node) ? undefined : bridgeMtu?.(own.device);
  return {
    wanted,
    owner: interfaceOwner(wanted.key),
    names: names.get(wanted.key) ?? noNames,
    mark,
    mac,
    mtuBytes,
    bridge: own && (agreed === undefined ? own : { ...own, mtuBytes: agreed }),
    ends,
    link: ends.pod?.name ?? '',
    port: ends.node?.name ?? '',
    share: {
      pod: ends.pod?.index,
      addresses: wanted.addresses,
      routes: wanted.routes.map(podRoute),
      node: ends.node?.index,
      mac,
      bridge: own && linkNamed(node, own.device)?.index,
    },
  };
}

/** Whether the bridge has, or will have, the MTU that it would get from this pod alone. */
function hasOwnMtu({ device, mtuBytes }: DesiredBridge, portMtuBytes: number, node: ObservedNamespace): boolean {
  const seen = linkNamed(node, device)?.mtuBytes;
  return seen === undefined || (mtuBytes === undefined ? seen <= portMtuBytes : seen === mtuBytes);
}

interface Planned extends Asked {
  /** Waiting: what it asks for is another link's that gives it up. */
  readonly state: 'planned' | 'waiting' | 'failed';
  readonly problem?: Problem | undefined;
  readonly steps: readonly Step[];
  readonly facts?: LinkFacts | undefined;
}

const isWaiting = ({ state }: Planned): boolean => state === 'waiting';

/** Who waits gives up what others of the pod ask for. Those that failed get nothing, so nothing is given up for them. */
function givenUp(planned: readonly Planned[], primaries: readonly Share[], observed: Observed): Step[] {
  const takers = [...planned.flatMap(({ state, share }) => (state === 'failed' ? [] : share)), ...primaries];
  return planned.filter(isWaiting).flatMap((one) => {
    const goes = leavingOf(one.share, observed);
    const others = takers.filter((other) => other !== one.share);
    return isAsked(goes, others) ? giveUp(one, goes, observed) : [];
  });
}

/** `left` is the world once every link has given up what it is not to have any more. */
function planInterface(asked: Asked, observed: Observed, left: Observed, leaving: readonly Leaving[]): Planned {
  const now = planIn(observed, asked);
  const held = heldAddress(asked.share, leaving);
  if (!now.problem && !held) return { ...asked, state: 'planned', ...now };
  const isForGood = now.problem !== undefined && planIn(left, asked).problem !== undefined;
  const message = `Another link of the pod still has ${held?.address}`;
  const problem = now.problem ?? { reason: 'AddressTaken', message };
  return { ...asked, state: isForGood ? 'failed' : 'waiting', problem, steps: [] };
}

function planIn({ node, pod }: Observed, asked: Asked): LinkPlan {
  const { wanted } = asked;
  const type = linkTypes[wanted.link.type];
  if (!type) {
    const message = `Links of type ${wanted.link.type} are not offered yet; choose ${Object.keys(linkTypes).join(' or ')}`;
    return { problem: { reason: 'UnsupportedLinkType', message } };
  }
  if (!pod) return { problem: { reason: 'PodNotRunning', message: 'The pod has no namespace yet' } };
  const problem = nameProblem(asked, type.isPair, { node, pod });
  return problem ? { problem } : type.plan({ ...asked, node, pod });
}

function statusOf({
  wanted: { key, addresses, link },
  names,
  state,
  steps,
  facts,
  problem,
}: Planned): PodInterfaceStatus {
  const isAlone = linkTypes[link.type]?.isPair === false;
  const named = { key, name: names.pod, ...(isAlone ? {} : { hostName: names.node }) };
  if (!problem) {
    const isDone = steps.length === 0;
    return { ...named, ...facts, addresses: addresses.map(canonicalAddress), state: isDone ? 'Attached' : 'Pending' };
  }
  if (problem.reason === 'PodNotRunning') return { ...named, state: 'Pending', ...problem };
  if (state === 'failed') return { ...named, state: 'Failed', ...problem };
  return { ...named, state: 'Pending', ...untilGivenUp(problem) };
}

/**
 * A bridge whose MTU nobody asked for goes down to that of its smallest port, as it does by itself where it was never given one; only who knows all ports
 * lets it go up again.
 */
function lowered(bridge: DesiredBridge, planned: readonly Planned[], node: ObservedNamespace): Step[] {
  const seen = linkNamed(node, bridge.device)?.mtuBytes;
  const [smallest] = planned
    .filter(({ facts }) => facts?.bridgeDevice === bridge.device)
    .toSorted((a, b) => a.mtuBytes - b.mtuBytes);
  if (bridge.mtuBytes !== undefined || !smallest || seen === undefined || seen <= smallest.mtuBytes) return [];
  const { mtuBytes, owner } = smallest;
  return [{ do: 'setLink', in: 'node', owner, link: bridge.device, set: { mtuBytes } }];
}

/** A link of the wanted name that is not this interface's. */
function nameProblem({ names, ends }: Asked, isPair: boolean, { node, pod }: Observed): Problem | undefined {
  const inPod = linkNamed(pod, names.pod);
  if (names.pod === '' || (inPod && inPod !== ends.pod)) {
    return { reason: 'NameTaken', message: `The pod has another link ${names.pod} already` };
  }
  const onNode = linkNamed(node, names.node);
  if (!isPair || !onNode || onNode === ends.node) return undefined;
  const owner = isOurs(onNode) ? `belongs to "${onNode.alias ?? 'another'}"` : 'was not made by Podloom';
  return { reason: 'NameTaken', message: `The node has a link ${names.node} that ${owner}` };
}

const remove = (where: Place, link: ObservedLink): Step => ({
  do: 'deleteLink',
  in: where,
  owner: 'nobody',
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

function without(observed: Observed, removed: readonly Removal[]): Observed {
  if (removed.length === 0) return observed;
  const { node, pod } = observed;
  return {
    ...observed,
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
