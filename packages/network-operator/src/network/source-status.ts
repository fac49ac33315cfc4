/**
 * What an object reports back: phase, the lines of each pod, and conditions. Pure, so that the same pods give the same status and nothing is written
 * twice. Extra conditions exist only while they hold.
 */
import { type Condition, type PodNetwork, mostListed } from '@podloom/api';
import { type NewCondition, setCondition } from '@podloom/kube';
import {
  type ComposeConflict,
  type Findings,
  type Phase,
  type Problem,
  type SourceObject,
  type SourceType,
  configLine,
  describedBridge,
  primaryLine,
} from '@podloom/network';
import { isAttached, isObserved, isPrimaryApplied } from './pod-network.ts';
import { isRef } from './sources.ts';
import { type Verdict, digestOf } from './verdicts.ts';

export interface PodState {
  readonly name: string;
  readonly isEnding: boolean;
  readonly verdict: Verdict;
  readonly network: PodNetwork | undefined;
}

export interface SourceFacts {
  readonly source: SourceObject;
  readonly type: SourceType;
  /** Chosen by the object, served, and looked at. For one that describes a bridge: the pods that have a link on it. */
  readonly pods: readonly PodState[];
  /** Conflicts that no pod has to exist for. */
  readonly conflicts: readonly ComposeConflict[];
  /** Pods that the object makes itself and that are still to come. */
  readonly expectedPods: number;
  readonly problems: readonly Problem[];
  readonly device?: string | undefined;
}

export interface Report {
  readonly status: Readonly<Record<string, unknown>> & { readonly conditions: readonly Condition[] };
}

export function reportOf(facts: SourceFacts, nowMs: number): Report {
  const { source, type } = facts;
  const states = facts.pods.map((pod) => stateIn(pod, source)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const conflicts = [...facts.pods.flatMap(({ verdict }) => verdict.composed.conflicts), ...facts.conflicts];
  const lost = conflicts.filter(({ loser }) => isRef(loser, source));
  const won = conflicts.filter(({ winner, loser }) => isRef(winner, source) && !isRef(loser, source));
  const problems = [...facts.problems, ...states.flatMap((state) => state.problems)];
  const pending = states.filter((state) => !state.isDone && !state.isEnding).length;
  const isEmpty = states.length === 0 && facts.expectedPods === 0;

  const ready = ((): Omit<NewCondition, 'type'> => {
    const [conflict] = lost;
    const [problem] = problems;
    if (conflict) return no(conflict.reason, conflict.message);
    if (problem) return no(problem.reason, problem.message);
    if (facts.expectedPods > 0) return no('WaitingForPods', `${facts.expectedPods} sample pods are on no node yet`);
    if (pending > 0) return no('Configuring', `${pending} of ${states.length} pods are not as declared yet`);
    if (isEmpty) return { status: 'True', reason: 'NoPods', message: nobody(source, type) };
    return {
      status: 'True',
      reason: 'Configured',
      message: states.length === 1 ? '1 pod is as declared' : `${states.length} pods are as declared`,
    };
  })();
  const { lists, unlisted } = listsOf(type, states);
  const isDone = ready.status === 'True';
  const phase = isDone ? (isEmpty && !type.describes ? 'unset' : 'configured') : 'configuring';
  const exhausted = problems.find(({ reason }) => reason === 'Exhausted');
  // Each pod tells of the same one.
  const rivalries = new Map([...lost, ...won].map((one) => [conflictText(one, source), one.reason]));
  const conditions = keepTimes(
    source.status?.conditions,
    [
      { type: 'Ready', ...ready, message: `${ready.message}${unlisted}` },
      ...(rivalries.size > 0
        ? [{ type: 'Conflict', ...yes([...rivalries.values()][0]!, listed(rivalries.keys())) }]
        : []),
      ...(exhausted ? [{ type: 'Exhausted', ...yes('Exhausted', exhausted.message) }] : []),
    ],
    source.metadata.generation,
    nowMs,
  );
  const common = { observedGeneration: source.metadata.generation, conditions };
  return {
    status: { ...common, ...type.report?.({ phase, pods: states.length, lists, bridges: bridgesOf(facts) }) },
  };
}

/** While an object goes. */
export function removalReport(
  source: SourceObject,
  { hasPhase }: SourceType,
  waitsFor: readonly PodNetwork[],
  nowMs: number,
): Report {
  const nodes = [...new Set(waitsFor.map(({ spec }) => spec.nodeName))].toSorted();
  const message = `Waiting for ${waitsFor.length} pods on ${listed(nodes, ', ')} until the agent there has taken everything away`;
  const ready = { type: 'Ready', ...no('Removing', message) };
  const conditions = keepTimes(source.status?.conditions, [ready], source.metadata.generation, nowMs);
  const { conditions: _old, ...rest } = source.status ?? {};
  return {
    status: { ...rest, ...(hasPhase && { phase: 'configuring' satisfies Phase }), conditions },
  };
}

interface StateInPod {
  readonly name: string;
  readonly isEnding: boolean;
  readonly isDone: boolean;
  readonly lines: readonly string[];
  readonly problems: readonly Problem[];
}

function stateIn({ name, isEnding, verdict, network }: PodState, source: SourceObject): StateInPod {
  const { interfaces, primary } = verdict.composed;
  const described = describedBridge(source);
  const keys = interfaces
    .map((one) => one.interface)
    .filter(({ bridge, source: ref }) => (described === undefined ? isRef(ref, source) : bridge?.name === described));
  const hasPrimary = primary?.sources.some((ref) => isRef(ref, source)) ?? false;
  const statuses = network?.status?.interfaces ?? [];
  const attached = keys.flatMap(({ key }) =>
    isAttached(network, { key }) ? (statuses.find((one) => one.key === key) ?? []) : [],
  );
  const primaryDone = !hasPrimary || isPrimaryApplied(network);
  return {
    name,
    isEnding,
    // The verdict is there before its PodNetwork is written; until then the agent's word is about what was asked for before.
    isDone:
      attached.length === keys.length &&
      primaryDone &&
      (!network || (isObserved(network) && digestOf(network.spec) === verdict.digest)),
    lines: [...attached.map(configLine), ...(hasPrimary && primaryDone ? linesOfPrimary(network) : [])],
    problems: verdict.problems.filter(({ ref }) => isRef(ref, source)),
  };
}

function linesOfPrimary(network: PodNetwork | undefined): string[] {
  const mtuBytes = network?.status?.primary?.applied?.mtuBytes;
  if (!network?.spec.primary || mtuBytes === undefined) return [];
  return [primaryLine(network.spec.primary.interfaceName, mtuBytes, network.status?.primary?.before?.mtuBytes)];
}

/** The lines of each pod, as far as an object has room for them: counted are lines, because a pod with many takes the place of many. */
function listsOf(
  { hasLists }: SourceType,
  states: readonly StateInPod[],
): { readonly lists: Findings['lists']; readonly unlisted: string } {
  if (!hasLists) return { lists: [], unlisted: '' };
  const all = states
    .filter(({ lines }) => lines.length > 0)
    .map(({ name, lines }) => ({ podName: name, configList: lines }));
  let count = 0;
  const lists = all.filter(({ configList }) => (count += configList.length) <= mostListed);
  const isCut = lists.length < all.length;
  return { lists, unlisted: isCut ? `; the list has room for ${lists.length} of ${all.length} pods` : '' };
}

/** Of an object that describes a bridge: the bridge on each node. */
function bridgesOf({ source, pods, device }: SourceFacts): Findings['bridges'] {
  const name = describedBridge(source);
  if (name === undefined) return [];
  const links = pods.flatMap(({ network }) =>
    (network?.spec.interfaces ?? [])
      .filter((link) => link.bridge?.name === name && isAttached(network, link))
      .map(({ bridge }) => ({ nodeName: network?.spec.nodeName ?? '', gateways: bridge?.gateways ?? [] })),
  );
  const nodes = [...new Set(links.map(({ nodeName }) => nodeName))].toSorted().slice(0, mostListed);
  return nodes.map((nodeName) => {
    const here = links.filter((link) => link.nodeName === nodeName);
    return { nodeName, device: device ?? name, addresses: here[0]?.gateways ?? [], ports: here.length };
  });
}

const no = (reason: string, message: string): Omit<NewCondition, 'type'> => ({ status: 'False', reason, message });
const yes = (reason: string, message: string): Omit<NewCondition, 'type'> => ({ status: 'True', reason, message });

const conflictText = ({ loser, message }: ComposeConflict, source: SourceObject): string =>
  isRef(loser, source) ? message : `${loser.kind} ${loser.name} asks for what this object has: ${message}`;

/** A condition has room for a few of them. */
function listed(texts: Iterable<string>, separator = '; '): string {
  const [all, most] = [[...texts], 5];
  return [...all.slice(0, most), ...(all.length > most ? [`and ${all.length - most} more`] : [])].join(separator);
}

function nobody(source: SourceObject, type: SourceType): string {
  if (type.describes) return 'No pod has a link on it';
  const hint = type.hint?.(source);
  return `No pod is selected${hint === undefined ? '' : `; ${hint}`}`;
}

function keepTimes(
  old: readonly Condition[] | undefined,
  wanted: readonly NewCondition[],
  observedGeneration: number | undefined,
  nowMs: number,
): Condition[] {
  return wanted.flatMap((one) => {
    const before = (old ?? []).filter(({ type }) => type === one.type);
    return setCondition(before, { ...one, observedGeneration }, nowMs);
  });
}
