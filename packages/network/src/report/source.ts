/**
 * What an object that asks for networks shows of itself: phase, the lines of each pod, and conditions, made of the PodNetworks of the
 * pods that it selects. Pure: the same PodNetworks give the same status, so nothing is written when nothing changed.
 */
import type { Condition, KubeObject, PodInterfaceStatus, PodNetwork } from '@podloom/api';
import type { ComposeConflict } from '../compose/composed.ts';
import { configLine, primaryLine } from './line.ts';

export interface SelectedPod {
  readonly name: string;
  /** Absent until it was composed. */
  readonly podNetwork?: PodNetwork | undefined;
  /** An address that it waits for, and the like. */
  readonly waiting?: { readonly reason: string; readonly message: string } | undefined;
}

export interface SourceReport {
  /** unset also while no pod is selected: who waits for configured waits for pods as well. */
  readonly phase: 'unset' | 'configuring' | 'configured';
  readonly selectedPods: number;
  /** As status.podConfigurations and status.PodNetworkConfigs have them. */
  readonly pods: readonly { readonly podName: string; readonly configList: string[] }[];
  readonly conditions: Condition[];
}

export interface SourceReportInput {
  readonly source: KubeObject;
  readonly pods: readonly SelectedPod[];
  /** All in which the source takes part, as loser or as winner. */
  readonly conflicts: readonly ComposeConflict[];
  /** As they were: a condition that stays keeps its time. */
  readonly previous?: readonly Condition[] | undefined;
  readonly now: string;
}

interface PodState {
  readonly name: string;
  readonly lines: string[];
  /** Undefined where all is as declared. */
  readonly problem?: { readonly reason: string; readonly message: string; readonly failed: boolean } | undefined;
}

export function reportSource({ source, pods, conflicts, previous, now }: SourceReportInput): SourceReport {
  const states = pods.map((pod) => stateOf(pod, source)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lost = conflicts.filter(({ loser }) => isSource(loser, source));
  const won = conflicts.filter(({ winner }) => isSource(winner, source));
  const waiting = states.flatMap(({ name, problem }) => (problem ? [{ name, ...problem }] : []));
  const worst = waiting.find(({ failed }) => failed) ?? waiting[0];

  const ready: Verdict = lost[0]
    ? { status: 'False', reason: lost[0].reason, message: lost[0].message }
    : worst
      ? {
          status: 'False',
          reason: worst.reason,
          message: `Pod ${worst.name}: ${worst.message}${others(waiting.length - 1)}`,
        }
      : states.length === 0
        ? { status: 'True', reason: 'NoPods', message: 'No running pod is selected' }
        : { status: 'True', reason: 'Configured', message: `${states.length} pods are as declared` };
  const messages = [
    ...lost.map(({ message }) => message),
    ...won.map(({ loser }) => `${loser.kind} ${loser.name} wants what this object has`),
  ];
  const conflicting: Verdict =
    messages.length === 0
      ? { status: 'False', reason: 'NoConflict', message: 'No other object wants the same' }
      : {
          status: 'True',
          reason: lost[0]?.reason ?? 'OlderWins',
          message: [...new Set(messages)].toSorted().join('; '),
        };

  const condition = (type: string, verdict: Verdict): Condition => ({
    type,
    ...verdict,
    observedGeneration: source.metadata.generation,
    lastTransitionTime:
      previous?.find((old) => old.type === type && old.status === verdict.status)?.lastTransitionTime ?? now,
  });
  return {
    phase: states.length === 0 && lost.length === 0 ? 'unset' : ready.status === 'True' ? 'configured' : 'configuring',
    selectedPods: states.length,
    pods: states.map(({ name, lines }) => ({ podName: name, configList: lines })),
    conditions: [condition('Ready', ready), condition('Conflict', conflicting)],
  };
}

type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

const others = (count: number): string => (count > 0 ? `; ${count} more pods wait` : '');

const isSource = (ref: { readonly kind: string; readonly name: string }, { kind, metadata }: KubeObject): boolean =>
  ref.kind === kind && ref.name === metadata.name;

function stateOf({ name, podNetwork, waiting }: SelectedPod, source: KubeObject): PodState {
  if (waiting) return { name, lines: linesOf(podNetwork, source), problem: { ...waiting, failed: true } };
  if (!podNetwork) return { name, lines: [], problem: { reason: 'Composing', message: 'is looked at', failed: false } };
  const { spec, status } = podNetwork;
  const observed = new Map(status?.interfaces?.map((entry) => [entry.key, entry]));
  const current =
    status?.observedGeneration === undefined || status.observedGeneration >= (podNetwork.metadata.generation ?? 0);
  const pending = { state: 'Pending', reason: 'Attaching', message: 'is being attached' } as const;
  const own = spec.interfaces
    .filter((wanted) => isSource(wanted.source, source))
    .map((wanted) => (current ? observed.get(wanted.key) : undefined) ?? pending);
  const bad = own.find(({ state }) => state === 'Failed') ?? own.find(({ state }) => state !== 'Attached');
  const primary = primaryProblem(podNetwork, source, current);
  const problem = bad
    ? { reason: bad.reason ?? 'Attaching', message: bad.message ?? 'is being attached', failed: bad.state === 'Failed' }
    : primary;
  return { name, lines: linesOf(podNetwork, source), problem };
}

function primaryProblem(
  { spec: { primary }, status }: PodNetwork,
  source: KubeObject,
  current: boolean,
): PodState['problem'] {
  if (!primary?.sources.some((ref) => isSource(ref, source))) return undefined;
  const applied = status?.primary?.applied;
  const holds = current && (primary.mtuBytes === undefined || applied?.mtuBytes === primary.mtuBytes);
  return holds ? undefined : { reason: 'Changing', message: 'the primary link is being changed', failed: false };
}

function linesOf(podNetwork: PodNetwork | undefined, source: KubeObject): string[] {
  if (!podNetwork) return [];
  const { spec, status } = podNetwork;
  const keys = new Set(spec.interfaces.filter((wanted) => isSource(wanted.source, source)).map(({ key }) => key));
  const isShown = ({ key, state }: PodInterfaceStatus): boolean => keys.has(key) && state === 'Attached';
  const links = (status?.interfaces ?? []).filter(isShown).map(configLine);
  const { primary } = spec;
  const mtu = status?.primary?.applied?.mtuBytes;
  if (mtu === undefined || !primary?.sources.some((ref) => isSource(ref, source))) return links;
  return [...links, primaryLine(primary.interfaceName, mtu, status?.primary?.before?.mtuBytes)];
}
