/** What the agent says about a PodNetwork. Pure: from the plan and what became of it to the status, the same each time. */
import type { PodInterfaceStatus, PodNetwork, PodNetworkStatus } from '@podloom/api';
import { type NewCondition, setCondition, toTime } from '@podloom/kube';
import type { PodPlan } from '@podloom/network';

export interface Failure {
  readonly reason: string;
  readonly message: string;
}

export interface StatusInput {
  readonly network: PodNetwork;
  /** The status that was written last. */
  readonly old: PodNetworkStatus | undefined;
  readonly plan: Pick<PodPlan, 'interfaces' | 'primary' | 'recordFirst'>;
  /** Of interfaces that CNI plugins make, as they are. */
  readonly plugins: readonly PodInterfaceStatus[];
  /** By key; steps that were not carried out, or were taken back. */
  readonly failed: ReadonlyMap<string, Failure>;
  /** Of what belongs to no interface: removals, the primary link. */
  readonly failures: readonly Failure[];
  readonly podPid: number | undefined;
  /** Whose primary link it is. */
  readonly sandboxId: string | undefined;
  readonly nowMs: number;
}

export function statusOf(input: StatusInput): PodNetworkStatus {
  const { network, old, plan, plugins, failed, failures, podPid, sandboxId, nowMs } = input;
  const before = new Map(old?.interfaces?.map((entry) => [entry.key, entry]));
  const [failure] = failures;
  const interfaces = [...plan.interfaces.map((entry) => settle(entry, failed.get(entry.key), failure)), ...plugins]
    .filter((entry) => entry !== undefined)
    .map((entry) => since(entry, before.get(entry.key), nowMs));
  const attached = interfaces.flatMap(({ state, name }) => (state === 'Attached' && name ? name : []));
  const problem = failure ?? recordingOf(plan);
  const primary = plan.primary && primaryOf(plan.primary, failure, plan.recordFirst);
  // Not all of this generation was looked at while the primary link waits for its record.
  const observed = plan.recordFirst ? old?.observedGeneration : (network.metadata.generation ?? 0);
  return {
    ...(observed === undefined ? {} : { observedGeneration: observed }),
    conditions: setCondition(old?.conditions, readiness(network, interfaces, plan.primary, problem), nowMs),
    ...(podPid === undefined ? {} : { podPid }),
    interfaces,
    ...(primary ? { primary: { ...primary, ...(sandboxId === undefined ? {} : { sandboxId }) } } : {}),
    ...(attached.length === 0 ? {} : { networks: attached.join(',').slice(0, 1_024) }),
  };
}

/** What was there is written down first, in a status of its own: until then the primary link is as it was. */
function recordingOf({ recordFirst }: Pick<PodPlan, 'recordFirst'>): Failure | undefined {
  const message = 'What the primary link has is written down before it is changed';
  return recordFirst ? { reason: 'Recording', message } : undefined;
}

/** The plan says how it is once its steps are done. They are, unless one failed. */
function settle(
  entry: PodInterfaceStatus,
  failed: Failure | undefined,
  failure: Failure | undefined,
): PodInterfaceStatus | undefined {
  if (entry.state === 'Removing') return failure ? { ...entry, ...failure } : undefined;
  if (failed) return { key: entry.key, ...names(entry), state: 'Failed', ...failed };
  if (entry.state === 'Pending' && entry.reason === undefined) return { ...entry, state: 'Attached' };
  const { name: _name, hostName: _hostName, ...rest } = entry;
  return { ...rest, ...names(entry) };
}

const names = ({ name, hostName }: PodInterfaceStatus): Pick<PodInterfaceStatus, 'name' | 'hostName'> => ({
  ...(name ? { name } : {}),
  ...(hostName ? { hostName } : {}),
});

function since(entry: PodInterfaceStatus, old: PodInterfaceStatus | undefined, nowMs: number): PodInterfaceStatus {
  const message = entry.message?.slice(0, 4_096);
  return {
    ...entry,
    ...(message === undefined ? {} : { message }),
    since: old?.state === entry.state && old.since !== undefined ? old.since : toTime(nowMs),
  };
}

/** Where there is nothing to record, only what is wrong. */
function primaryOf(
  { record, applied, state, reason, message }: NonNullable<PodPlan['primary']>,
  failure: Failure | undefined,
  isRecording: boolean,
): PodNetworkStatus['primary'] {
  const isToCome = state === 'Pending' && reason === undefined;
  const wrong = state === 'Failed' ? { reason, message } : isToCome ? failure : undefined;
  const holds = state === 'Attached' || (isToCome && !failure && !isRecording);
  if (!record && !wrong) return undefined;
  return {
    ...record,
    ...(applied && holds ? { applied } : {}),
    ...(wrong ? { state: 'Failed', ...wrong, message: wrong.message?.slice(0, 4_096) } : {}),
  };
}

function readiness(
  { metadata, spec }: PodNetwork,
  interfaces: readonly PodInterfaceStatus[],
  primary: PodPlan['primary'],
  failure: Failure | undefined,
): NewCondition {
  const { waiting = [] } = spec;
  const wanted = spec.interfaces.length + waiting.filter(({ reason }) => reason !== 'PrimaryConflict').length;
  const problem =
    interfaces.find(({ state }) => state === 'Failed') ??
    (primary?.state === 'Failed' ? primary : undefined) ??
    failure ??
    interfaces.find(({ state }) => state !== 'Attached') ??
    (primary?.state === 'Pending' && primary.reason !== undefined ? primary : undefined) ??
    waiting[0];
  const good = interfaces.filter(({ state }) => state === 'Attached').length;
  const count = `${good} of ${wanted} interface${wanted === 1 ? '' : 's'} attached`;
  const observedGeneration = metadata.generation ?? 0;
  if (!problem) return { type: 'Ready', status: 'True', reason: 'Attached', message: count, observedGeneration };
  const message = `${count}: ${problem.message ?? ('state' in problem ? problem.state : '')}`.slice(0, 4_096);
  return { type: 'Ready', status: 'False', reason: problem.reason ?? 'Waiting', message, observedGeneration };
}
