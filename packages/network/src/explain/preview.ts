/**
 * What would happen to pods and their nodes: composed, addressed and planned as the operator and the agents would do it, against what the
 * agents last reported. Nothing is changed, and no address is taken.
 */
import type { IPPool, PodNetwork, PodNetworkSpec, PrimaryLinkState } from '@podloom/api';
import { linkNamesOf } from '../cni/names.ts';
import {
  type AddressRequest,
  type ComposeConflict,
  type ComposedInterface,
  withAddresses,
} from '../compose/composed.ts';
import { composePod } from '../compose/pod.ts';
import type { Settled } from '../compose/settle.ts';
import { allocate } from '../ipam/allocate.ts';
import { poolFor, poolsOf } from '../ipam/pools.ts';
import type { LinkNames } from '../plan/desired.ts';
import { isMarkOf } from '../plan/mark.ts';
import { desiredBridges, planNode } from '../plan/node.ts';
import { emptyNamespace, type Observed, type ObservedNamespace } from '../plan/observed.ts';
import { planPod } from '../plan/pod.ts';
import { recordedLink } from '../plan/primary.ts';
import { planLooks } from './looks.ts';
import { simulate } from './simulate.ts';
import type { Step } from '../plan/step.ts';
import { linkNamed } from '../plan/world.ts';
import type { PodIdentity } from '../source/source.ts';

export interface PreviewInput {
  readonly namespace: string;
  readonly pods: readonly Omit<PodIdentity, 'namespace'>[];
  /** Of all objects of the namespace, as they would be. */
  readonly settled: Settled;
  /** Of all pods of the namespace, as they are now: of those that are not previewed, too, because they share bridges. */
  readonly networks: readonly PodNetwork[];
  /** Pools of the namespace. */
  readonly pools: readonly IPPool[];
  /** From `bridgeDevices`. */
  readonly devices: ReadonlyMap<string, string>;
  readonly now: string;
}

export interface Preview {
  /** Absent where it is the node's own: what nobody uses any more, once its pods are as declared. */
  readonly pod?: string | undefined;
  readonly node: string;
  readonly steps: readonly Step[];
  readonly conflicts: readonly ComposeConflict[];
  /** Why an interface would not come. */
  readonly problems: readonly string[];
}

interface NodePreview {
  world: ObservedNamespace;
  /** Specs of its pods as they would be. */
  readonly specs: Pick<PodNetworkSpec, 'podUid' | 'interfaces'>[];
}

/** One pod after the other, and then their nodes: each finds the addresses and bridges that those before it leave. */
export function previewPods(input: PreviewInput): readonly Preview[] {
  const { namespace, pods } = input;
  const podWorlds = new Map<string, ObservedNamespace>();
  const nodes = new Map<string, NodePreview>();
  const nodeOf = (name: string): NodePreview => {
    const known = nodes.get(name) ?? { world: emptyNamespace, specs: [] };
    nodes.set(name, known);
    return known;
  };
  const planned = new Map(pods.map(({ name, uid }) => [name, uid]));
  const networks = input.networks.filter(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp === undefined && (planned.get(metadata.name ?? '') ?? spec.podUid) === spec.podUid,
  );
  for (const network of networks) {
    const node = nodeOf(network.spec.nodeName);
    const reported = reportedWorld(network, node.world);
    node.world = reported.node;
    podWorlds.set(network.spec.podUid, reported.pod ?? emptyNamespace);
    if (!planned.has(network.metadata.name ?? '')) node.specs.push(network.spec);
  }

  let left = input.pools;
  const previews = pods.map((pod) => {
    const node = nodeOf(pod.nodeName);
    const current = networks.find(({ spec }) => spec.podUid === pod.uid);
    const observed = { node: node.world, pod: podWorlds.get(pod.uid) ?? emptyNamespace };
    const { preview, spec, pools, after } = previewPod({ ...pod, namespace }, current, observed, {
      ...input,
      pools: left,
    });
    left = pools;
    node.world = after;
    node.specs.push(spec);
    return preview;
  });
  const tidied = [...nodes].map(([name, { world, specs }]): Preview => {
    const steps = tidySteps(namespace, specs, world);
    return { node: name, steps, conflicts: [], problems: [] };
  });
  return [...previews, ...tidied.filter(({ steps }) => steps.length > 0)];
}

function previewPod(
  pod: PodIdentity,
  current: PodNetwork | undefined,
  { node, pod: inPod }: Readonly<Record<'node' | 'pod', ObservedNamespace>>,
  { settled, pools, devices, now }: PreviewInput,
): {
  readonly preview: Preview;
  readonly spec: NodePreview['specs'][number];
  readonly pools: readonly IPPool[];
  readonly after: ObservedNamespace;
} {
  const named = current ? { ...pod, linkNames: linkNamesOf(current.spec) } : pod;
  const composed = composePod(named, settled, { devices });
  const problems = composed.problems.map(({ ref, message }) => `${ref.kind} ${ref.name}: ${message}`);
  let left = pools;
  const interfaces = composed.interfaces.flatMap((one) => {
    const given = giveAddresses(one, pod, left, now);
    if (typeof given === 'string') {
      problems.push(`${one.interface.key}: ${given}`);
      return [];
    }
    left = given.pools;
    return [withAddresses(one, given.addresses)];
  });
  const { primary } = composed;
  const spec = { podUid: pod.uid, interfaces, ...(primary === undefined ? {} : { primary }) };
  const primaries = primaryLinks(primary, current, inPod);
  const observed = { node, pod: { ...inPod, links: [...inPod.links, ...primaries.links], sysctls: primaries.sysctls } };
  const record = current?.status?.primary;
  const desired = { namespace: pod.namespace, spec, names: namesOf(spec, current) };
  // Where the record is of another link, that one is restored first.
  const isMoved = primary !== undefined && primary.interfaceName !== recordedLink(record);
  const restoring = isMoved ? planPod({ ...desired, primaryRecord: record }, observed).steps : [];
  const restored = simulate(restoring, observed);
  const plan = planLooks(
    {
      ...desired,
      // Recording comes before changing; a preview has recorded already.
      primaryRecord: primary
        ? {
            interfaceName: primary.interfaceName,
            before: merged(unknownState(primary), isMoved ? undefined : record?.before),
          }
        : record,
    },
    restored,
  );
  const failed = plan.last.interfaces.filter(({ reason }) => reason !== undefined);
  problems.push(...failed.map(({ key, message, reason }) => `${key}: ${message ?? reason ?? 'not possible'}`));
  const steps = [...restoring, ...plan.steps].map((step) => withoutGuess(step, record ? recordedLink(record) : ''));
  return {
    preview: { pod: pod.name, node: pod.nodeName, steps, conflicts: composed.conflicts, problems },
    spec,
    pools: left,
    after: withOwnNames(plan.after.node, pod.uid),
  };
}

/** Names with `<pid>` in them stand for names that differ from pod to pod. */
const withOwnNames = (node: ObservedNamespace, podUid: string): ObservedNamespace => ({
  ...node,
  links: node.links.map((link) =>
    isMarkOf(link.alias, podUid) ? { ...link, name: `${link.name} of ${podUid}` } : link,
  ),
});

/** What the agent does to its node when the pods are as declared. */
function tidySteps(namespace: string, specs: NodePreview['specs'], node: ObservedNamespace): readonly Step[] {
  const users = specs.map(({ interfaces }) => ({ namespace, interfaces }));
  const bridges = desiredBridges(users).filter(({ device }) => linkNamed(node, device));
  const podUids = new Set(specs.map(({ podUid }) => podUid));
  return planNode({ bridges, podUids, ports: new Set() }, node);
}

function giveAddresses(
  { interface: { key }, requests }: ComposedInterface,
  pod: PodIdentity,
  pools: readonly IPPool[],
  now: string,
): { addresses: string[]; pools: readonly IPPool[] } | string {
  const addresses: string[] = [];
  let left = pools;
  for (const request of requests) {
    const wanted = {
      podName: pod.name,
      podUid: pod.uid,
      interfaceKey: key,
      nodeName: pod.nodeName,
      address: request.address,
    };
    const candidates = poolsFor(request, left);
    const { changed, results } = allocate(candidates, [wanted], { now });
    const [result] = results;
    if (!result || 'failed' in result) return result?.message ?? 'no address';
    addresses.push(result.address);
    const names = new Set(changed.map(({ metadata }) => metadata.name));
    left = [...left.filter(({ metadata }) => !names.has(metadata.name)), ...changed];
  }
  return { addresses, pools: left };
}

/** The pools that there are, or the first that the operator would make. */
function poolsFor(range: AddressRequest, pools: readonly IPPool[]): IPPool[] {
  const there = pools.filter(({ spec }) => spec.network === range.network && spec.cidr === range.cidr);
  const fitting = range.address === undefined ? poolsOf(range, 1) : [poolFor(range, range.address) ?? []].flat();
  const names = new Set(there.map(({ metadata }) => metadata.name));
  const needed = range.address === undefined && there.length > 0 ? [] : fitting.filter(({ name }) => !names.has(name));
  return [
    ...there,
    ...needed.map(({ name, spec }) => ({
      apiVersion: 'podnetwork.opdev.io/v1alpha1',
      kind: 'IPPool',
      metadata: { name },
      spec,
    })),
  ];
}

/** Names that were chosen; of links that are not there yet, the process id is not known before the agent has looked. */
function namesOf(
  { interfaces }: Pick<PodNetworkSpec, 'interfaces'>,
  current: PodNetwork | undefined,
): Map<string, LinkNames> {
  const recorded = new Map(current?.status?.interfaces?.map((entry) => [entry.key, entry]));
  const pid = current?.status?.podPid ?? '<pid>';
  return new Map(
    interfaces.map(({ key, name, namePrefix }) => {
      const entry = recorded.get(key);
      const pod = entry?.name ?? name ?? `${namePrefix ?? ''}${pid}`;
      return [key, { pod, node: entry?.hostName ?? `h${pod}` }];
    }),
  );
}

/** The kernel as the agent reported it: what is attached was made by the same plan. */
function reportedWorld(current: PodNetwork, node: ObservedNamespace): Observed {
  const observed = { node, pod: emptyNamespace };
  const attached = new Set(current.status?.interfaces?.flatMap(({ key, state }) => (state === 'Attached' ? key : [])));
  const spec = {
    podUid: current.spec.podUid,
    interfaces: current.spec.interfaces.filter(({ key }) => attached.has(key)),
  };
  const namespace = current.metadata.namespace ?? '';
  return planLooks({ namespace, spec, names: namesOf(spec, current) }, observed).after;
}

/** The links that were, and are to be, changed, as far as the agent has reported them. */
function primaryLinks(
  primary: PodNetworkSpec['primary'],
  current: PodNetwork | undefined,
  { links }: ObservedNamespace,
): Pick<ObservedNamespace, 'links' | 'sysctls'> {
  const record = current?.status?.primary;
  const states = new Map<string, PrimaryLinkState>();
  if (record) states.set(recordedLink(record), merged(record.before, record.applied));
  if (primary) {
    const { interfaceName } = primary;
    states.set(interfaceName, merged(unknownState(primary), states.get(interfaceName)));
  }
  const first = Math.max(0, ...links.map(({ index }) => index)) + 1;
  return {
    links: [...states].map(([name, { mtuBytes = 0, txQueueLength = 0 }], i) => ({
      index: first + i,
      name,
      group: 0,
      up: true,
      mtuBytes,
      txQueueLength,
    })),
    sysctls: [...states].flatMap(([link, { sysctls = {} }]) =>
      Object.entries(sysctls).map(([name, value]) => ({ link, name, value })),
    ),
  };
}

const merged = (under: PrimaryLinkState = {}, over: PrimaryLinkState = {}): PrimaryLinkState => ({
  ...under,
  ...over,
  sysctls: { ...under.sysctls, ...over.sysctls },
});

/** Stands for "whatever it is now" where the agent has not reported it. */
const unknownState = ({ mtuBytes, txQueueLength, sysctls = {} }: PrimaryLinkState): PrimaryLinkState => ({
  ...(mtuBytes === undefined ? {} : { mtuBytes: 0 }),
  ...(txQueueLength === undefined ? {} : { txQueueLength: 0 }),
  sysctls: Object.fromEntries(Object.keys(sysctls).map((name) => [name, ''])),
});

function withoutGuess(step: Step, known: string): Step {
  if ((step.do !== 'setLink' && step.do !== 'setSysctl') || step.owner !== 'primary' || step.link === known)
    return step;
  const { was: _unknown, ...rest } = step;
  return rest;
}
